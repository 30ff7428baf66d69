package check

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/programcheck"
)

// TestCheckGetsItsArguments: the command hands the file, the program's own arguments and the flags to the
// function that runs it.
func TestCheckGetsItsArguments(t *testing.T) {
	var got programcheck.Options
	w := machine.New(console.New(strings.NewReader(""), io.Discard, io.Discard))
	cmd := New(w, func(_ context.Context, o *programcheck.Options) error {
		got = *o
		return nil
	})
	cmd.SetArgs([]string{"a.cu", "-D", "N=7", "--", "4096", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got.File != "a.cu" || !slices.Equal(got.Args, []string{"4096", "--json"}) || got.JSON ||
		!slices.Equal(got.Define, []string{"N=7"}) {
		t.Errorf("it runs with %+v", got)
	}
}
