package run

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// afterTurning calls an implementation of a marked case again with the altered input, and judges the result.
// It sets found to the findings that explain a failure.
func (x *execution) afterTurning(ctx context.Context, c *prepared, e entry, r *record.Record,
	found *[]op.Finding,
) error {
	if c.altered == nil || e.implementation.Limit != "" || r.Status.Weight() == op.Bad ||
		len(r.Outputs) == 0 {
		return nil
	}
	turned := &prepared{
		work: c.work, given: slices.Clone(c.given), outputs: c.outputs, level: c.level, stop: c.stop,
		truths: map[string]truthOnce{},
	}
	turned.given[0] = c.altered.of(c.given[0], r.Seed)
	job, err := x.job(ctx, turned, e)
	if err != nil {
		return err
	}
	job.Launches = job.Launches[:2]
	outcome, err := x.further(ctx, c, e, job)
	if err != nil {
		return err
	}
	outcome.ChangedItsMind()
	again := newRecord(turned, e, r.Seed, r.Started)
	explained := x.rules().ruleOnLaunches(turned, e, outcome, &again, len(job.Launches))
	if again.Status.Weight() != op.Bad && outcome.Status == op.StatusUnknown {
		return nil
	}
	*found = explained
	endsAs(r, again, "so it is where "+c.given[0].Name+" "+c.altered.words+", after this call")
	return nil
}

// turnedInside returns a contiguous tensor with its elements in reverse order, except for the first and the
// last.
func turnedInside(t tensor.Tensor, _ uint64) tensor.Tensor {
	size := int(t.DType.Size())
	data := slices.Clone(t.Data)
	last := len(data)/size - 1
	for i := 1; i < last; i++ {
		copy(data[i*size:(i+1)*size], t.Data[(last-i)*size:])
	}
	t.Data = data
	return t
}

// exchangedInside returns a contiguous tensor with two neighbors exchanged that differ, neither of them the
// first or the last element. The seed decides which.
func exchangedInside(t tensor.Tensor, seed uint64) tensor.Tensor {
	size := int(t.DType.Size())
	inner := len(t.Data)/size - 3 // places of a left neighbor
	if inner < 1 {
		return t
	}
	data := slices.Clone(t.Data)
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", t.Name, " ", inner)
	start := int(h.Sum64() % uint64(inner))
	for k := range inner {
		at := (1 + (start+k)%inner) * size
		left, right := t.Data[at:at+size], t.Data[at+size:at+2*size]
		if !bytes.Equal(left, right) {
			copy(data[at:], right)
			copy(data[at+size:], left)
			break
		}
	}
	t.Data = data
	return t
}
