package ownkernels

import (
	"testing"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// rowFile returns a file for the first operator that it fits.
func rowFile(t *testing.T) *File {
	t.Helper()
	for _, name := range catalog.Names() {
		if f, err := interpretation(t, name, "mine.cu", softmax).Read(); err == nil {
			return f
		}
	}
	t.Fatal("it fits no operator")
	return nil
}

// A file that is reread for one pass keeps what was found for the other.
func TestWithKeepsWhatWasFound(t *testing.T) {
	f := rowFile(t)
	f.WasRight(op.Forward)
	f.Doubt(op.Forward, backend.Doubt{Why: "the block was assumed"})
	other, err := f.With(binding.Alternative{
		Flags: "--map x=x", Options: binding.Options{Map: map[string]string{"x": "x"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !other.right[op.Forward] || len(other.doubts[op.Forward]) != 1 {
		t.Errorf("right %v, doubts %v", other.right, other.doubts)
	}
	other.WasRight(op.Backward)
	if f.right[op.Backward] {
		t.Error("both have one list")
	}
}
