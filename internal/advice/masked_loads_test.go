package advice

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

const masked = `import triton.language as tl

@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    mask = tl.arange(0, BLOCK) < n
    tl.store(y, tl.load(x, mask=mask), mask=mask)

@triton.jit
def softmax(x, y, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)  # tl.load(x, mask=at)
    a = tl.load(x + at, mask=at < n, other=0.0)
    b = tl.load(
        x + at * (1, 2)[0],  # a comment, with commas
        at < n,
    )
    c = tl.load(x + at, at < n, -float("inf"))
    d = tl.load(x)
    e = tl.load(x, mask=None)
    tl.store(y + at, tl.exp(a) / tl.sum(tl.exp(b), axis=0), mask=at < n)
`

// Masked loads are listed if lanes are combined, with the values of the lanes outside the mask.
func TestMaskedLoads(t *testing.T) {
	want := []MaskedLoad{{11, "0.0"}, {12, ""}, {16, `-float("inf")`}}
	if got := MaskedLoads(masked); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A mask without other is named whenever values are wrong, one with other if lanes beyond a size take part.
func TestAdviceOfMasks(t *testing.T) {
	const bare, given = "line 12: tl.load has a mask without other", "line 11: tl.load gives lanes outside"
	f := Facts{Status: op.StatusFail, DType: "fp32", Python: true, ULP: 1e6, Masks: MaskedLoads(masked)[:2]}
	if got := For(f); !strings.Contains(got, bare) || strings.Contains(got, given) {
		t.Errorf("wrong everywhere: %q", got)
	}
	f.PowersOfTwo, f.Tried = true, Tried{"cols", []int64{2, 4, 8}, []int64{3, 6, 12}}
	if got := For(f); !strings.Contains(got, bare) || !strings.Contains(got, given) ||
		!strings.Contains(got, "is a power of two and wrong elsewhere (right: 2, 4, 8; wrong: 3, 6, 12)") {
		t.Errorf("right at powers of two: %q", got)
	}
	f.OrdinaryPasses = true
	if got := For(f); strings.Contains(got, "mask") {
		t.Errorf("right on ordinary numbers: %q", got)
	}
	f.OrdinaryPasses, f.Status = false, op.StatusCrash
	if got := For(f); strings.Contains(got, "line 1") {
		t.Errorf("nothing was compared: %q", got)
	}
}

// Of many values the last right ones below the first wrong one are listed, and those above it.
func TestTriedListsTheBoundary(t *testing.T) {
	for want, tried := range map[string]Tried{
		"n = 3 is right, 4 is wrong":                {"n", []int64{3}, []int64{4}},
		"n = 2, 3, 5 are right, 4, 8, 16 are wrong": {"n", []int64{1, 2, 3, 5}, []int64{4, 8, 16}},
		"n = 7, 8 are right, 9, 10, 18, 32, 64 are wrong": {
			"n", []int64{1, 2, 3, 4, 5, 6, 7, 8}, []int64{9, 10, 11, 12, 18, 32, 64},
		},
	} {
		if got := tried.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
