package results

import (
	"path/filepath"
	"testing"

	"triad/internal/record"
)

// Runs of one file with different flags are kept apart, each with its build, and have the same source.
func TestFlagsKeepResultsApart(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	var got []record.Record
	for _, flags := range []string{"", "--nvcc-flags=-DTILE=16", "--nvcc-flags=-DTILE=32"} {
		r := passed(0, "mine/softmax.cu")
		r.Source, r.Flags, r.Build = "0123456789abcdef", flags, &record.Build{Compiler: "nvcc" + flags}
		x := start(t, s, flags)
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
		shown, err := s.Show(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, shown.Record)
		if shown.Record.Source != r.Source || shown.Record.Flags != flags ||
			shown.Record.Build.Compiler != r.Build.Compiler {
			t.Errorf("%q: %q, %q, built by %s", flags, shown.Record.Source, shown.Record.Flags,
				shown.Record.Build.Compiler)
		}
	}
	if n := count(t, s, "SELECT count(DISTINCT source_hash) FROM latest"); n != 1 {
		t.Errorf("%d sources are latest, want 1", n)
	}
	if n := count(t, s, "SELECT count(DISTINCT source_hash) FROM history WHERE source_hash LIKE "+
		"'0123456789abcdef%'"); n != len(got) {
		t.Errorf("%d versions, want %d", n, len(got))
	}
}
