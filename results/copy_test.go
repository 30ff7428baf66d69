package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of everything is complete, and importing it adds nothing.
func TestCopyOfAll(t *testing.T) {
	folder := t.TempDir()
	part, to := filepath.Join(folder, "part.db"), filepath.Join(folder, "copy.db")
	shard(t, part, "aaaaaaa", 1)
	s := openTest(t, part, Options{ReadOnly: true})
	if err := s.CopyTo(ctx, to, Filter{}); err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(contents(t, part), "State:running", "State:interrupted")
	if got := contents(t, to); got != want {
		t.Error("the copy holds something else")
		t.Logf("it has\n%.2000s\nwant\n%.2000s", got, want)
	}
	whole := openTest(t, part, Options{})
	if m, err := whole.Merge(ctx, to); err != nil || m.Runs != 0 || m.RunsThere != 3 {
		t.Errorf("the copy imported: %+v, %v", m, err)
	}
	if err := s.CopyTo(ctx, to, Filter{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("onto a file: %v", err)
	}
	if err := s.CopyTo(ctx, filepath.Join(folder, "none", "copy.db"), Filter{}); err == nil {
		t.Error("into a folder that is not there")
	}
}

// A copy of a part holds that part alone, in one file.
func TestCopyOfAPart(t *testing.T) {
	folder := t.TempDir()
	part, to := filepath.Join(folder, "part.db"), filepath.Join(folder, "copy.db")
	shard(t, part, "aaaaaaa", 1)
	shard(t, part, "bbbbbbb", 5)
	s := openTest(t, part, Options{ReadOnly: true})
	if err := s.CopyTo(ctx, to, Filter{Impl: []string{"cuda/naive"}}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "copy.db") && f.Name() != "copy.db" {
			t.Errorf("%s lies beside the copy", f.Name())
		}
	}
	copied := openTest(t, to, Options{})
	records, total, err := copied.List(ctx, Filter{})
	if err != nil || total != 2 || records[0].Impl != "cuda/naive" || len(records[0].Timings) != 1 {
		t.Errorf("%d runs, %v: %+v", total, err, records)
	}
	if err := check(ctx, copied.reader, to); err != nil {
		t.Error(err)
	}
	for _, table := range []string{"plan", "session", "implementation", "test_case"} {
		n := count(t, copied, "SELECT count(*) FROM "+table)
		if most := map[string]int{"implementation": 1}[table]; n > 2 || most > 0 && n > most {
			t.Errorf("%d rows of %s are left", n, table)
		}
	}
	if n := count(t, copied, "SELECT count(*) FROM difference"); n != 0 {
		t.Errorf("%d differences with runs that are not there", n)
	}
}
