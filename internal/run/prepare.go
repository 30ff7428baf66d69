package run

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// prepare makes the inputs of a case, computes the truth under the default contract and checks whether the
// case can tell right from wrong.
func (x *execution) prepare(w work) (*prepared, error) {
	c := &prepared{work: w, level: x.request.Options.Level, truths: map[string]truthOnce{}, stop: x.Stop}
	var err error
	if c.sample, err = sampleOf(w, x.request.Seed); err != nil {
		return nil, err
	}
	if c.given, err = w.operator.Inputs(w.Case, x.request.Seed); err != nil {
		return nil, err
	}
	if c.outputs, err = w.operator.Spec.Outputs(w.Case); err != nil {
		return nil, err
	}
	// what is dumped is kept
	c.byRows = w.operator.ByRows() && c.sample == nil && largest(c.outputs) > keptElements && x.Dumper == nil
	if w.Pass == op.Backward && w.Saved == "driver" {
		if c.saved, err = w.operator.Saved(w.Case, c.given); err != nil {
			return nil, err
		}
	}
	if c.large() && x.stopRequested() {
		return nil, errLeft
	}
	truth, err := c.truth(w.operator.Spec.DefaultContract(w.DType))
	if err != nil {
		return nil, err
	}
	c.powers = x.powersOf(c, truth)
	if c.large() && x.stopRequested() { // the powers may then be computed only in part
		return nil, errLeft
	}
	if x.Dumper != nil {
		if err := x.Dumper.Case(w.Case, append(slices.Clone(c.given), c.saved...), truth); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// powersOf checks for every output whether trivial wrong answers would pass, the previous case's truth among
// them.
func (x *execution) powersOf(c *prepared, truth judge.Truth) []judge.Power {
	powers := make([]judge.Power, 0, len(truth.Outputs))
	for i, t := range truth.Outputs {
		key := fmt.Sprint(c.Op, " ", c.Pass, " ", t.Name)
		x.mu.Lock()
		previous := x.previous[key]
		if x.previous == nil {
			x.previous = previousOutputs{}
		}
		x.previous[key] = t.R
		x.mu.Unlock()
		if t.Elements() == 0 {
			continue // nothing is compared: EMPTY_OK says so
		}
		var input tensor.Tensor
		if i < len(c.given) && t.Index == nil {
			input = c.given[i]
		}
		powers = append(powers, judge.PowerOf(t, input, previous))
	}
	return powers
}
