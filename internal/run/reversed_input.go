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

// alteration is a change of the first input of a call before the call is repeated: an implementation that
// keeps its last answer, and does not recognise an input by all of its elements, repeats that answer.
type alteration struct {
	words string // "x WORDS"
	of    func(t tensor.Tensor, seed uint64) tensor.Tensor
}

var (
	reversed = &alteration{"has its inner elements in reverse", turnedInside}
	// one that knows a large input by a sample of its elements takes it for the same
	exchanged = &alteration{"has two neighbors exchanged", exchangedInside}
)

// leastExchanged is the smallest number of elements of an input whose neighbors are exchanged: a sample of a
// smaller one may well be all of it.
const leastExchanged = 1024

// markTurned chooses the cases of each operator and dtype whose forward is called again with an altered first
// input: of ordinary data the smallest, whose inner elements are reversed, and the largest of moderate size.
func markTurned(planned []work) error {
	smallest, size := map[string]int{}, map[string]int64{}
	largest, most := map[string]int{}, map[string]int64{}
	for i, w := range planned {
		if w.Pass != op.Forward || w.Distribution != "normal" || w.Layout != "contiguous" {
			continue
		}
		inputs, err := w.operator.Spec.Inputs(w.Case)
		if err != nil {
			return err
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		if len(inputs) == 0 || !inputs[0].DType.IsFloat() || inputs[0].Elements() < 8 ||
			elements > moderateElements {
			continue
		}
		key := w.Op + " " + w.DType
		if _, seen := smallest[key]; !seen || elements < size[key] {
			smallest[key], size[key] = i, elements
		}
		if n := inputs[0].Elements(); n >= leastExchanged && n > most[key] {
			largest[key], most[key] = i, n
		}
	}
	for _, i := range largest {
		planned[i].altered = exchanged
	}
	for _, i := range smallest {
		planned[i].altered = reversed
	}
	return nil
}

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
	explained := x.ruleOnLaunches(turned, e, outcome, &again, len(job.Launches))
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
