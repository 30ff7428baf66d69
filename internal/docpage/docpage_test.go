package docpage

import (
	"os"
	"path/filepath"
	"testing"
)

// A table is found, replaced and written, and the rest of the page is unchanged; a page without the place, or
// with two, is refused.
func TestTables(t *testing.T) {
	const page = "a\n<!-- begin: x -->\n| 1 |\n<!-- end: x -->\nb\n<!-- begin: y -->\n<!-- end: y -->\n"
	if got, err := Table(page, "x"); got != "| 1 |\n" || err != nil {
		t.Errorf("the table %q, %v", got, err)
	}
	const want = "a\n<!-- begin: x -->\n| 2 |\n<!-- end: x -->\nb\n<!-- begin: y -->\n<!-- end: y -->\n"
	if got, err := With(page, "x", "| 2 |\n"); got != want || err != nil {
		t.Errorf("the page %q, %v", got, err)
	}
	for _, name := range []string{"z", ""} {
		if _, err := Table(page, name); err == nil {
			t.Errorf("a table %q is found", name)
		}
	}
	if _, err := Table(page+page, "x"); err == nil {
		t.Error("of two places one is taken")
	}
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	Is(t, file, "x", "| 2 |\n", true, "")
	if text, err := os.ReadFile(file); string(text) != want || err != nil {
		t.Errorf("the file %q, %v", text, err)
	}
}
