package catalog

import (
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// What the tests of all operators share: inputs, one judged call, right and wrong answers in emulated fp32.

// lowDTypes are the dtypes of the row operators and attention.
var lowDTypes = []op.DType{op.FP32, op.FP16, op.BF16}

// normalTensor draws N(mean, sigma²), rounded to a dtype.
func normalTensor(r *rand.Rand, name string, d op.DType, mean, sigma float64, shape ...int64) tensor.Tensor {
	t := tensor.New(name, d, shape)
	v := make([]float64, t.Elements())
	for i := range v {
		v[i] = mean + sigma*r.NormFloat64()
	}
	t.SetFloat64s(v)
	return t
}

// literal is a tensor of given values.
func literal(name string, d op.DType, values []float64, shape ...int64) tensor.Tensor {
	t := tensor.New(name, d, shape)
	t.SetFloat64s(values)
	return t
}

// truthFor computes the truth or fails the test.
func truthFor(t *testing.T, c op.Case, contract string, in []tensor.Tensor) judge.Truth {
	t.Helper()
	got, err := TruthOf(c, contract, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// judged stores one set of values for each output (rounded once to its dtype) and judges it as a call of two launches.
func judged(truth judge.Truth, values ...[]float64) []judge.Verdict {
	plan, answer := soundAnswer(truth, values)
	return judge.Judge(plan, answer, truth)
}

// soundAnswer is a call of two launches that both gave the same values.
func soundAnswer(truth judge.Truth, values [][]float64) (judge.Plan, judge.Answer) {
	plan := judge.Plan{Launches: 2}
	launch := judge.Launch{InputsUnchanged: true, GuardsIntact: true}
	for i, o := range truth.Outputs {
		plan.Outputs = append(plan.Outputs, op.TensorType{Name: o.Name, DType: o.DType, Shape: o.Shape})
		launch.Outputs = append(launch.Outputs, judge.Returned{
			Name: o.Name, Present: true, DType: o.DType, Shape: o.Shape, Stride: tensor.Contiguous(o.Shape), Data: tensor.Encode(o.DType, values[i]),
		})
	}
	a, b := launch, launch
	a.Poison, b.Poison = "a", "b"
	return plan, judge.Answer{Launches: []judge.Launch{a, b}}
}

// accepts fails the test unless every output passes.
func accepts(t *testing.T, what string, verdicts []judge.Verdict) {
	t.Helper()
	for _, v := range verdicts {
		if v.Status != op.StatusPass {
			t.Errorf("%s: %v %s: %s", what, v.Status, v.Gate, v.Sentence)
		}
	}
}

// rejects fails the test unless some output fails.
func rejects(t *testing.T, what string, verdicts []judge.Verdict) {
	t.Helper()
	if s := judge.Row(verdicts); s != op.StatusFail {
		t.Errorf("%s: %v, want FAIL; headroom %v", what, s, verdicts[0].Headroom)
	}
}

// sims are the simulated results of a truth: they must always pass.
func sims(truth judge.Truth) [][]float64 {
	var out [][]float64
	for _, o := range truth.Outputs {
		out = append(out, o.Sim)
	}
	return out
}

// f32 rounds an emulated intermediate to fp32.
func f32(x float64) float64 { return float64(float32(x)) }

// The orders of sum32.
const (
	inSequence = iota
	inLanes    // 32 partial sums, then a tree, as a warp does
	inPairs
	inBlocks // of 128, one after the other
)

// sum32 adds in fp32, in one of the orders above.
func sum32(order int, n int, f func(i int) float64) float64 {
	switch order {
	case inSequence:
		s := float32(0)
		for i := range n {
			s += float32(f(i))
		}
		return float64(s)
	case inLanes:
		var lanes [32]float32
		for i := range n {
			lanes[i%32] += float32(f(i))
		}
		for w := 16; w > 0; w /= 2 {
			for i := range w {
				lanes[i] += lanes[i+w]
			}
		}
		return float64(lanes[0])
	case inBlocks:
		s := float32(0)
		for first := 0; first < n; first += 128 {
			s += float32(sum32(inSequence, min(128, n-first), func(i int) float64 { return f(first + i) }))
		}
		return float64(s)
	}
	var pairwise func(a, b int) float32
	pairwise = func(a, b int) float32 {
		if b-a == 1 {
			return float32(f(a))
		}
		return pairwise(a, (a+b)/2) + pairwise((a+b)/2, b)
	}
	if n == 0 {
		return 0
	}
	return float64(pairwise(0, n))
}

// sumLow adds one after the other in an accumulator of a low precision.
func sumLow(d op.DType, n int, f func(i int) float64) float64 {
	s := 0.0
	for i := range n {
		s = tensor.Round(d, s+f(i), false)
	}
	return s
}

// arithmetic is how an emulated kernel computes.
type arithmetic struct {
	order int    // of its sums
	noisy bool   // exp, reciprocals and roots are off by up to 2^-22, as the fast functions of a GPU are
	block int    // how much it takes at once, where that matters
	other bool   // the other common way to write the same formula
	lowP  bool   // attention: P and dS stored in the dtype, as the contract allows
	bug   string // the planted bug; "" is the right kernel
}

// fast is the result of a fast function, in fp32. The noise depends on the value alone.
func (a arithmetic) fast(x float64) float64 {
	if a.noisy {
		h := math.Float64bits(x) * 0x9E3779B97F4A7C15
		x *= 1 + (float64(h>>11)*0x1p-52-1)*0x1p-22
	}
	return f32(x)
}

// exp is e^x by the exponential of base 2, as a GPU computes it.
func (a arithmetic) exp(x float64) float64 { return a.fast(math.Exp2(f32(x * math.Log2E))) }

// sum adds in the kernel's order.
func (a arithmetic) sum(n int, f func(i int) float64) float64 { return sum32(a.order, n, f) }

// unwritten stands for an element that a kernel leaves as it was.
var unwritten = math.Float64frombits(0x7ff8_0000_dead_beef)

func isUnwritten(x float64) bool { return math.Float64bits(x) == math.Float64bits(unwritten) }

// leaveTail marks the last columns of every row as unwritten: what a kernel forgets that takes columns by 16.
func leaveTail(y []float64, rows, cols int) {
	for r := range rows {
		for c := cols / vector * vector; c < cols; c++ {
			y[r*cols+c] = unwritten
		}
	}
}

// vector and warp are how many columns an emulated kernel takes at once.
const (
	vector = 16
	warp   = 32
)

// near compares with a second, independent computation to 1e-12 of a companion.
func near(t *testing.T, what string, got, want, companion float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-12*companion) && !(math.IsNaN(got) && math.IsNaN(want)) && got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// complexStep is the directional derivative of a real analytic function of many values, to machine precision: Im f(x + ih v)/h with
// h = 1e-100 (Squire and Trapp 1998).
func complexStep(f func(x []complex128) complex128, x, direction []float64) float64 {
	const h = 1e-100
	z := make([]complex128, len(x))
	for i := range x {
		z[i] = complex(x[i], h*direction[i])
	}
	return imag(f(z)) / h
}

// checkGradient compares <gradient, direction> with the complex step along random directions.
func checkGradient(t *testing.T, what string, r *rand.Rand, f func(x []complex128) complex128, x, gradient []float64) {
	t.Helper()
	for range 3 {
		direction := make([]float64, len(x))
		want, companion := 0.0, 0.0
		for i := range x {
			direction[i] = r.NormFloat64()
			want += gradient[i] * direction[i]
			companion += math.Abs(gradient[i] * direction[i])
		}
		if got := complexStep(f, x, direction); !(math.Abs(got-want) <= 1e-12*companion) {
			t.Errorf("%s: closed form %v, complex step %v", what, want, got)
		}
	}
}
