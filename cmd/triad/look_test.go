package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
)

// beginnersShow names what a folder of beginners' files shows that no other folder of the fast tier does. The
// others plant more bugs of kinds that the suites of users' kernels hold too.
var beginnersShow = map[string]string{
	"01_first_kernel": "a wrong kernel",
	"07_gradients":    "a wrong gradient, and a file without a kernel",
	"09_right":        "right files, and the comparison of CUDA with Triton",
	"10_own_ideas":    "files that fit no operator",
}

// Folders of beginners' files get the lines in testdata/folders/expected.txt: no operator and no flag names
// what they are. What was found is recorded, each file as what it is.
func TestFoldersOfBeginners(t *testing.T) {
	needsPython(t)
	want, err := os.ReadFile("testdata/folders/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	beginners, err := os.ReadDir("testdata/folders")
	if err != nil {
		t.Fatal(err)
	}
	chosen := t.TempDir() // one command judges all folders of this tier
	for _, folder := range beginners {
		if !folder.IsDir() {
			continue
		}
		t.Run(folder.Name(), func(t *testing.T) {
			from := filepath.Join("testdata", "folders", folder.Name())
			need.Covers(t, beginnersShow[folder.Name()], "internal/look", "cmd/triad/"+from,
				"internal/firstlook", "internal/operatorguess")
			if err := os.CopyFS(filepath.Join(chosen, folder.Name()), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		})
	}
	db := filepath.Join(t.TempDir(), "look.db")
	text, code := runTriad(t, chosen, "--once", "--db", db)
	var lines []string
	places := 0
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, " ") { // of a right kernel on its ladder
			places += strings.Count(line, "counted like cuda/grid_stride")
			continue
		}
		line = regexp.MustCompile(` +\d+\.\d s$`).ReplaceAllString(strings.TrimRight(line, "\n"), "")
		line = regexp.MustCompile(` {2,}`).ReplaceAllString(line, "  ") // the columns depend on the folders
		if !strings.HasPrefix(line, "-v prints") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	expected := linesOf(t, chosen, string(want))
	if !slices.Equal(lines, expected) || code != 1 {
		t.Errorf("exit %d\n%s\nwant\n%s", code, strings.Join(lines, "\n"), strings.Join(expected, "\n"))
	}
	if _, err := os.Stat(filepath.Join(chosen, "09_right")); err == nil && places != 1 {
		t.Errorf("the place of 09_right/add.cu is printed %d times:\n%s", places, text)
	}
	areRecorded(t, db, chosen)
}

// areRecorded checks that what was found of the chosen files is in a database, each as what it is.
func areRecorded(t *testing.T, db, chosen string) {
	t.Helper()
	text, _ := runTriad(t, "results", "query", "--db", db, "--format", "csv", "SELECT h.implementation, "+
		"count(DISTINCT h.op), sum(h.status = 'NOT_UNDERSTOOD'), sum(r.diagnosis_json IS NOT NULL) "+
		"FROM history h JOIN run r USING (run_id) GROUP BY h.implementation")
	for file, says := range map[string]string{
		"02_reduction/block_sum.cu":     "mine/block_sum.cu,1,0,1",
		"10_own_ideas/game_of_life.cu":  "mine/game_of_life.cu,1,1,0",
		"09_right/add.py":               "mine/add.py,1,0,0",
		"07_gradients/myfn.py":          "mine/myfn.py,1,28,1",
		"01_first_kernel/vector-add.cu": "mine/vector-add.cu,1,0,1",
	} {
		if _, err := os.Stat(filepath.Join(chosen, file)); err == nil && !strings.Contains(text, says) {
			t.Errorf("%q is not recorded:\n%s", says, text)
		}
	}
}

// linesOf returns the expected lines that speak of a folder below root.
func linesOf(t *testing.T, root, expected string) []string {
	t.Helper()
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(expected) {
		speaks := func(f os.DirEntry) bool { return strings.Contains(line, f.Name()+"/") }
		if slices.ContainsFunc(folders, speaks) {
			lines = append(lines, regexp.MustCompile(` {2,}`).ReplaceAllString(strings.TrimSpace(line), "  "))
		}
	}
	return lines
}

const threeReads = `import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0) * cols
    at = tl.arange(0, BLOCK)
    m = at < cols
    top = tl.max(tl.load(x + row + at, mask=m, other=-float("inf")).to(tl.float32), axis=0)
    total = tl.sum(tl.exp(tl.load(x + row + at, mask=m, other=-float("inf")).to(tl.float32) - top), axis=0)
    v = tl.load(x + row + at, mask=m, other=0.0).to(tl.float32)
    tl.store(y + row + at, tl.exp(v - top) / total, mask=m)


def softmax(x):
    y = torch.empty_like(x)
    kernel[(x.shape[0],)](x, y, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return y
`

// triad prints how often a right Triton kernel reads and writes each byte, and the same of its own rows and
// variants. Lanes that a mask leaves out do not count.
func TestBytesOfATritonFile(t *testing.T) {
	needsPython(t)
	file := filepath.Join(t.TempDir(), "softmax.py")
	if err := os.WriteFile(file, []byte(threeReads), 0o644); err != nil {
		t.Fatal(err)
	}
	operator := strings.TrimSuffix(filepath.Base(file), ".py")
	text, code := runTriad(t, "compare", operator, "--add", file, "--impl", "mine", "--quick", "--verbose",
		"--pass", "forward", "--dtype", "fp32", "--db", filepath.Join(t.TempDir(), "r.db"))
	for _, want := range []string{
		"it reads x 3 times and writes each output once, masked lanes left out; cuda/vec",
		"\n  cuda/naive reads x 3 times and writes each output once.\n",
		"\n  triton/row reads x once and writes each output once.\n",
	} {
		if !strings.Contains(text, want) || code != 0 {
			t.Errorf("exit %d, and it lacks %q\n%s", code, want, text)
		}
	}
}

// startLook begins `triad FOLDER --page`, which watches the folder until it is interrupted, and returns the
// lines that it prints.
func startLook(t *testing.T, folder, db string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, folder, "--page", "--db", db)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// With --page triad prints the address of a page of the files, on this machine alone, and watches them
// although nobody reads its output; with --once there is nothing to follow.
func TestPageOfAFolder(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "notes.py"), []byte("import sys\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, code := runTriad(t, folder, "--once", "--page"); code != 2 ||
		!strings.Contains(text, "leave out --once") {
		t.Errorf("with --once: exit %d\n%s", code, text)
	}
	cmd, lines := startLook(t, folder, filepath.Join(folder, "r.db"))
	address := ""
	for lines.Scan() && !strings.Contains(lines.Text(), "Waiting for the next save") {
		if _, a, is := strings.Cut(lines.Text(), "The page of these files: "); is {
			address = a
		}
	}
	if !strings.HasPrefix(address, "http://127.0.0.1:") {
		t.Fatalf("the address is %q", address)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := (&http.Client{Jar: jar}).Get(address)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(string(text), "notes.py") ||
		!strings.Contains(string(text), "no kernel in it") {
		t.Errorf("%v\n%s", err, text)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("it ends with %v", err)
	}
}

// What is said of a saved file is found in that file: the launch that was wrong before is not named again.
// The session of a look holds the versions of what judged the files, as one of triad compare does.
func TestSavedFileIsWatchedAnew(t *testing.T) {
	folder := t.TempDir()
	path, db := filepath.Join(folder, "relu.cu"), filepath.Join(folder, "r.db")
	save := func(blocks string) {
		if err := os.WriteFile(path, []byte(`
__global__ void relu_kernel(const float *x, float *y, int n) {
	int i = blockIdx.x * 256 + threadIdx.x;
	if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
extern "C" void relu(const float *x, float *y, int n) { relu_kernel<<<`+blocks+`, 256>>>(x, y, n); }
`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save("n / 256")
	cmd, lines := startLook(t, folder, db)
	line := func() (found string) {
		for lines.Scan() && !strings.Contains(lines.Text(), "Waiting for the next save") {
			if strings.HasPrefix(lines.Text(), "relu.cu") {
				found = lines.Text()
			}
		}
		return found
	}
	if before := line(); !strings.Contains(before, "line 6: ") {
		t.Errorf("the grid is too small: %q", before)
	}
	save("(n + 255) / 256")
	if after := line(); !strings.Contains(after, "NaN") || strings.Contains(after, "line 6") {
		t.Errorf("NaN becomes 0: %q", after)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it ends with the verdict
	text, _ := runTriad(t, "results", "query", "--db", db, "SELECT count(*) AS n FROM session JOIN "+
		"toolchain USING (toolchain_id) WHERE versions_json LIKE '%\"emulator\":%' "+
		"AND versions_json LIKE '%relu.cu%'")
	if strings.TrimSpace(text) != "n\n2" {
		t.Errorf("sessions with versions: %q, want 2", text)
	}
}
