package reduction

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
)

// Summed lists the inputs whose elements make the terms of a case: all but the offsets.
func (o Operator) Summed(c op.Case) ([]string, error) {
	names, err := elementwise.Inputs(c)
	return slices.DeleteFunc(names, func(name string) bool { return name == o.Offsets }), err
}

// segments returns the truth of an output of one sum a segment.
func (o Operator) segments(k *truth.Request) ([]judge.Target, error) {
	names, err := o.Summed(k.Case)
	if err != nil {
		return nil, err
	}
	if _, err := k.Rank(o.Offsets, 1); err != nil {
		return nil, err
	}
	in, e, err := o.terms(k, names)
	if err != nil {
		return nil, err
	}
	d := in.Tensors[0].DType
	cuts, err := k.Values(o.Offsets)
	if err != nil {
		return nil, err
	}
	offsets, n := cuts[0], in.Tensors[0].Elements()
	if !slices.IsSorted(offsets) || offsets[0] != 0 || offsets[len(offsets)-1] != float64(n) {
		return nil, fmt.Errorf("%s does not rise from 0 to %d", o.Offsets, n)
	}
	exactTerms := k.Distribution == "integers" && areExactTerms(o.Term, names, in.Tensors)
	segments := int64(len(offsets) - 1)
	chosen := k.Sample.Choose(segments)
	y := k.TargetAt(o.Output, d, []int64{segments}, chosen)
	y.Uniform = segments == 1
	exact := make([]bool, len(y.R))
	truth.EachRowWith(chosen, segments, e.TermRows(), func(own *elementwise.TermRow, i, at int64) {
		s := sumOf(e, own, in.Tensors, int64(offsets[at]), int64(offsets[at+1]), exactTerms)
		y.R[i], y.Sim[i] = s.Sum, s.sim
		y.T[i], y.TFP32[i] = k.SumError(s.Terms)
		exact[i] = k.ExactSums(s.Terms)
	})
	truth.RoundRow(y.Sim, y.Sim, d)
	if !slices.Contains(exact, false) && len(exact) > 0 {
		y = truth.Exactly(y)
	}
	return []judge.Target{y}, nil
}

// sumOf adds up the terms from first up to end, in rows of truth.FlatRow.
func sumOf(e *elementwise.Evaluation, own *elementwise.TermRow, in []tensor.Tensor, first, end int64,
	exact bool,
) part {
	parts := []part{}
	for ; first < end; first += truth.FlatRow {
		row := e.Terms(own, in, first, int(min(truth.FlatRow, end-first)))
		if exact {
			clear(row.T)
			clear(row.TFP32)
		}
		parts = append(parts, part{truth.TermsOf(row), truth.Sum(row.Sim)})
	}
	return together(parts)
}
