package newoperator

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

// checkout returns a folder with the parts of a checkout that Create needs, with one operator.
func checkout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for file, text := range map[string]string{
		"go.mod":                          "module triad\n\ngo 1.26.0\n",
		ImportList:                        "package all\n",
		"internal/catalog/zeta/zeta.toml": "name = \"zeta\"\n",
		"internal/catalog/catalog.go":     "package catalog\n",
		"triton/lonely.py":                "",
	} {
		if err := writeNew(filepath.Join(root, file), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func filesOf(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := []byte("folder")
		if !entry.IsDir() {
			text, err = os.ReadFile(file)
		}
		found[file] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Every family's template makes the same rooms, under the operator's name, and its import is listed in order.
func TestCreate(t *testing.T) {
	for _, family := range Families() {
		root := checkout(t)
		files, err := Create(root, "eta", family)
		if err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		for _, want := range []string{
			"internal/catalog/eta/eta.toml", "internal/catalog/eta/truth.go",
			"internal/catalog/eta/mutants_test.go", "cuda/kernels/eta.cu", "triton/eta.py",
		} {
			if !slices.Contains(files, want) {
				t.Errorf("%s makes %v: want %s among them", family, files, want)
			}
		}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil || len(text) == 0 || strings.Contains(string(text), placeholder) {
				t.Errorf("%s: %s: %v, %d bytes, with the placeholder: %v", family, file, err, len(text),
					strings.Contains(string(text), placeholder))
			}
		}
		list, err := os.ReadFile(filepath.Join(root, ImportList))
		const want = "(\n\t_ \"triad/internal/catalog/eta\"\n\t_ \"triad/internal/catalog/zeta\"\n)"
		if err != nil || !strings.Contains(string(list), want) {
			t.Errorf("%s: the list of imports: %v\n%s", family, err, list)
		}
	}
}

// An operator that cannot be made is refused as a usage error, and nothing is changed.
func TestCreateRefuses(t *testing.T) {
	root := checkout(t)
	before := filesOf(t, root)
	for _, c := range []struct{ name, family, says string }{
		{"zeta", "elementwise", "internal/catalog/zeta is there already"},
		{"lonely", "elementwise", "triton/lonely.py is there already"},
		{"Eta", "elementwise", "want a name of lower-case letters"},
		{"range", "elementwise", "want a name of lower-case letters"},
		{"eta/theta", "elementwise", "want a name of lower-case letters"},
		{"testdata", "elementwise", "Go has a meaning of its own"},
		{"eta_test", "elementwise", "Go has a meaning of its own"},
		{"eta", "unheard_of", "unknown family"},
		{"eta", "../families/elementwise", "unknown family"},
		{"eta", "", "unknown family"},
	} {
		_, err := Create(root, c.name, c.family)
		var u *op.UsageError
		if !errors.As(err, &u) || !strings.Contains(u.Message, c.says) {
			t.Errorf("%q of %q: %v, want a mistake in usage with %q", c.name, c.family, err, c.says)
		}
	}
	if after := filesOf(t, root); len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// If not everything can be written, nothing is left behind.
func TestCreateLeavesNothingHalf(t *testing.T) {
	root := checkout(t)
	if err := os.WriteFile(filepath.Join(root, "cuda"), nil, 0o644); err != nil { // in the place of a folder
		t.Fatal(err)
	}
	before := filesOf(t, root)
	if _, err := Create(root, "eta", "elementwise"); err == nil {
		t.Fatal("a room whose kernel cannot be written is made")
	}
	if after := filesOf(t, root); len(after) != len(before) {
		t.Errorf("%d files became %d", len(before), len(after))
	}
}

// The checkout is found from any folder within, and nowhere else.
func TestCheckout(t *testing.T) {
	root := checkout(t)
	for _, inside := range []string{".", "internal/catalog/zeta"} {
		if got, err := Checkout(filepath.Join(root, inside)); err != nil || got != root {
			t.Errorf("from %s: %q, %v", inside, got, err)
		}
	}
	other := t.TempDir()
	if err := writeNew(filepath.Join(other, "go.mod"), []byte("module triad_of_another\n")); err != nil {
		t.Fatal(err)
	}
	var u *op.UsageError
	if _, err := Checkout(other); !errors.As(err, &u) ||
		!strings.Contains(u.Message, "no checkout of triad") {
		t.Errorf("of another module: %v", err)
	}
}
