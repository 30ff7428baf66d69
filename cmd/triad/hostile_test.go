package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/need"
	"triad/internal/ownfile/added"
)

// endings lists the hostile files that give no answer, with their verdicts and messages. All others are
// contained and right: what they look for is not there, and they would be wrong only with it.
var endings = map[string]struct{ verdict, says string }{
	"includes_secret":       {"UNAVAILABLE", "key.txt, which is not here"},
	"embeds_secret":         {"BUILD_FAIL", "file not found"},
	"includes_device":       {"BUILD_FAIL", "/dev/zero: it is no regular file"},
	"forks_for_ever":        {"CRASH", "processes, and may have"},
	"takes_memory":          {"CRASH", "of memory, and may use"},
	"instantiates_for_ever": {"HANG", "build"},
}

// hostile holds what an untrusted file tries to reach, and where it is on this machine.
type hostile struct {
	folder, home, secret, db, word string
	port                           int
	reached                        chan string // an address that connected
}

// newHostile writes the files of testdata/hostile, and what they look for.
func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{
		folder: filepath.Join(t.TempDir(), "candidates"), home: filepath.Join(t.TempDir(), "home"),
		word: "hunter" + fmt.Sprint(time.Now().UnixNano()), reached: make(chan string, 99),
	}
	h.secret, h.db = filepath.Join(h.home, "key.txt"), filepath.Join(h.home, "r.db")
	writeFiles(t, h.home, h.word, "key.txt")
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	h.port = server.Addr().(*net.TCPAddr).Port
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			h.reached <- conn.RemoteAddr().String()
			conn.Close()
		}
	}()
	return h
}

// write fills in the paths and numbers that the files look for; driver is the process that judges them.
func (h *hostile) write(t *testing.T, cache string, driver int) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("testdata", "hostile"))
	if err != nil {
		t.Fatal(err)
	}
	fill := strings.NewReplacer("@SECRET@", h.secret, "@HOME@", h.home, "@DB@", h.db, "@WORD@", h.word,
		"@PORT@", fmt.Sprint(h.port), "@FREE@", "48123", "@DRIVER@", fmt.Sprint(driver), "@CACHE@", cache,
		"@FOLDER@", h.folder, "@SLEEP@", h.sleep())
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join("testdata", "hostile", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		writeFiles(t, h.folder, fill.Replace(string(text)), e.Name())
		if added.IsKernelFile(e.Name()) { // the others are included by those
			names = append(names, e.Name())
		}
	}
	if err := os.Symlink(h.secret, filepath.Join(h.folder, "link.cuh")); err != nil {
		t.Fatal(err)
	}
	return names
}

// sleep returns how long the process left behind sleeps; the test finds the process by it.
func (h *hostile) sleep() string { return "98" + h.word[len(h.word)-6:] }

// TestHostileFiles: untrusted files get access to nothing of this machine, each has a row, and the others are
// judged.
func TestHostileFiles(t *testing.T) {
	need.Tool(t, "g++")
	need.Tool(t, "bwrap")
	needsPython(t)
	h := newHostile(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	names := h.write(t, filepath.Join(cache, "triad"), os.Getpid())
	before := listed(t, h.folder)
	t.Setenv("TRIAD_TEST_SECRET", h.word)
	out, errors, code := filesJudged(
		t,
		"--json",
		"--pass",
		"forward",
		"--dims",
		"rows=3,cols=17",
		"--dtype",
		"fp32",
		"--distribution",
		"normal",
		"--layout",
		"contiguous",
		"--db",
		h.db,
		"--add",
		h.folder,
		"--limit",
		"build=20s",
		"--limit",
		"stall=90s",
	)
	if code != 1 {
		t.Errorf("exit code %d, want 1: some files are ended\n%s", code, errors)
	}
	rows := map[string]fileVerdict{}
	for _, v := range fileVerdicts(t, out) {
		rows[filepath.Base(v.File)] = v
	}
	for _, name := range names {
		stem := strings.TrimSuffix(name, filepath.Ext(name))
		v, judged := rows[name]
		end, ended := endings[stem]
		switch {
		case !judged:
			t.Errorf("%s has no row", name)
		case !ended && v.Verdict != "PASS":
			t.Errorf("%s: %s (%s), want PASS: it gets nothing", name, v.Verdict, v.Reason)
		case ended && (v.Verdict != end.verdict || !strings.Contains(v.Reason, end.says)):
			t.Errorf("%s: %s (%s), want %+v", name, v.Verdict, v.Reason, end)
		}
		if strings.Contains(v.Reason, h.word) || strings.Contains(v.Reason, "\x1b") {
			t.Errorf("%s: the row gives away what is secret: %q", name, v.Reason)
		}
	}
	h.untouched(t, before, filepath.Join(cache, "triad"))
}

// untouched checks that everything is as it was.
func (h *hostile) untouched(t *testing.T, before, cache string) {
	t.Helper()
	if text, err := os.ReadFile(h.secret); err != nil || string(text) != h.word {
		t.Errorf("the secret is %q (%v)", text, err)
	}
	if after := listed(t, h.folder); after != before {
		t.Errorf("the folder of the files is another:\n%s\nwas\n%s", after, before)
	}
	for _, planted := range []string{
		filepath.Join(cache, "cuda", "planted"), filepath.Join(h.home, "planted"), "/usr/planted",
	} {
		if _, err := os.Lstat(planted); err == nil {
			t.Errorf("%s is there", planted)
		}
	}
	select {
	case from := <-h.reached:
		t.Errorf("%s connected", from)
	default:
	}
	if out, err := exec.Command("pgrep", "-f", "sleep "+h.sleep()).Output(); err == nil {
		t.Errorf("a process is left: %s", out)
	}
	if n := queried(t, h.db, "SELECT count(*) FROM run WHERE status IS NULL"); strings.TrimSpace(n) != "0" {
		t.Errorf("%s runs have no status", n)
	}
}

// listed returns the contents of a folder: modes, sizes and names.
func listed(t *testing.T, folder string) string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&text, info.Mode(), info.Size(), e.Name())
	}
	return text.String()
}

// TestWithoutBubblewrap: without bubblewrap the files of a folder are not run, and the message says what to
// do; --no-sandbox runs them.
func TestWithoutBubblewrap(t *testing.T) {
	need.Tool(t, "g++")
	t.Chdir(t.TempDir())
	writeFiles(t, ".", rightRow, "c/a.cu")
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", compiler) // as elsewhere: what it built is in the cache
	tools := t.TempDir()
	for _, name := range []string{"g++", "as", "ld", "sh", "c++filt", "addr2line"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", tools+":"+filepath.Dir(self))
	args := []string{"--dims", "rows=3,cols=17", "--dtype", "fp32", "--db", "r.db", "--add", "c"}
	if _, errors, code := filesJudged(t, args...); code != 3 ||
		!strings.Contains(errors, "apt install bubblewrap") ||
		!strings.Contains(errors, "--no-sandbox") {
		t.Errorf("exit code %d: %s", code, errors)
	}
	if out, errors, code := filesJudged(t, append(args, "--no-sandbox")...); code != 0 {
		t.Errorf("exit code %d: %s%s", code, out, errors)
	}
	for _, flags := range [][]string{{"--sandbox", "--no-sandbox"}, {"--sandbox"}} {
		cut := len(args)
		if len(flags) == 1 {
			cut -= 2 // nothing is added
		}
		if _, errors, code := filesJudged(t, append(args[:cut:cut], flags...)...); code != 2 {
			t.Errorf("%v: exit code %d: %s", flags, code, errors)
		}
	}
}
