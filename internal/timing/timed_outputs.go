package timing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
)

// finish frees every candidate and judges what the timed calls wrote.
func (c *timedCase) finish(ctx context.Context) error {
	var group panics.Group // nothing is timed any more: workers copy in parallel
	failures := make([]error, len(c.impls))
	for i, k := range c.impls {
		if k.candidate != nil {
			group.Go(func() { failures[i] = k.finish(ctx) })
		}
	}
	return errors.Join(group.Wait(), errors.Join(failures...))
}

func (k *timedImpl) finish(ctx context.Context) (err error) {
	name := k.Implementation.Name
	defer panics.Caught(&err, func() string { return "judging what the timed calls of " + name + " wrote" })
	outcome, differing, err := k.candidate.Finish(ctx)
	if err != nil {
		return err
	}
	if outcome.Status != op.StatusUnknown && ctx.Err() != nil {
		return ctx.Err()
	}
	k.failed, k.sentence = k.written(outcome, differing)
	return nil
}

// written judges what the timed calls wrote into the first set of outputs and into the last, which had
// different poisons; the sets between must hold the same bits. StatusUnknown: nothing is wrong.
func (k *timedImpl) written(outcome backend.Outcome, differing []backend.Differing) (op.Status, string) {
	if outcome.Status != op.StatusUnknown {
		return outcome.Status, "after its calls were timed: " + outcome.Sentence
	}
	for _, d := range differing {
		if slices.Contains(k.Implementation.Nondeterministic, d.Output) {
			continue
		}
		text := fmt.Sprintf("the timed calls gave other bits of %s in set %d of the same inputs than in the "+
			"first: %d bytes differ", d.Output, d.Set+1, d.Bytes)
		if len(d.Inputs) > 0 {
			text += fmt.Sprintf(", and its %s, which a call may not write to, changed",
				strings.Join(d.Inputs, ", "))
		}
		return op.StatusFail, text
	}
	if k.aaTwin {
		return op.StatusUnknown, ""
	}
	return k.Judge(outcome)
}
