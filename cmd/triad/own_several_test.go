package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/session"
)

// writeFiles writes files of one text into a folder.
func writeFiles(t *testing.T, folder, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// Folders, patterns and a list stand for files: each once, in the order of their paths.
func TestAddStandsForSeveralFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, ".", "", "c/b.cu", "c/a.py", "c/deep/er/d.cu", "c/head.cuh", "c/notes.txt", "c/.git/x.cu",
		"c/.hidden.cu", "c/odd[1].cu", "empty/none.txt")
	if err := os.Symlink("b.cu", filepath.Join("c", "link.cu")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ add, in, want, refused string }{
		{add: "c/b.cu", want: "c/b.cu"},
		{add: "c/b.cu:solve<float*>@forward", want: "c/b.cu:solve<float*>@forward"},
		{add: "nowhere.cu", want: "nowhere.cu"},
		{add: "c", want: "c/a.py c/b.cu c/deep/er/d.cu c/odd[1].cu"},
		{add: "c/odd[1].cu", want: "c/odd[1].cu"},
		{add: "c/**/[bd].cu", want: "c/b.cu c/deep/er/d.cu"},
		{add: "c/*", want: "c/a.py c/b.cu c/link.cu c/odd[1].cu"},
		{add: "c/{a,b}.*", want: "c/a.py c/b.cu"},
		{add: "c/[bd].cu:solve@forward", want: "c/b.cu:solve@forward"},
		{add: "c/b.cu|./c/*.cu", want: "c/b.cu c/link.cu c/odd[1].cu"},
		{add: "-", in: "c/b.cu\n\n  c/a.py:f@backward  \r\n", want: "c/b.cu c/a.py:f@backward"},
		{add: "-", in: " \n", refused: "names no file"},
		{add: "-", in: strings.Repeat("x", 1<<20), refused: "read line 1 of the list"},
		{add: "-|-", in: "c/b.cu\n", refused: "name it once"},
		{add: "empty", refused: "no .cu and no .py file is there"},
		{add: "c/*.cpp", refused: "no .cu and no .py file is there"},
		{add: "c/[.cu", refused: "syntax error in pattern"},
	} {
		f := ownFlags{add: strings.Split(c.add, "|")}
		err := f.expand(strings.NewReader(c.in))
		var wrong *session.Failure
		switch {
		case c.refused != "":
			if !errors.As(err, &wrong) || wrong.Code != session.ExitUsage ||
				!strings.Contains(err.Error(), c.refused) {
				t.Errorf("--add %s: %v, want %q", c.add, err, c.refused)
			}
		case err != nil || strings.Join(f.add, " ") != c.want:
			t.Errorf("--add %s: %s (%v), want %s", c.add, strings.Join(f.add, " "), err, c.want)
		}
	}
}

// A folder of right and wrong files: each is judged once and ends as it should, whichever way it is named.
func TestFolderOfCandidates(t *testing.T) {
	need.Tool(t, "g++")
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	operator := regexp.MustCompile(`void (\w+)`).FindStringSubmatch(rightRow)[1]
	const files = 8
	var names []string
	for i := range files {
		text := rightRow
		if i%2 == 1 {
			text = strings.Replace(text, "c < cols; c++) y[", "c < cols - 1; c++) y[", 1)
		}
		// Each file is another: none is the cached build of the one before.
		name := fmt.Sprintf("candidates/%d/k%d.cu", i%3, i)
		writeFiles(t, ".", fmt.Sprintf("// candidate %d\n%s", i, text), name)
		names = append(names, name)
	}
	writeFiles(t, ".", rightRow, "candidates/other/k0.cu") // a name that is taken: the others are judged
	for _, add := range []string{"candidates", "candidates/**/k*.cu", "-"} {
		cmd := exec.Command(self, "compare", operator, "--impl", "mine", "--dims", "rows=3,cols=17",
			"--dtype", "fp32", "--pass", "forward", "--device", "cpu", "--json", "--db", "r.db", "--add", add)
		cmd.Stdin = strings.NewReader(strings.Join(names, "\n"))
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("--add %s: %v, want exit code 1", add, err)
		}
		if strings.Contains(string(out), "mine/k0 is there already") != (add != "-") {
			t.Errorf("--add %s: the second k0.cu is not refused, or another is", add)
		}
		ends, judged := worstOf(string(out)), map[string]int{}
		for line := range strings.Lines(string(out)) {
			var row struct{ Impl, Case, Pass string }
			if json.Unmarshal([]byte(line), &row) == nil && row.Case != "" {
				judged[row.Impl+" "+row.Case]++
			}
		}
		for i := range files {
			want := op.StatusPass
			if i%2 == 1 {
				want = op.StatusFail
			}
			if got := ends[fmt.Sprintf("mine/k%d", i)]; got != want {
				t.Errorf("--add %s: k%d ends %v, want %v", add, i, got, want)
			}
		}
		for row, n := range judged {
			if n != 1 {
				t.Errorf("--add %s: %s is judged %d times", add, row, n)
			}
		}
		if len(judged) == 0 || len(judged)%files != 0 {
			t.Errorf("--add %s: %d rows of %d files: want as many of each", add, len(judged), files)
		}
	}
}
