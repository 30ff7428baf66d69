package compare

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/runsetup"
)

// TestCompareGetsItsArguments: the command hands the operators and the flags to the function that runs it.
func TestCompareGetsItsArguments(t *testing.T) {
	w := machine.New(console.New(strings.NewReader(""), io.Discard, io.Discard))
	var got runsetup.Options
	var named []string
	cmd := New(runsetup.New(w)).Command(func(_ context.Context, names []string, o *runsetup.Options) error {
		got, named = *o, names
		return nil
	})
	cmd.SetArgs([]string{"a", "b", "--add", "mine.cu", "--device", "cpu", "--quick", "--json"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(named, []string{"a", "b"}) || got.Verb != "compare" || got.Device != "cpu" ||
		!got.Quick ||
		!got.JSON || !slices.Equal(got.Own.Add, []string{"mine.cu"}) {
		t.Errorf("%v runs with %+v", named, got)
	}
}
