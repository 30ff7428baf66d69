package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/need"
)

// candidatesOf writes n files of testdata/candidates into a folder, every second one with one of its mutants
// applied. No two are alike, so that none is the cached build of another. It returns the names of all, and
// which are right.
func candidatesOf(t *testing.T, folder string, n int) (right map[string]bool) {
	t.Helper()
	all := readPlanted[ownMutants](t, "candidates")
	var names []string
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	right = map[string]bool{}
	for i := range n {
		name := names[i%len(names)]
		content, err := os.ReadFile(filepath.Join("testdata", "candidates", name+".cu"))
		if err != nil {
			t.Fatal(err)
		}
		text, kind := string(content), "right"
		if mutants := all[name].Mutants; i%2 == 1 {
			m := mutants[i/(2*len(names))%len(mutants)]
			if strings.Count(text, m.Old) != 1 {
				t.Fatalf("%s, %s: %q is not there once", name, m.Name, m.Old)
			}
			text, kind = strings.Replace(text, m.Old, m.New, 1), m.Name
		}
		file := fmt.Sprintf("%d/k%05d_%s_%s.cu", i%7, i, name, kind)
		writeFiles(t, folder, fmt.Sprintf("// candidate %d\n%s", i, text), file)
		right[filepath.Join(folder, file)] = kind == "right"
	}
	return right
}

// fileVerdict is a line of --json for one file.
type fileVerdict struct {
	File, Impl, Verdict, Reason, Run, Session string
	Good, Neutral, Bad                        int
	Seconds                                   float64
}

func fileVerdicts(t *testing.T, out string) (all []fileVerdict) {
	t.Helper()
	for line := range strings.Lines(out) {
		var v fileVerdict
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, v)
	}
	return all
}

// judgedOperator is the operator of the files of these tests.
var judgedOperator = regexp.MustCompile(`void (\w+)`).FindStringSubmatch(rightRow)[1]

// filesJudged runs triad compare on many files for the tests, and returns its output and exit code.
func filesJudged(t *testing.T, args ...string) (out, errors string, code int) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.Command(
		self,
		append([]string{"compare", judgedOperator, "--quick", "--device", "cpu"}, args...)...)
	cmd.Stderr = &stderr
	text, _ := cmd.Output()
	return string(text), stderr.String(), cmd.ProcessState.ExitCode()
}

// manyFiles and longFiles are the numbers of files that TestManyFiles judges, in the fast and in the long
// tier.
const manyFiles, longFiles = 20, 100

// TestManyFiles: each of many files, right and wrong, is judged once and ends as it should, although the
// driver and a worker are killed in between.
func TestManyFiles(t *testing.T) {
	need.Tool(t, "g++")
	n := manyFiles
	if need.IsLongTier() {
		n = longFiles
	}
	folder := t.TempDir()
	right := candidatesOf(t, folder, n)
	db := filepath.Join(t.TempDir(), "r.db")
	args := []string{"--json", "--dims", "rows=5,cols=33", "--db", db, "--add", folder}
	buildEmulator(t)
	judgedAsTheyAre(t, db, killedOnTheWay(t, n, args), right)
}

// buildEmulator builds what every file needs, if no test has: a driver that is killed during the build has
// begun nothing that could be resumed.
func buildEmulator(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	writeFiles(t, folder, rightRow, "one.cu")
	_, said, code := filesJudged(t, "--dims", "rows=5,cols=33", "--dtype", "fp32", "--db",
		filepath.Join(folder, "one.db"), "--add", filepath.Join(folder, "one.cu"))
	if code != 0 {
		t.Fatalf("a right file: exit %d\n%s", code, said)
	}
}

// judgedAsTheyAre checks that each file was judged and recorded once, and ended as right says. lines is the
// output of --json.
func judgedAsTheyAre(t *testing.T, db, lines string, right map[string]bool) {
	t.Helper()
	seen := map[string]int{}
	for _, v := range fileVerdicts(t, lines) {
		seen[v.File]++
		switch is, known := right[v.File]; {
		case !known:
			t.Errorf("%s is none of the files", v.File)
		case is != (v.Verdict == "PASS"):
			t.Errorf("%s: %s (%s)", v.File, v.Verdict, v.Reason)
		case is != (v.Bad == 0), is != (v.Good > 0 && v.Reason == ""):
			t.Errorf("%s: %+v", v.File, v)
		}
	}
	recorded := strings.Fields(
		queried(t, db, "SELECT p.implementation FROM run r JOIN plan p USING (plan_id) "+
			"GROUP BY r.session_id, p.implementation"),
	)
	for file := range right {
		name := "mine/" + filepath.Base(file)
		if !slices.Contains(recorded, name) {
			t.Errorf("nothing is recorded of %s", name)
		}
		if seen[file] > 1 {
			t.Errorf("%s is judged %d times", file, seen[file])
		}
	}
	if len(recorded) != len(right) {
		t.Errorf("%d files are recorded, want %d", len(recorded), len(right))
	}
	if twice := queried(t, db, "SELECT case_id FROM run GROUP BY plan_id HAVING count(*) > 1"); twice != "" {
		t.Errorf("cases are recorded twice: %s", twice)
	}
}

// queried returns the first column of the result of a query, a row a line.
func queried(t *testing.T, db, question string) string {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(self, "results", "query", "--json", "--db", db, question).Output()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(out)) {
		var row map[string]any
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		for _, value := range row {
			fmt.Fprintln(&text, value)
		}
	}
	return text.String()
}

// killedOnTheWay runs triad, kills it and its workers after a while, and resumes it, until it ends by itself.
// It returns everything that was printed.
func killedOnTheWay(t *testing.T, files int, args []string) (lines string) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "lines"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	said := func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for kill := range 4 {
		cmd := exec.Command(self, append([]string{"compare", judgedOperator, "--device", "cpu"}, args...)...)
		if kill > 0 {
			cmd.Args = append(cmd.Args, "--resume")
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Stdout = out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if kill < 3 {
			// after a part of the files, so that some are left, however fast the machine is
			for strings.Count(said(), "\n") < (kill+1)*files/5 {
				time.Sleep(50 * time.Millisecond)
			}
			time.Sleep(time.Duration(rand.Int64N(int64(200 * time.Millisecond))))
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); kill == 3 && code != 1 {
			t.Errorf("exit code %d, want 1: some files are wrong", code)
		}
	}
	return said()
}

// TestFilesOfEveryKind: files that are not understood, that no compiler takes, or that have several functions
// have their own rows; files with the same name are distinguished; the table, the annotations and JUnit's XML
// agree.
func TestFilesOfEveryKind(t *testing.T) {
	need.Tool(t, "g++")
	t.Chdir(t.TempDir())
	two := rightRow + strings.Replace(strings.Replace(rightRow, "void softmax", "void softmax_off", 1),
		"c < cols; c++) y[", "c < cols - 1; c++) y[", 1)
	writeFiles(t, ".", rightRow, "c/a/k.cu", "c/b/k.cu", "c/blank name.cu")
	writeFiles(t, ".", two, "c/two.cu")
	writeFiles(t, ".", "int x;", "c/none.cu")
	writeFiles(t, ".", "oops "+rightRow, "c/broken.cu")
	args := []string{"--dims", "rows=3,cols=17", "--dtype", "fp32", "--db", "r.db", "--add", "c"}
	out, _, code := filesJudged(t, append(args, "--json", "--junit", "j.xml")...)
	ends := map[string]string{}
	for _, v := range fileVerdicts(t, out) {
		ends[v.Impl] = v.Verdict
	}
	want := map[string]string{
		"mine/a/k.cu": "PASS", "mine/b/k.cu": "PASS", "mine/blank_name.cu": "PASS",
		"mine/two.cu:softmax":     "PASS",
		"mine/two.cu:softmax_off": "FAIL", "mine/none.cu": "NOT_UNDERSTOOD", "mine/broken.cu": "BUILD_FAIL",
	}
	for impl, verdict := range want {
		if ends[impl] != verdict {
			t.Errorf("%s: %q, want %s", impl, ends[impl], verdict)
		}
	}
	if len(ends) != len(want) || code != 1 {
		t.Errorf("%d rows, exit code %d: want %d and 1\n%s", len(ends), code, len(want), out)
	}
	var suites struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	text, err := os.ReadFile("j.xml")
	if err == nil {
		err = xml.Unmarshal(text, &suites)
	}
	if err != nil || len(suites.Suites) != 1 || suites.Suites[0].Tests != 7 ||
		suites.Suites[0].Failures != 2 {
		t.Errorf("JUnit's XML: %+v (%v), want 7 tests and 2 failures", suites, err)
	}
	table, errors, _ := filesJudged(t, append(args, "--github")...)
	for _, words := range []string{
		"mine/two.cu:softmax_off", "4 PASS, 1 FAIL, 1 BUILD_FAIL, 1 NOT_UNDERSTOOD", "Exit 1", "6 files in",
	} {
		if !strings.Contains(table, words) {
			t.Errorf("the table does not have %q:\n%s", words, table)
		}
	}
	if strings.Count(errors, "::error") != 2 {
		t.Errorf("annotations, want 2:\n%s", errors)
	}
	repeated(t, ends)
}

// repeated runs the command that triad prints for one of several functions of one of several files.
func repeated(t *testing.T, ends map[string]string) {
	t.Helper()
	id := strings.Fields(queried(t, "r.db", "SELECT r.run_ulid FROM run r JOIN plan p USING (plan_id) WHERE "+
		"p.implementation = 'mine/two.cu:softmax_off' LIMIT 1"))[0]
	shown, err := exec.Command("triad", "results", "show", id, "--db", "r.db").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, command, _ := strings.Cut(string(shown), "Run it again on the same bits:\n")
	again, err := exec.Command("sh", "-c", strings.TrimSpace(command)+" --db again.db").CombinedOutput()
	if !strings.Contains(string(again), "FAIL") || strings.Contains(string(again), "mine/a/k.cu") {
		t.Errorf("%s: %v\n%s", command, err, again)
	}
}

// TestShardsOfFiles: a shard judges only its files, and the shards cover every file once.
func TestShardsOfFiles(t *testing.T) {
	need.Tool(t, "g++")
	t.Chdir(t.TempDir())
	writeFiles(t, ".", rightRow, "c/a.cu", "c/b.cu", "c/d/a.cu")
	var all []string
	for _, shard := range []string{"1/2", "2/2"} {
		out, errors, code := filesJudged(t, "--dims", "rows=3,cols=17", "--dtype", "fp32", "--db", "r.db",
			"--add", "c", "--json", "--shard", shard)
		if code != 0 {
			t.Errorf("shard %s: exit code %d\n%s%s", shard, code, out, errors)
		}
		for _, v := range fileVerdicts(t, out) {
			all = append(all, v.Impl)
		}
	}
	slices.Sort(all)
	if strings.Join(all, " ") != "mine/b.cu mine/c/a.cu mine/d/a.cu" {
		t.Errorf("judged: %v", all)
	}
	if _, errors, code := filesJudged(t, "--add", "c", "--shard", "4/4"); code != 2 ||
		!strings.Contains(errors, "shard 4/4 has no file: there are 3") {
		t.Errorf("exit code %d: %s", code, errors)
	}
}

// TestFlagsOfOneFile: flags that examine one file are refused with several.
func TestFlagsOfOneFile(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", rightRow, "c/a.cu")
	for _, flag := range []string{
		"--explain", "--plan", "--verbose", "--strict", "--dump=x", "--against=HEAD", "--sanitize=all",
	} {
		if _, errors, code := filesJudged(t, "--add", "c", flag); code != 2 ||
			!strings.Contains(errors, "name its file") {
			t.Errorf("%s: exit code %d: %s", flag, code, errors)
		}
	}
	if _, errors, code := filesJudged(t, "--add", "c", "--impl", "cuda"); code != 2 ||
		!strings.Contains(errors, "its files alone are judged") {
		t.Errorf("--impl cuda: exit code %d: %s", code, errors)
	}
}
