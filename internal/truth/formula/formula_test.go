package formula_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/formula"
	"triad/internal/truth/formula/planted"
)

var (
	x, y = formula.In("x"), formula.In("y")
	c    = formula.C
)

// stated are formulas of every kind of operation, by name, with other forms of the same value.
var stated = map[string][]*formula.Node{
	"x + y":       {x.Plus(y)},
	"difference":  {x.Minus(y)},
	"product":     {x.Times(y)},
	"quotient":    {x.Over(c(3).Plus(y.Times(y)))},
	"exp":         {x.Times(c(0.1)).Exp()},
	"erf":         {x.Erf()},
	"tanh alone":  {x.Tanh()},
	"tanh":        {x.Tanh(), c(1).Minus(c(2).Over(c(1).Plus(c(2).Times(x).Exp())))},
	"sigmoid":     {x.Sigmoid()},
	"swish":       {x.Times(x.Sigmoid()), x.Over(c(1).Plus(x.Neg().Exp()))},
	"gaussian":    {x.Times(x.Times(x).Times(c(-0.5)).Exp()).Times(y)},
	"normal tail": {c(0.5).Times(x).Times(c(1).Plus(x.Times(c(math.Sqrt(0.5))).Erf()))},
	"leaky":       {x.Above(c(1), x.Times(y), c(0.3).Times(x)), x.AtMost(c(1), x.Times(c(0.3)), y.Times(x))},
	"clamped":     {x.AtMost(c(-1), c(-1), c(2).AtMost(x, c(2), x)).Times(y)},
	"cubic":       {x.Plus(c(0.044715).Times(x).Times(x).Times(x)).Times(c(math.Sqrt(2 / math.Pi))).Tanh()},
}

// samples returns pairs of inputs a dtype has: ordinary numbers, small and large ones, both signs.
func samples(d op.DType, n int) [][2]float64 {
	r := rand.New(rand.NewPCG(7, 11))
	draw := func() float64 {
		sigma := []float64{1e-20, 1e-3, 1, 3, 20, 60}[r.IntN(6)]
		return tensor.Round(d, sigma*r.NormFloat64(), true)
	}
	list := make([][2]float64, n)
	for i := range list {
		list[i] = [2]float64{draw(), draw()}
	}
	return list
}

// TestValueIsTheFormulas: the fp64 value is the formula's, to far less than the bound, which judges a kernel.
func TestValueIsTheFormulas(t *testing.T) {
	for name, forms := range stated {
		b := bounds(t, forms, formula.Rules{Output: op.FP32, Step: op.FP32})
		for _, v := range samples(op.FP32, 300) {
			r, bound, sim := b.Element(v[:])
			want := bigValue(forms[0], map[string]float64{"x": v[0], "y": v[1]})
			ulp, _ := tensor.FormatOf(op.FP32)
			room := math.Max(bound, ulp.ULP(r)/2)
			if off := distance(r, want); !(off <= 1e-6*room) {
				t.Errorf("%s at %v: %v is %v away from the formula's value: the bound is %v", name,
					v, r, off, bound)
			}
			if sim != r || b.Value(v[:]) != r {
				t.Errorf("%s at %v: sim %v, value %v: want R = %v, since nothing is stored", name, v, sim,
					b.Value(v[:]), r)
			}
		}
	}
}

// TestBoundHoldsAndIsNeeded: every form of every formula, computed in fp32 as kernels do, lies within the
// bound of the formula's value; and the bound is not much larger than fp32 needs.
func TestBoundHoldsAndIsNeeded(t *testing.T) {
	for name, forms := range stated {
		for _, d := range []op.DType{op.FP32, op.FP16, op.BF16} {
			b := bounds(t, forms, formula.Rules{Output: d, Step: op.FP32})
			var kernels []*planted.Prepared
			for _, form := range forms {
				for _, k := range planted.Kernels {
					kernels = append(kernels, k.Prepare(form, "x", "y"))
				}
			}
			most := 0.0
			for _, v := range samples(d, 400) {
				in := map[string]float64{"x": v[0], "y": v[1]}
				_, bound, _ := b.Element(v[:])
				want := bigValue(forms[0], in)
				low, high := interval(want, bound, d)
				for i, kernel := range kernels {
					got := kernel.Element(v[:])
					if stored := tensor.Round(d, got, false); !(low <= stored && stored <= high) {
						t.Errorf("%s in %v at %v: kernel %d gives %v, bound %v around %v", name, d, v, i,
							stored, bound, want)
					}
					if bound > 0.75*judge.U32*math.Abs(got) { // not where the function is 1
						most = math.Max(most, distance(got, want)/bound)
					}
				}
			}
			if most < leastUsed[name] {
				t.Errorf("%s in %v: no kernel uses more than %.3f of its bound, want %.2f", name, d, most,
					leastUsed[name])
			}
			t.Logf("%s in %v: %.2f of the bound is used", name, d, most)
		}
	}
}

// leastUsed is the share of its bound that some kernel must reach, so that a looser rule shows.
var leastUsed = map[string]float64{
	"quotient": 0.6, "exp": 0.8, "erf": 0.7, "tanh": 0.5, "tanh alone": 0.5, "sigmoid": 0.5, "swish": 0.5,
	"gaussian": 0.5, "normal tail": 0.6,
	"cubic": 0.35,
}

// TestSingleOperation: one correctly rounded operation on the kernel's inputs has no bound of its own where
// the result is fp32, nor in 16 bits where it is exact in fp32: then a kernel rounds once. Otherwise it has a
// roundoff there.
func TestSingleOperation(t *testing.T) {
	for name, n := range map[string]*formula.Node{
		"x + y": x.Plus(y), "x - y": x.Minus(y),
		"3*x": c(3).Times(x), "x": x, "-x": x.Neg(),
		"x > 0.5 ? y : 3*x": x.Above(c(0.5), y, c(3).Times(x)),
		"x <= 0 ? 0 : x":    x.AtMost(c(0), c(0), x),
	} {
		bound := func(d op.DType, values ...float64) (r, bound float64) {
			r, bound, _ = bounds(t, []*formula.Node{n}, formula.Rules{Output: d, Step: d}).Element(values)
			return r, bound
		}
		if _, t32 := bound(op.FP32, 3.25, 0x1p-140); t32 != 0 {
			t.Errorf("%s: bound %v, want none in fp32", name, t32)
		}
		if r, held := bound(op.BF16, 3.25, 1.5); held != 0 {
			t.Errorf("%s: bound %v in bf16, want none: fp32 has %v", name, held, r)
		}
		if r, flushed := bound(op.BF16, 0x1p-127, 0x1p-128); n.Kind == formula.Add && flushed == 0 {
			t.Errorf("%s: no bound in bf16 where a kernel may flush %v", name, r)
		}
		r, rounded := bound(op.BF16, 0x1.000002p-1, 0x1.000002p-9)
		if want := judge.U32 * math.Abs(r); n.Kind != formula.Input && n.Kind != formula.Neg &&
			!n.Chooses() && !(math.Abs(rounded-want) <= 1e-6*want) {
			t.Errorf("%s: bound %v, want a roundoff of %v in bf16", name, rounded, r)
		}
	}
	third := []*formula.Node{c(1.0 / 3).Times(x)}
	if _, bound, _ := bounds(t, third, formula.Rules{Output: op.FP32, Step: op.FP32}).Element([]float64{
		1,
		0,
	}); !(bound > judge.U32/3*0.99) {
		t.Errorf("a constant that fp32 rounds has the bound %v", bound)
	}
}

// TestBoundAtTheEnds: an overflow inside is as far off as the formula's contract permits, and no further.
func TestBoundAtTheEnds(t *testing.T) {
	silu := bounds(t, stated["swish"], formula.Rules{Output: op.FP32, Step: op.FP32})
	for _, v := range []float64{-80, -88.5, -88.7228, -88.73, -100, -1e4, -3e38} {
		r, bound, _ := silu.Element([]float64{v, 0})
		if limit := judge.U32*(2*math.Abs(v)+12)*math.Abs(r) + 4.01*math.Abs(v)*0x1p-128 +
			4*0x1p-149; !(bound <= limit) {
			t.Errorf("silu(%v) = %v has the bound %v, want at most %v", v, r, bound, limit)
		}
	}
	for _, at := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if r, bound, _ := silu.Element([]float64{at, 0}); at > 0 && !math.IsInf(r, 1) || !(at > 0) &&
			!math.IsNaN(r) || bound != 0 {
			t.Errorf("silu(%v) = %v within %v", at, r, bound)
		}
	}
	for _, v := range []float64{11, -40, 1e5} {
		if _, bound, _ := bounds(t, []*formula.Node{x.Tanh()},
			formula.Rules{Output: op.FP32}).Element([]float64{v, 0}); bound > judge.U32/10 {
			t.Errorf("tanh(%v) has the bound %v: every kernel gives 1", v, bound)
		}
	}
	if _, bound, _ := bounds(t, []*formula.Node{x.Over(y)},
		formula.Rules{Output: op.FP32}).Element([]float64{0, 3}); bound != 0 {
		t.Errorf("0/3 has the bound %v", bound)
	}
}

// TestStoredSteps: values that a contract stores in 16 bits count in the bound and in the simulated value:
// kernels that store there are within it, and not within the bound of the strict contract.
func TestStoredSteps(t *testing.T) {
	marked := []*formula.Node{x.Times(x.Sigmoid().Stored()).Times(y)}
	strict := bounds(t, marked, formula.Rules{Output: op.BF16, Step: op.BF16})
	loose := bounds(t, marked, formula.Rules{Output: op.BF16, Step: op.BF16, Marked: true})
	every := bounds(t, stated["swish"][:1], formula.Rules{Output: op.BF16, Step: op.BF16, EveryStep: true})
	kernel := planted.Kernel{Low: op.BF16}.Prepare(marked[0], "x", "y")
	beyond := 0
	for _, v := range samples(op.BF16, 2000) {
		got := kernel.Element(v[:])
		r, tight, sim := strict.Element(v[:])
		_, wide, stored := loose.Element(v[:])
		if math.Abs(got-r) > tight {
			beyond++
		}
		if sim != r || math.Abs(got-r) > wide || math.Abs(stored-got) > tight+judge.U32*math.Abs(r) {
			t.Errorf("at %v: a kernel that stores gives %v, R %v, bound %v, simulated %v", v, got,
				r, wide, stored)
		}
		if _, bound, sim := every.Element(v[:]); math.Abs(sim-v[0]/(1+math.Exp(-v[0]))) > bound {
			t.Errorf("silu(%v), every step stored: simulated %v, bound %v", v[0], sim, bound)
		}
	}
	if beyond < 500 {
		t.Errorf("%d of 2000 kernels that store are beyond the strict bound", beyond)
	}
}

// TestConstantsAreNotStored: torch keeps a number in fp32 next to a 16-bit tensor, so the simulated value of
// the written composition does not round constants. The bound does: a kernel in half precision stores them.
func TestConstantsAreNotStored(t *testing.T) {
	const scale = -2.3
	rules := formula.Rules{Output: op.FP16, Step: op.FP16, EveryStep: true}
	every := bounds(t, []*formula.Node{x.Scaled(scale).Plus(y)}, rules)
	low := func(v float64) float64 { return tensor.Round(op.FP16, v, false) }
	for _, v := range samples(op.FP16, 2000) {
		r, bound, sim := every.Element(v[:])
		if want := low(v[0]*scale) + v[1]; sim != want && !math.IsNaN(want) {
			t.Errorf("at %v: simulated %v, want %v", v, sim, want)
		}
		if half := low(v[0]*low(scale)) + v[1]; math.Abs(half-r) > bound {
			t.Errorf("at %v: a scale in fp16 gives %v, R %v, bound %v", v, half, r, bound)
		}
	}
}

// TestComplexStep: the derivative by the complex step equals differences of the value, to the accuracy of
// differences.
func TestComplexStep(t *testing.T) {
	for name, forms := range stated {
		for _, v := range samples(op.FP32, 100) {
			if math.Abs(v[0]) > 30 {
				continue
			}
			at := func(shift float64) *big.Float {
				return bigValue(forms[0], map[string]float64{"x": v[0] + shift, "y": v[1]})
			}
			const h = 0x1p-30
			want, _ := new(big.Float).Sub(at(h), at(-h)).Float64()
			got := imag(formula.Complex(forms[0], func(name string) complex128 {
				if name == "x" {
					return complex(v[0], 1e-100)
				}
				return complex(v[1], 0)
			})) / 1e-100
			if want /= 2 * h; !(math.Abs(got-want) <= 1e-9*math.Abs(want)+1e-13) && v[0]+h-v[0] == h {
				t.Errorf("%s at %v: complex step %v, difference %v", name, v, got, want)
			}
		}
	}
}

// TestChoice: a comparison decides where its operands differ either way, where they are equal, and where one
// is NaN.
func TestChoice(t *testing.T) {
	nan := math.NaN()
	for _, k := range []struct{ x, above, atMost float64 }{{-1, 7, 5}, {0, 7, 5}, {1, 5, 7}, {nan, 7, 7}} {
		for n, want := range map[*formula.Node]float64{
			x.Above(c(0), c(5), c(7)): k.above, x.AtMost(c(0), c(5), c(7)): k.atMost,
		} {
			r, bound, sim := bounds(t, []*formula.Node{n}, formula.Rules{
				Output: op.BF16, Step: op.BF16,
				EveryStep: true,
			}).Element([]float64{k.x, 0})
			kernel := planted.Kernel{}.Prepare(n, "x").Element([]float64{k.x})
			step := formula.Complex(n, func(string) complex128 { return complex(k.x, 1) })
			if r != want || bound != 0 || sim != want || kernel != want || step != complex(want, 0) {
				t.Errorf("%v at %v: %v within %v, simulated %v, a kernel gives %v, complex %v: want %v", n,
					k.x, r, bound, sim, kernel, step, want)
			}
		}
	}
}

// TestCheck: a formula that cannot be computed is rejected, and its text has the usual form.
func TestCheck(t *testing.T) {
	for want, n := range map[string]*formula.Node{
		`input "z"`: formula.In("z").Plus(x), "constant NaN": c(math.NaN()).Times(x),
		"constant 1e+39": c(1e39).Plus(x),
		"operands":       {Kind: formula.Add, Operands: []*formula.Node{x}}, "kind 0": {},
		"compares (x + y)": x.Plus(y).Above(c(0), x, y), "with 0.1": x.AtMost(c(0.1), x, y),
	} {
		if _, err := formula.NewBounds([]*formula.Node{n}, []string{"x", "y"},
			formula.Rules{Output: op.FP32}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want an error with %s", err, want)
		}
	}
	if _, err := formula.NewBounds(nil, nil, formula.Rules{}); err == nil {
		t.Error("no formula at all is accepted")
	}
	if got := fmt.Sprint(stated["swish"][0]); got != "(x * (1 / (1 + exp(-x))))" {
		t.Errorf("silu is written %s", got)
	}
}

func bounds(t *testing.T, forms []*formula.Node, rules formula.Rules) *formula.Bounds {
	t.Helper()
	b, err := formula.NewBounds(forms, []string{"x", "y"}, rules)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// distance returns |got - want|.
func distance(got float64, want *big.Float) float64 {
	off, _ := bigNew().Sub(bigOf(got), want).Float64()
	return math.Abs(off)
}

// interval returns the range of permitted stored results.
func interval(want *big.Float, bound float64, d op.DType) (low, high float64) {
	a, _ := bigNew().Sub(want, bigOf(bound)).Float64()
	b, _ := bigNew().Add(want, bigOf(bound)).Float64()
	return tensor.Round(d, a, false), tensor.Round(d, b, false)
}

// TestValueWithoutCancellation: the value keeps its digits where formulas of a difference lose them: the
// gradient of GELU's approximation, far out.
func TestValueWithoutCancellation(t *testing.T) {
	z := c(2 * math.Sqrt(2/math.Pi)).Times(x.Plus(c(0.044715).Times(x).Times(x).Times(x)))
	slope := c(math.Sqrt(2 / math.Pi)).Times(c(1).Plus(c(3 * 0.044715).Times(x).Times(x)))
	n := z.Sigmoid().Plus(x.Times(z.Sigmoid().Times(z.Neg().Sigmoid())).Times(c(2).Times(slope)))
	b := bounds(t, []*formula.Node{n}, formula.Rules{Output: op.BF16, Step: op.BF16})
	for _, v := range []float64{-3.5, -5.25, -6.75, -8} {
		want := bigValue(n, map[string]float64{"x": v})
		if got := b.Value([]float64{v, 0}); !(distance(got, want) <= 1e-12*math.Abs(got)) {
			t.Errorf("at %v: %v, want %v", v, got, want)
		}
	}
}

// TestBoundOfSaturatedTanh: far out tanh is 1 in fp32: the bound of 1 - tanh covers all of it there, so that
// a kernel may return 0.
func TestBoundOfSaturatedTanh(t *testing.T) {
	n := c(1).Plus(x.Tanh())
	b := bounds(t, []*formula.Node{n}, formula.Rules{Output: op.FP32, Step: op.FP32})
	for v := -10.0; v > -80; v -= 0.0371 {
		want := bigValue(n, map[string]float64{"x": v})
		if _, bound, _ := b.Element([]float64{v, 0}); bigOf(bound).Cmp(want) < 0 {
			t.Errorf("at %v: a bound of %v does not cover %v", v, bound, want)
		}
	}
}
