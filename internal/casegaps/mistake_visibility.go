package casegaps

import (
	"math/bits"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// sumTerms is the smallest number of terms at which a sum in 16 bits is asked about.
const sumTerms = 4

// Shows reports whether the sizes, attributes and inputs of a case let the mistake show. Previous needs an
// earlier case, which the caller knows.
func (q Question) Shows(spec *op.Spec, c op.Case, in []tensor.Tensor) bool {
	types := TypesOf(spec, c)
	n := types[q.Subject].Elements()
	_, isTensor := types[q.Subject]
	switch q.Kind {
	case First, Last, Unwritten:
		return isTensor && n > 0
	case HalfAway:
		return n > 0 && has16Bits(types[q.Subject].DType)
	case Period:
		return n >= 1<<q.Power
	case Above16:
		return n > wraps
	case Multiple:
		size, _ := spec.Size(c.Dims, q.Value)
		return n > 0 && size%tileSide == 0 && bits.OnesCount64(uint64(size)) > 1
	case Threads:
		size, _ := spec.Size(c.Dims, q.Value)
		return n > 0 && size > mostThreads
	case Ragged:
		size, _ := spec.Size(c.Dims, q.Value)
		beside, _ := spec.Size(c.Dims, q.Beside)
		return n > 0 && size%tileSide != 0 && beside > 0 && beside%tileSide == 0
	case Sum16:
		terms, _ := spec.Size(c.Dims, q.Value)
		return n > 0 && terms >= sumTerms
	case Confused:
		return n > 0 && types[q.Value].Elements() > 0
	case Previous:
		return true
	case Index16:
		of := outputsOf(spec, c)
		if !q.OnOutputs(spec, c) {
			of, _ = spec.Inputs(c)
		}
		return slices.ContainsFunc(of, func(t op.TensorType) bool {
			axis := slices.Index(t.Sizes, q.Subject)
			return axis >= 0 && t.Shape[axis] > wraps && t.Elements() > 0
		})
	}
	_, _, differs := q.Call(spec, c, in)
	return differs
}

func outputsOf(spec *op.Spec, c op.Case) []op.TensorType {
	outputs, _ := spec.Outputs(c)
	return outputs
}

// NeedsInputs reports whether Shows reads the values of inputs, or their layout.
func (q Question) NeedsInputs() bool {
	return q.Kind == Strides || q.Kind == Offset || q.Kind == Numbers
}
