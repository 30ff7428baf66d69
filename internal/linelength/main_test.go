package main

import (
	"os"
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

// What is new, what grew and what is listed without need are told; a new list answers the last alone.
func TestTheListShrinks(t *testing.T) {
	found := map[string][]int{"new.go": {3}, "grown.go": {1, 2}, "shrunk.go": {7}, "kept.go": {5}}
	allowed := map[string]int{"grown.go": 1, "shrunk.go": 2, "kept.go": 1, "gone.go": 4}
	got := compare(found, allowed)
	for i, file := range []string{"grown.go", "new.go", "gone.go"} {
		if len(got) != 3 || !strings.HasPrefix(got[i], file) || strings.Contains(got[i], listed) != (i > 1) {
			t.Fatalf("complaints %q", got)
		}
	}
}

func TestReadList(t *testing.T) {
	file := filepath.Join(t.TempDir(), "list")
	for text, want := range map[string]string{
		"# why\n  3 a.go\n": "", written(map[string][]int{"a.go": {1, 2, 9}}): "",
		"a.go 3\n": "list:1", "0 a.go\n": "list:1", "3\n": "list:1",
	} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := readList(file)
		if want == "" && (err != nil || got["a.go"] != 3) || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if _, err := readList(file + ".gone"); err == nil {
		t.Error("a list that is not there is read")
	}
}
