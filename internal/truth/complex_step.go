package truth

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/tensor"
)

// StepTolerance is the largest permitted difference between the closed form of a gradient and its complex
// step, relative to the sum of the terms' magnitudes.
const StepTolerance = 1e-13

// stepSize is h of the complex step: nothing is subtracted, so it may be as small as a number can be.
const stepSize = 1e-100

// Directions of the comparison: random ones, in which every element takes part, and single elements, the
// first and the last among them.
const (
	randomDirections = 3
	singleElements   = 16
)

// Step records how well the truth of a backward agrees with the complex step of its forward.
type Step struct {
	Gradients []string // that were compared, in the order of the spec
	Error     float64  // the largest |closed form - complex step| / sum of |gradient * direction|
	Worst     string   // the gradient it belongs to
	// Differences: the derivative was taken by differences of the forward, which are only accurate to
	// DifferenceTolerance.
	Differences bool
}

// DifferenceTolerance is the largest permitted difference between a gradient and a difference of the forward
// in fp64, relative to the same sum as StepTolerance.
const DifferenceTolerance = 1e-6

// method returns how the derivative was computed, and the tolerance for it.
func (s Step) method() (name string, tolerance float64) {
	if s.Differences {
		return "differences of the reference", DifferenceTolerance
	}
	return "complex step", StepTolerance
}

// Agrees reports whether the closed form is proven.
func (s Step) Agrees() bool {
	_, tolerance := s.method()
	return len(s.Gradients) > 0 && s.Error <= tolerance
}

// String returns "complex step agrees to 3e-15 (grad_q, grad_k, grad_v)", or where it does not agree.
func (s Step) String() string {
	name, tolerance := s.method()
	if s.Agrees() {
		return fmt.Sprintf("%s agrees to %.1g (%s)", name, s.Error, strings.Join(s.Gradients, ", "))
	}
	return fmt.Sprintf("%s is %.1g away in %s: want at most %.0g", name, s.Error, s.Worst, tolerance)
}

// A Loss is the sum of all outputs of a forward, each times its upstream gradient, as an analytic function of
// one input: the others keep their values. Its derivative is that input's gradient.
type Loss struct {
	gradient string // grad_<input>
	at       []float64
	Of       func(z []complex128) complex128
}

// losses holds the forward of each operator, implemented again in plain loops over complex numbers. It shares
// no code with the closed forms.
var losses = map[string]Losses{}

// A Losses is the complex forward of an operator, of one loss for each gradient.
type Losses func(k *Request) ([]Loss, error)

// RegisterLosses declares the complex forward of an operator, and returns the one that it replaces: var _ =
// truth.RegisterLosses("softmax", func...).
func RegisterLosses(name string, f Losses) (replaced Losses) {
	replaced, losses[name] = losses[name], f
	return replaced
}

// ComplexStep compares the truth of a backward case with derivatives of its forward taken by the complex
// step: f'(x)v = Im f(x + ihv) / h, to machine precision since nothing cancels (Squire and Trapp 1998). in
// holds the operator's inputs and the upstream gradients, or the inputs of the truth of an operator that
// saves nothing. Directions are drawn from seed.
func ComplexStep(spec *op.Spec, c op.Case, in []tensor.Tensor, seed uint64) (Step, error) {
	lossesOf, ok := losses[c.Op]
	if !ok || c.Pass != op.Backward {
		return Step{}, fmt.Errorf("take the complex step of %s %v: there is no complex forward of it", c.Op,
			c.Pass)
	}
	if c.Saved == "driver" {
		c.Saved = "own" // the derivative of the whole forward, not of the part behind saved tensors
	}
	truth, err := of(Request{Case: c, In: in, Unrounded: true}, spec.DefaultContract(c.DType))
	if err != nil {
		return Step{}, err
	}
	all, err := lossesOf(&Request{Case: c, spec: spec, In: in})
	if err != nil {
		return Step{}, fmt.Errorf("take the complex step of %s: %w", c.Op, err)
	}
	var s Step
	r := rand.New(rand.NewPCG(seed, 0x57e9))
	for _, t := range truth.Outputs {
		i := slices.IndexFunc(all, func(l Loss) bool { return l.gradient == t.Name })
		if i < 0 || len(all[i].at) != len(t.R) {
			return Step{}, fmt.Errorf("take the complex step of %s: its complex forward has no input for "+
				"the %d elements of %s", c.Op, len(t.R), t.Name)
		}
		s.Gradients = append(s.Gradients, t.Name)
		if e := all[i].compare(t.R, r); !(e <= s.Error) || s.Worst == "" {
			s.Error, s.Worst = e, t.Name
		}
	}
	return s, nil
}

// compare returns the largest relative distance between <gradient, v> and the complex step along v, over
// random and single directions.
func (l Loss) compare(gradient []float64, r *rand.Rand) float64 {
	worst := 0.0
	note := func(v []float64) {
		want, companion := 0.0, 0.0
		for i, g := range gradient {
			want += g * v[i]
			companion += math.Abs(g * v[i])
		}
		if e := math.Abs(l.along(v) - want); e > 0 {
			worst = math.Max(worst, e/companion)
		}
	}
	for range randomDirections {
		v := make([]float64, len(gradient))
		for i := range v {
			v[i] = r.NormFloat64()
		}
		note(v)
	}
	// A single element may be the small difference of large terms: its error is measured against the
	// gradient's ordinary size.
	usual := 0.0
	for _, g := range gradient {
		usual += math.Abs(g) / float64(len(gradient))
	}
	for n := range min(singleElements, len(gradient)) {
		i := [2]int{0, len(gradient) - 1}[n%2]
		if n >= 2 {
			i = r.IntN(len(gradient))
		}
		v := make([]float64, len(gradient))
		v[i] = 1
		if e := math.Abs(l.along(v) - gradient[i]); e > 0 {
			worst = math.Max(worst, e/math.Max(usual, math.Abs(gradient[i])))
		}
	}
	return worst
}

// along returns the derivative in direction v.
func (l Loss) along(v []float64) float64 {
	z := make([]complex128, len(l.at))
	for i, x := range l.at {
		z[i] = complex(x, stepSize*v[i])
	}
	return imag(l.Of(z)) / stepSize
}

// complexOf widens real values.
func complexOf(x []float64) []complex128 {
	z := make([]complex128, len(x))
	for i, v := range x {
		z[i] = complex(v, 0)
	}
	return z
}

// Partial makes the loss of each input of a function of several: input i varies, the others stay.
func Partial(names []string, values [][]float64, of func(z [][]complex128) complex128) []Loss {
	held := make([][]complex128, len(values))
	for i, x := range values {
		held[i] = complexOf(x)
	}
	all := make([]Loss, len(names))
	for i, name := range names {
		all[i] = Loss{"grad_" + name, values[i], func(z []complex128) complex128 {
			in := slices.Clone(held)
			in[i] = z
			return of(in)
		}}
	}
	return all
}
