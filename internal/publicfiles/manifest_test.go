package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/docpage"
)

var update = flag.Bool("update", false, "write the table into results/published/public-files.md")

// root is the way to the root of the repository.
const root = "../.."

func manifest(t *testing.T) ([]byte, []*public) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, manifestFile))
	if err != nil {
		t.Fatal(err)
	}
	files, err := readManifest(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, files
}

// The manifest is written as it is read, and names existing operators, and each file once in a batch.
func TestManifest(t *testing.T) {
	text, files := manifest(t)
	var out bytes.Buffer
	if err := writeManifest(&out, files); err != nil || !bytes.Equal(out.Bytes(), text) {
		t.Errorf("the manifest is not written as it is read (error: %v)", err)
	}
	seen := map[[4]string]bool{}
	for _, f := range files {
		key := [4]string{f.batch, f.repository, f.path, f.operator}
		if seen[key] || !slices.Contains(catalog.Names(), f.operator) {
			t.Errorf("%s %s: there twice, or not of an operator: %q", f.batch, f.path, f.operator)
		}
		seen[key] = true
	}
}

// The table of the page is that of the manifest.
func TestPage(t *testing.T) {
	_, files := manifest(t)
	docpage.Is(t, filepath.Join(root, "results/published/public-files.md"), "public files", page(files),
		*update, "go test ./internal/publicfiles -update")
}

// An entry that cannot be is refused with its line.
func TestBadEntries(t *testing.T) {
	entry := []string{
		"first", "o/n", "a.cu", strings.Repeat("a", 40), strings.Repeat("b", 64), catalog.Names()[0], right,
		"PASS", "1.5", "", "", "",
	}
	head := strings.Join(columns, ",") + "\n"
	files, err := readManifest(strings.NewReader(head + strings.Join(entry, ",") + "\n"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, error %v", files, err)
	}
	for column, bad := range map[int]string{
		0: "", 1: "o", 2: "", 3: "abc", 4: "abc", 6: "maybe", 7: "PASSED", 8: "-1", 10: "PASS+NOTHING",
	} {
		row := slices.Clone(entry)
		row[column] = bad
		_, err := readManifest(strings.NewReader(head + strings.Join(row, ",") + "\n"))
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s = %q: error %v, want one with the line", columns[column], bad, err)
		}
	}
	if _, err := readManifest(strings.NewReader("batch,path\n")); err == nil {
		t.Error("a manifest with other columns is read")
	}
}

// The counts of a file follow from its outcome and from reading it.
func TestTally(t *testing.T) {
	files := []*public{
		{path: "a.cu", given: "PASS", expected: right, seconds: 1},
		{path: "a.cu", given: "FAIL", expected: wrong, seconds: 3},
		{path: "a.cu", given: "FAIL+PASS", expected: right, seconds: 5},
		{path: "a.cu", given: "PASS+UNSUPPORTED", expected: wrong},
		{path: "a.cu", given: "NOT_UNDERSTOOD", expected: right, withFlags: "PASS"},
		{path: "a.cu", given: "UNAVAILABLE"},
		{path: "a.cu", given: refused, withFlags: "FAIL", expected: right},
		{path: "a.cu", given: noVerdict},
		{path: "a.cu", given: noFunction},
		{path: "a.cu", given: "FAIL", expected: other},
		{path: "a.py", given: "DIFFERENT_CONTRACT"},
		{path: "a.cu"}, // drawn and not measured
		{path: "a.py", expected: wrong},
		{batch: "drawn", path: "a.cu"},
	}
	all := tallies(files)
	if len(all) != 2 || all[1].judged != 1 || all[1].passed != 0 {
		t.Fatalf("%d tallies, want one for .cu and one for .py: %+v", len(all), all[len(all)-1])
	}
	got := all[0]
	got.batch, got.extension = "", ""
	want := tally{
		files: 10, callable: 8, judged: 4, passed: 2, open: 1, declined: 1, refused: 1, late: 1, withOne: 6,
		read: 6, accusedFalsely: 2, bugsMissed: 1, another: 1, seconds: []float64{1, 3, 5},
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
}
