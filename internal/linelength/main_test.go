package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWideLines(t *testing.T) {
	words := strings.Repeat("word ", 30)
	for _, c := range []struct {
		name, ending, text string
		want               []int
	}{
		{"at the limit", ".go", "\n" + strings.Repeat("x", 54) + " " + strings.Repeat("x", 55), nil},
		{"one more", ".go", "\n" + strings.Repeat("x", 54) + " " + strings.Repeat("x", 56), []int{2}},
		{
			"tabs are four columns", ".py", "\t\t" + strings.Repeat("x", 50) + " " + strings.Repeat("x", 52),
			[]int{1},
		},
		{"letters, not bytes", ".py", strings.Repeat("é", 54) + " " + strings.Repeat("é", 55), nil},
		{"one word", ".md", "  https://" + strings.Repeat("x", 200), nil},
		{"a table", ".md", "| " + words + "|\n" + words, []int{2}},
		{"code", ".md", "```sh\n" + words + "\n```\n" + words, []int{4}},
		{"Markdown is wider", ".md", strings.Repeat("x", 59) + " " + strings.Repeat("x", 60), nil},
	} {
		if got := wideLines(c.ending, c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: lines %v, want %v", c.name, got, c.want)
		}
	}
}

// Files of the repository are read, except testdata and those that git ignores.
func TestRun(t *testing.T) {
	t.Chdir(t.TempDir())
	wide := strings.Repeat("word ", 30) + "\n"
	for file, text := range map[string]string{
		"wide.go": "// short\n// " + wide, "narrow.py": "# short\n", "ignored.go": "// " + wide,
		"testdata/wide.md": wide, ".gitignore": "ignored.go\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := run(); err == nil {
		t.Errorf("a folder that is no repository is read: %v", found)
	}
	if out, err := exec.Command("git", "init", "-q").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	found, err := run()
	if err != nil || len(found) != 1 || !slices.Equal(found["wide.go"], []int{2}) {
		t.Errorf("wide lines %v, %v, want line 2 of wide.go", found, err)
	}
}
