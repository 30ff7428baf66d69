package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
)

var (
	fences    = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```\n")
	namesFile = regexp.MustCompile(`^(?://|#) (\S+/\S+)\n`)
	// measured matches what differs from machine to machine, or with the cases of a release.
	measured = regexp.MustCompile(` *\d+\.\d s$|\d+ cases|[\d.]+ ulp`)
)

// TestTutorial: the files and commands of docs/tutorial.md do what the page shows, in its order.
func TestTutorial(t *testing.T) {
	need.Covers(t, "tutorial", "docs/tutorial.md", "internal/look", "internal/firstlook",
		"internal/operatorguess")
	needsPython(t)
	page, err := os.ReadFile("../../docs/tutorial.md")
	if err != nil {
		t.Fatal(err)
	}
	folder, ran := t.TempDir(), 0
	for _, block := range fences.FindAllStringSubmatch(string(page), -1) {
		if block[1] != "console" {
			saveLesson(t, folder, block[2])
			continue
		}
		for _, step := range strings.Split("\n"+strings.TrimSuffix(block[2], "\n"), "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			if got := runLesson(t, folder, command); got != withoutFigures(want) {
				t.Errorf("$ %s\n%s\nthe page has\n%s", command, got, withoutFigures(want))
			}
			ran++
		}
	}
	if ran < 6 {
		t.Errorf("%d commands ran, want all of the page", ran)
	}
}

// saveLesson saves a block under the name in its first line.
func saveLesson(t *testing.T, folder, text string) {
	t.Helper()
	name := namesFile.FindStringSubmatch(text)
	if name == nil {
		t.Fatalf("a file without a name: %s", text)
	}
	path := filepath.Join(folder, name[1])
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runLesson runs a command of the page, and returns the lines that the page shows of it.
func runLesson(t *testing.T, folder, command string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+folder, "TRIAD_PYTHON="+os.Getenv("TRIAD_TEST_PYTHON"))
	out, err := cmd.Output() // a wrong kernel is exit code 1
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(string(out), "-v prints")
	return withoutFigures(text)
}

// withoutFigures returns lines without figures that need not be alike, the places of right kernels and
// trailing spaces.
func withoutFigures(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if strings.HasSuffix(strings.TrimSpace(line), "(an estimate)") { // a place on a ladder
			continue
		}
		line = measured.ReplaceAllString(strings.TrimRight(line, "\n "), "N")
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}
