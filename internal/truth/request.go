package truth

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Request is one case under one contract with its inputs.
type Request struct {
	op.Case
	spec   *op.Spec
	Rules  Contract
	In     []tensor.Tensor
	Sample *Sample

	// SimOnly: R and T are not needed, nor outputs that no backward is given, where the simulated contract of
	// the others is much cheaper
	SimOnly bool
	// Unrounded: sums that a contract states with their roundings are left exact, for the proof of gradients
	Unrounded bool
	byRows    bool // outputs with rows of their own are computed when they are judged
}

// Chained reports whether the backward starts from the operator's inputs instead of saved tensors.
func (k *Request) Chained() bool { return k.Pass == op.Backward && k.Saved == "own" }

// Growth returns the growth of rounding errors in a sum of n terms, in roundoffs: judge.G, whose square root
// assumes independent errors. Equal terms all round the same way while the sum passes through a binade (added
// in sequence, 4099 of them lose up to 0.2*n roundoffs on average), so where rows repeat one value, as 99 of
// 100 do in sparse data, it is the worst case, n.
func (k *Request) Growth(n int64) float64 {
	if k.equalTerms() {
		return math.Max(judge.G(n), float64(n)+4)
	}
	return judge.G(n)
}

// equalTerms reports whether rows repeat one value.
func (k *Request) equalTerms() bool {
	switch k.Distribution {
	case "constant", "ties", "sparse", "halfway":
		return true
	}
	return false
}

// independent reports whether the case has many independent values, so that the root mean square of their
// rounding errors is a statistic. In rows of one value, outliers and selected extremes a few rounding errors
// decide, and these may happen to be small. The same holds for rows whose logits are products of two tensors
// that are not plainly normal (check.logits of the spec): one key has nearly all the weight. docs/judge.md
// has the measurement. In the layout expanded all rows of a tensor are one.
func (k *Request) independent() bool {
	if k.Layout == "expanded" {
		return false
	}
	switch k.Distribution {
	case "scaled", "shifted", "late_max", "row_offsets":
		if len(k.spec.Check.Logits) > 0 {
			return false
		}
		fallthrough
	case "normal":
		return k.Upstream == "" || k.Upstream == "normal"
	}
	return false
}

// Tensor returns the input called name.
func (k *Request) Tensor(name string) (tensor.Tensor, error) {
	for _, t := range k.In {
		if t.Name == name {
			return t, nil
		}
	}
	return tensor.Tensor{}, fmt.Errorf("input %q is missing", name)
}

// Tensors returns several inputs in the order of names.
func (k *Request) Tensors(names ...string) ([]tensor.Tensor, error) {
	out := make([]tensor.Tensor, len(names))
	for i, name := range names {
		var err error
		if out[i], err = k.Tensor(name); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Values returns several inputs in fp64, row-major, in the order of names.
func (k *Request) Values(names ...string) ([][]float64, error) {
	out := make([][]float64, len(names))
	for i, name := range names {
		t, err := k.Tensor(name)
		if err != nil {
			return nil, err
		}
		out[i] = t.Float64s()
	}
	return out, nil
}

// Target makes an output of zeros for the chosen rows of a shape (nil: all of them).
func (k *Request) Target(name string, d op.DType, shape, rows []int64) judge.Target {
	t := k.targetInFP32(name, d, shape, rows)
	t.TFP32 = make([]float64, len(t.R))
	return t
}

// targetInFP32 is Target for an output before which nothing is stored low under any contract: TFP32 is T.
func (k *Request) targetInFP32(name string, d op.DType, shape, rows []int64) judge.Target {
	t := k.described(name, d, shape)
	n := t.Elements()
	if rows != nil {
		cols := shape[len(shape)-1]
		n = int64(len(rows)) * cols
		t.Index = make([]int64, 0, n)
		for _, r := range rows {
			for c := range cols {
				t.Index = append(t.Index, r*cols+c)
			}
		}
	}
	t.R, t.T, t.Sim = make([]float64, n), make([]float64, n), make([]float64, n)
	t.TFP32 = t.T
	return t
}

// described returns an output without its truth.
func (k *Request) described(name string, d op.DType, shape []int64) judge.Target {
	t := judge.Target{
		Name: name, DType: d, Shape: slices.Clone(shape), Saturate: k.Rules.Saturate,
		Independent: k.independent(),
	}
	t.FTZ = k.Rules.FlushToZero && (d == op.FP32 || d == op.BF16)
	t.Leans = k.Rules.TF32
	if k.Rules.Bits {
		t.Bits, t.Independent = true, false // there are no rounding errors to take the mean of
	}
	return t
}
