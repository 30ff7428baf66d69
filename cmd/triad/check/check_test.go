package check

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
)

// TestCheckGetsItsArguments: the command hands the file, the program's own arguments and the flags to the
// function that runs it.
func TestCheckGetsItsArguments(t *testing.T) {
	var got Options
	w := machine.New(console.New(strings.NewReader(""), io.Discard, io.Discard))
	cmd := New(w, func(_ context.Context, o *Options) error {
		got = *o
		return nil
	})
	cmd.SetArgs([]string{"a.cu", "-D", "N=7", "--", "4096", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if got.file != "a.cu" || !slices.Equal(got.args, []string{"4096", "--json"}) || got.json ||
		!slices.Equal(got.define, []string{"N=7"}) {
		t.Errorf("it runs with %+v", got)
	}
}
