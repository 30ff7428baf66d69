package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewInTree: new --in-tree makes an operator of triad itself in the checkout of the working directory,
// prints what it made and what is left to do, and refuses everything else as a usage error.
func TestNewInTree(t *testing.T) {
	root := t.TempDir()
	list := filepath.Join(root, "internal", "truth", "all", "all.go")
	for _, folder := range []string{filepath.Dir(list), filepath.Join(root, "internal", "catalog")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{filepath.Join(root, "go.mod"): "module triad\n", list: ""} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const wanted = "new eta --in-tree --family elementwise"
	refused := map[string]string{
		"new eta --in-tree":                                     "say --family with one of elementwise",
		"new eta --family elementwise":                          "say --in-tree too",
		"new eta --in-tree --family elementwise --from softmax": "--from is for an operator in a folder",
		"new eta --in-tree --family unheard_of":                 "new eta: unknown family",
		"new eta/theta --in-tree --family elementwise":          "lower-case letters",
	}
	refuses := func(args, says string) {
		t.Helper()
		if text, code := runTriad(t, strings.Fields(args)...); code != 2 || !strings.Contains(text, says) {
			t.Errorf("%s: exit %d, want 2 and %q in\n%s", args, code, says, text)
		}
	}
	t.Chdir(t.TempDir())
	refuses(wanted, "lies in no checkout of triad")
	t.Chdir(filepath.Join(root, "internal"))
	for args, says := range refused {
		refuses(args, says)
	}
	text, code := runTriad(t, strings.Fields(wanted)...)
	for _, says := range []string{"internal/catalog/eta/truth.go", "triton/eta.py", "make mutation OP=eta"} {
		if code != 0 || !strings.Contains(text, says) {
			t.Errorf("exit %d, want 0 and %q in\n%s", code, says, text)
		}
	}
	if text, err := os.ReadFile(list); err != nil ||
		!strings.Contains(string(text), `"triad/internal/catalog/eta"`) {
		t.Errorf("the list of imports: %v\n%s", err, text)
	}
	refuses(wanted, "internal/catalog/eta is there already: nothing was changed")
}
