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
	"strings"
	"testing"

	"triad/internal/need"
)

// Folders of beginners' files get the lines in testdata/folders/expected.txt: no operator and no flag names
// what they are. What was found is recorded, each file as what it is.
func TestFoldersOfBeginners(t *testing.T) {
	need.Covers(t, "look", "internal/look", "cmd/triad/testdata/folders", "internal/firstlook",
		"internal/operatorguess")
	needsPython(t)
	db := filepath.Join(t.TempDir(), "look.db")
	text, code := runTriad(t, "testdata/folders", "--once", "--db", db)
	var lines []string
	for line := range strings.Lines(text) {
		line = regexp.MustCompile(` +\d+\.\d s$`).ReplaceAllString(strings.TrimRight(line, "\n"), "")
		if !strings.HasPrefix(line, "-v prints") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	want, err := os.ReadFile("testdata/folders/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) || code != 1 {
		t.Errorf("exit %d\n%s\nwant\n%s", code, got, want)
	}
	text, _ = runTriad(t, "results", "query", "--db", db, "--format", "csv", "SELECT h.implementation, "+
		"count(DISTINCT h.op), sum(h.status = 'NOT_UNDERSTOOD'), sum(r.diagnosis_json IS NOT NULL) "+
		"FROM history h JOIN run r USING (run_id) GROUP BY h.implementation")
	for _, says := range []string{
		"mine/block_sum.cu,1,0,1", "mine/game_of_life.cu,1,1,0",
		"mine/add.py,1,0,0",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is not recorded:\n%s", says, text)
		}
	}
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
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, folder, "--page", "--db", filepath.Join(folder, "r.db"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
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
