package run

import (
	"context"
	"fmt"

	"triad/internal/backend"
	"triad/internal/op"
)

// choice records whether an implementation took tensors of some sizes, strides, dtypes and attributes,
// whatever their values.
type choice uint8

const (
	unasked choice = iota
	taken
	refusedAll // it declined ordinary data as well
)

// description identifies what an implementation may choose by: everything about a case but its data.
func description(c op.Case, implementation string) string {
	c.Distribution, c.Upstream = "", op.OrdinaryUpstream(c.Upstream)
	return implementation + " " + c.Key()
}

// declined judges a call that an implementation declined. It may decline sizes, layouts, dtypes and
// attributes, never data: where it takes, or took, ordinary data of the same description, the call is FAIL.
func (x *execution) declined(ctx context.Context, c *prepared, e entry,
	outcome backend.Outcome,
) (backend.Outcome, error) {
	key := description(c.Case, e.implementation.Name)
	if outcome.Status != op.StatusUnsupported {
		if outcome.Status == op.StatusUnknown && x.choose(key, taken) == refusedAll {
			outcome.Status = op.StatusFail
			outcome.Sentence = "it takes these values, and declined others of the same sizes, layout, " +
				"dtypes and attributes before"
		}
		return outcome, nil
	}
	if x.chosen(key) == unasked {
		answer, err := x.takesOrdinary(ctx, c, e)
		if err != nil {
			return outcome, err
		}
		x.choose(key, answer)
	}
	if x.chosen(key) == taken {
		outcome.Sentence = fmt.Sprintf("it declines these values, and takes others of the same sizes, "+
			"layout, dtypes and attributes: %s", outcome.Sentence)
		outcome.Status = op.StatusFail
	}
	return outcome, nil
}

// takesOrdinary asks the implementation to take ordinary data in place of a case's.
func (x *execution) takesOrdinary(ctx context.Context, c *prepared, e entry) (choice, error) {
	ordinary := c.work
	ordinary.Distribution, ordinary.Upstream = "normal", op.OrdinaryUpstream(c.Upstream)
	if ordinary.Key() == c.Key() {
		return refusedAll, nil
	}
	other, err := x.unjudged(ordinary)
	if err != nil {
		return unasked, err
	}
	outcome, err := x.launch(ctx, other, e)
	if err != nil {
		return unasked, err
	}
	switch outcome.Status {
	case op.StatusUnsupported, op.StatusUnavailable, op.StatusSkipped, op.StatusMissing:
		return refusedAll, nil
	}
	return taken, nil
}

func (x *execution) chosen(key string) choice {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.choices[key]
}

// choose records an implementation's answer, and returns its previous one.
func (x *execution) choose(key string, answer choice) choice {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.choices == nil {
		x.choices = map[string]choice{}
	}
	before := x.choices[key]
	if answer == refusedAll && before == taken { // meanwhile another case of the description was taken
		return before
	}
	x.choices[key] = answer
	return before
}

// unjudged makes a case's tensors without a truth.
func (x *execution) unjudged(w work) (*prepared, error) {
	c := &prepared{work: w, level: x.request.Options.Level, truths: map[string]truthOnce{}}
	var err error
	if c.given, err = w.operator.Inputs(w.Case, x.request.Seed); err != nil {
		return nil, err
	}
	if c.outputs, err = w.operator.Spec.Outputs(w.Case); err != nil {
		return nil, err
	}
	if w.Pass == op.Backward && w.Saved == "driver" {
		c.saved, err = w.operator.Saved(w.Case, c.given)
	}
	return c, err
}
