package planted_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/truth/formula"
	"triad/internal/truth/formula/planted"
)

// TestBugs: the bugs of a formula follow from its parts; none occurs twice, none equals the formula, and each
// changes a result.
func TestBugs(t *testing.T) {
	x := formula.In("x")
	gelu := formula.C(0.5).Times(x).Times(formula.C(1).Plus(x.Times(formula.C(math.Sqrt(0.5))).Erf()))
	bugs := planted.Bugs(gelu)
	var names []string
	seen := map[string]bool{}
	for _, b := range bugs {
		names = append(names, b.Name)
		if seen[b.Formula.String()] || b.Formula.String() == gelu.String() {
			t.Errorf("%s: the formula %v occurs twice", b.Name, b.Formula)
		}
		seen[b.Formula.String()] = true
		if err := b.Formula.Check([]string{"x"}); err != nil {
			t.Error(err)
		}
		k := planted.Kernel{Low: op.BF16}
		right, wrong := k.Prepare(gelu, "x"), k.Prepare(b.Formula, "x")
		if !slices.ContainsFunc([]float64{0.37, -1.3, 2.7}, func(v float64) bool {
			return right.Element([]float64{v}) != wrong.Element([]float64{v})
		}) {
			t.Errorf("%s: no result differs", b.Name)
		}
	}
	for _, want := range []string{
		"the constant 0.70710678 is 0.71", "the constant 0.5 is 0.505", "(0.5 * x) without the factor 0.5",
		"subtracted", "without 1",
		"erf((x * 0.70710678)) in 16 bits", "every intermediate in 16 bits", "the result in 16 bits",
	} {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("no bug %q among %q", want, names)
		}
	}
	if last := bugs[len(bugs)-1]; last.Right(op.BF16) == "" || last.Right(op.FP32) != "" {
		t.Errorf("%s is a bug in fp32 alone", last.Name)
	}
}

// TestFused: a sum with a product among its operands is rounded once where compilers contract it.
func TestFused(t *testing.T) {
	x, y := formula.In("x"), formula.In("y")
	in := []float64{1 + 0x1p-23, 1 - 0x1p-23}
	for want, n := range map[float64]*formula.Node{
		-0x1p-46: x.Times(y).Minus(formula.C(1)),
		0x1p-46:  formula.C(1).Minus(x.Times(y)),
	} {
		if got := (planted.Kernel{Fused: true}).Prepare(n, "x", "y").Element(in); got != want {
			t.Errorf("%v fused: %v, want %v", n, got, want)
		}
		if got := (planted.Kernel{}).Prepare(n, "x", "y").Element(in); got != 0 {
			t.Errorf("%v: %v, want 0", n, got)
		}
	}
}
