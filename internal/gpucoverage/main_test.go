package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const source = `package p

func tested(err error) error {
	if err != nil {
		return err
	}
	work()
	return nil
}

func untested() {
	work()
}
`

// A statement that no test ran is named, a returned error is not; an exception has to exist, and to be
// uncovered.
func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("p.go", source)
	write("profile", "mode: set\ntriad/p.go:4.16,6.3 1 0\ntriad/p.go:7.2,8.12 2 0\ntriad/p.go:7.2,8.12 2 "+
		"1\ntriad/p.go:11.17,13.2 1 0\n")
	for list, want := range map[string]string{
		"p.go\n": "p.go:11: untested: no test ran this: func untested() {",
		"# all\np.go\np.go untested calls nobody\n": "",
		"p.go\np.go untested calls nobody\np.go tested is covered\n": "list: p.go tested may be left, and " +
			"is covered, or is not there: take it off the list",
		"p.go\np.go untested calls nobody\nq.go\n": "q.go",
	} {
		write("list", list)
		got, err := check("profile", "list")
		if err != nil {
			got = append(got, err.Error())
		}
		if text := strings.Join(got, "\n"); !strings.Contains(text, want) || want == "" && text != "" {
			t.Errorf("%q: %q, want %q", list, text, want)
		}
	}
	write("list", "p.go untested\n")
	if _, err := check("profile", filepath.Join(".", "list")); err == nil {
		t.Error("a function may be left without a reason")
	}
	twoLines := []string{"if n < 1 {", `return fmt.Errorf("want %d, not %d",`, "least, n)", "}"}
	if !onlyHandsOn(twoLines) {
		t.Error("an error of two lines is handed on")
	}
	if lines := []string{"if err != nil {", "return err", "}"}; !onlyHandsOn(lines) ||
		onlyHandsOn(slices.Concat(lines, []string{"work()"})) {
		t.Error("what hands an error on")
	}
	if lines := []string{
		"if err != nil && !is { // of nobody", "return f, err // as it is",
		"}",
	}; !onlyHandsOn(lines) {
		t.Error("what hands an error on, with remarks")
	}
}
