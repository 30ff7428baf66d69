package build

import (
	"testing"
	"testing/fstest"
)

// The variants of a header are the lines after its source that begin with a name, with their continuations.
func TestVariants(t *testing.T) {
	files := fstest.MapFS{"cuda/kernels/made_up.cu": {Data: []byte(`// made_up: y = x
//   mode   of the formula
// Layout   x, y: [n];
//          contiguous
// Source   a book
//   backward: dx = dy
//   naive   a thread an element
//   vec_4   16-byte accesses;
//           n % 4 == 0
//   naive   backward: the same
// More.
//      not of a variant
#include "x"
//   late   behind the header
`)}}
	got, err := Variants(files, "made_up")
	want := []Variant{
		{"naive", "a thread an element; backward: the same"},
		{"vec_4", "16-byte accesses; n % 4 == 0"},
	}
	if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := Variants(files, "nothing"); err == nil {
		t.Error("an operator without kernels has variants")
	}
}
