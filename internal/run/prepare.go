package run

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// prepared is a case ready to run: its tensors, and its truth under every contract that is asked for.
type prepared struct {
	work
	given   []tensor.Tensor // the operator's inputs; for a backward also the upstream gradients
	saved   []tensor.Tensor // saved tensors of a backward made by the driver, or nil
	outputs []op.TensorType
	powers  []judge.Power
	level   op.Level
	sample  *truth.Sample // nil: every element is judged
	// sizesAlone: the case is timed after it is judged, so that it is compiled for its sizes alone
	sizesAlone bool
	byRows     bool            // the truth of large outputs is computed row by row while they are judged
	stop       context.Context // done: no more of its rows are computed
	parts      truth.PartTruths

	mu     sync.Mutex
	truths map[string]truthOnce
	kept   []keptOutputs
	saves  map[string][]tensor.Tensor // what an implementation's own forward saved, by the backward's name
}

type truthOnce func() (judge.Truth, error)

// keptOutputs holds one implementation's outputs until the implementations of the case are compared with each
// other.
type keptOutputs struct {
	name, id string
	outputs  []backend.Output
}

// previousOutputs holds the truths of the previous case, by operator, pass and output: what a kernel that
// returns its last result would give.
type previousOutputs map[string][]float64

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
	c.byRows = w.operator.ByRows() && largest(c.outputs) > keptElements && x.Dumper == nil
	if w.Pass == op.Backward && w.Saved == "driver" {
		if c.saved, err = w.operator.Saved(w.Case, c.given); err != nil {
			return nil, err
		}
	}
	if c.large() && x.toldToStop() {
		return nil, errLeft
	}
	truth, err := c.truth(w.operator.Spec.DefaultContract(w.DType))
	if err != nil {
		return nil, err
	}
	c.powers = x.powersOf(c, truth)
	if c.large() && x.toldToStop() { // the powers may then be computed only in part
		return nil, errLeft
	}
	if x.Dumper != nil {
		if err := x.Dumper.Case(w.Case, append(slices.Clone(c.given), c.saved...), truth); err != nil {
			return nil, err
		}
	}
	return c, nil
}

const (
	// sampledFLOPs: a product with more is judged on sampled rows; its whole truth in fp64 would take a CPU
	// minutes.
	sampledFLOPs = 2e9
	sampledRows  = 64
)

// keptElements: the truth of larger outputs is not kept, if it can be computed row by row. At 32 bytes an
// element this limit is 0.5 GB.
var keptElements int64 = 1 << 24

// largest returns the number of elements of the largest output.
func largest(outputs []op.TensorType) int64 {
	n := int64(0)
	for _, t := range outputs {
		n = max(n, t.Elements())
	}
	return n
}

// sampleOf chooses the rows of a large product that are judged; nil: all of them. The choice depends on the
// seed and the case. What can be computed row by row or element by element, and what a user's own reference
// computes in full anyway, is never sampled.
func sampleOf(w work, seed uint64) (*truth.Sample, error) {
	if w.operator.Whole() {
		return nil, nil
	}
	_, flops, err := w.operator.Spec.Cost(w.Case)
	if err != nil || flops <= sampledFLOPs {
		return nil, err
	}
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", w.Key())
	return &truth.Sample{Rows: sampledRows, Seed: h.Sum64()}, nil
}

// truth computes the truth under a contract, once.
func (c *prepared) truth(contract string) (judge.Truth, error) {
	c.mu.Lock()
	once, ok := c.truths[contract]
	if !ok {
		once = sync.OnceValues(func() (judge.Truth, error) {
			if c.byRows {
				truth, err := c.operator.TruthByRows(c.Case, contract, c.truthInputs())
				return untilStopped(c.stop, truth), err
			}
			return c.operator.TruthOf(c.Case, contract, c.truthInputs(), c.sample)
		})
		c.truths[contract] = once
	}
	c.mu.Unlock()
	return once()
}

// truthInputs returns the arguments of the truth: see truth.Of.
func (c *prepared) truthInputs() []tensor.Tensor {
	if c.Pass == op.Forward || c.Saved == "own" {
		return c.given
	}
	in, err := assemble(c.operator.Spec.Backward.Inputs, c.given, c.saved)
	if err != nil {
		return c.given
	}
	return in
}

// assemble picks tensors by name, in order.
func assemble(names []string, from ...[]tensor.Tensor) ([]tensor.Tensor, error) {
	out := make([]tensor.Tensor, 0, len(names))
	for _, name := range names {
		at := -1
		for _, list := range from {
			if at = slices.IndexFunc(list, func(t tensor.Tensor) bool { return t.Name == name }); at >= 0 {
				out = append(out, list[at])
				break
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("there is no tensor %q", name)
		}
	}
	return out, nil
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

// stoppedBefore is the outcome of a job that could not be made because the implementation's own forward
// failed.
type stoppedBefore struct{ outcome backend.Outcome }

func (s *stoppedBefore) Error() string { return s.outcome.Sentence }

// job returns the backend's job for an entry. A chained backward first runs its own forward.
func (x *execution) job(ctx context.Context, c *prepared, e entry) (backend.Job, error) {
	job := backend.Job{
		Implementation: e.implementation, DType: c.DType, Contract: e.implementation.Contract,
		Attrs:   attrRefs(c),
		Outputs: c.outputs, Launches: c.launches(e.implementation.Device, c.level), SizesAlone: c.sizesAlone,
	}
	if c.Pass == op.Backward && e.implementation.Draws != "" {
		if _, err := c.savedOnce(e.implementation.Name,
			func() ([]tensor.Tensor, error) { return x.ownChoice(ctx, c, e) }); err != nil {
			return job, err
		}
	}
	if c.Pass == op.Forward || e.implementation.Recomputes {
		job.Inputs = c.given
		return job, nil
	}
	saved := c.saved
	if c.Saved == "own" {
		var err error
		if saved, err = c.savedOnce(e.implementation.Name,
			func() ([]tensor.Tensor, error) { return x.ownSaved(ctx, c, e) }); err != nil {
			return job, err
		}
	}
	var err error
	job.Inputs, err = assemble(c.operator.Spec.Backward.Inputs, c.given, saved)
	if err != nil {
		return job, fmt.Errorf("inputs of %s: %w", describe(c.Case), err)
	}
	return job, nil
}

// savedOnce returns what an implementation's own forward saved. The forward runs for the judged call, and
// only once.
func (c *prepared) savedOnce(name string, forward func() ([]tensor.Tensor, error)) ([]tensor.Tensor, error) {
	c.mu.Lock()
	saved, known := c.saves[name]
	c.mu.Unlock()
	if known {
		return saved, nil
	}
	saved, err := forward()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.saves == nil {
		c.saves = map[string][]tensor.Tensor{}
	}
	c.saves[name] = saved
	return saved, nil
}

// savedBy returns what an implementation's own forward saved, where a chained case has run it.
func (c *prepared) savedBy(e entry) []tensor.Tensor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.saves[e.implementation.Name]
}

// ownForward runs the forward of a backward a number of times.
func (x *execution) ownForward(ctx context.Context, c *prepared, e entry, times int,
	inputs func([]op.TensorType) ([]tensor.Tensor, error),
) ([]backend.LaunchOutcome, error) {
	outputs, err := c.operator.Spec.ForwardOutputs(c.Case)
	if err != nil {
		return nil, err
	}
	types, err := c.operator.Spec.ForwardInputs(c.Case)
	if err != nil {
		return nil, err
	}
	in, err := inputs(types)
	if err != nil {
		return nil, err
	}
	i := e.implementation
	i.Pass, i.Name = op.Forward, forwardOf(i)
	outcome, err := x.attempt(ctx, e, backend.Job{
		Implementation: i, DType: c.DType, Contract: i.Contract, Attrs: attrRefs(c), Inputs: in,
		Outputs: outputs, Launches: launches(i.Device, op.LevelDefault)[:times],
	})
	if err != nil {
		return nil, err
	}
	if outcome.Status != op.StatusUnknown {
		outcome.Sentence = "its forward " + i.Name + ": " + outcome.Sentence
		return nil, &stoppedBefore{outcome}
	}
	return outcome.Launches, nil
}

// ownChoice returns the output on ones of a forward that draws its own random numbers: which elements it
// keeps. A choice that changes from call to call says nothing of another call's gradient.
func (x *execution) ownChoice(ctx context.Context, c *prepared, e entry) ([]tensor.Tensor, error) {
	launches, err := x.ownForward(ctx, c, e, 2, func(types []op.TensorType) ([]tensor.Tensor, error) {
		var in []tensor.Tensor
		for _, t := range types {
			one := tensor.New(t.Name, t.DType, t.Shape)
			one.SetFloat64s(slices.Repeat([]float64{1}, int(t.Elements())))
			in = append(in, one)
		}
		return in, nil
	})
	if err != nil {
		return nil, err
	}
	var given []tensor.Tensor
	for i, o := range launches[0].Outputs {
		if !o.Present {
			continue
		}
		if !tensor.Equal(o.Tensor.Data, launches[1].Outputs[i].Tensor.Data) {
			return nil, &stoppedBefore{backend.Outcome{
				Status: op.StatusUnsupported,
				Sentence: "two calls of its forward with the same seed differ, and its gradient is one of " +
					"neither: " + e.implementation.Draws,
			}}
		}
		given = append(given, o.Tensor)
	}
	return given, nil
}

// ownSaved runs the forward that a backward is chained to and returns what it saved.
func (x *execution) ownSaved(ctx context.Context, c *prepared, e entry) ([]tensor.Tensor, error) {
	launches, err := x.ownForward(ctx, c, e, 1, func(types []op.TensorType) ([]tensor.Tensor, error) {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = t.Name
		}
		return assemble(names, c.given)
	})
	if err != nil {
		return nil, err
	}
	outputs, err := c.operator.Spec.ForwardOutputs(c.Case)
	if err != nil {
		return nil, err
	}
	i := e.implementation
	i.Name = forwardOf(i)
	var saved []tensor.Tensor
	for k, o := range launches[0].Outputs {
		if o.Present && returned(o).Data == nil && slices.Contains(c.operator.Spec.Backward.Inputs, o.Name) {
			return nil, &stoppedBefore{backend.Outcome{
				Status: op.StatusFail,
				Sentence: fmt.Sprintf("its forward %s gives %s as %s %v, want %v %v", i.Name, o.Name,
					cmp.Or(o.Type, o.DType), o.Shape, outputs[k].DType, outputs[k].Shape),
			}}
		}
		if o.Present {
			saved = append(saved, o.Tensor)
		} else if slices.Contains(c.operator.Spec.Backward.Inputs, o.Name) {
			return nil, &stoppedBefore{backend.Outcome{
				Status:   op.StatusMissing,
				Sentence: fmt.Sprintf("its forward %s does not give %s", i.Name, o.Name),
			}}
		}
	}
	return saved, nil
}

// launches returns the launches of one job. The emulator runs other schedule orders, so that a race shows as
// different bits, and places buffers at either end of readable memory, so that an access outside of one
// shows. Every device gets both poisons, so that unwritten elements show.
func launches(device string, level op.Level) []backend.LaunchPlan {
	if device != "emulator" {
		return []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}}
	}
	plan := []backend.LaunchPlan{
		{Poison: "a", Order: "forward"},
		{Poison: "b", Order: "greedy:1", Place: backend.PlaceBegin},
		{Poison: "a", Order: "greedy:2"},
		{Poison: "b", Order: "greedy:3", Place: backend.PlaceBegin},
	}
	if level == op.LevelFull {
		plan = append(plan, backend.LaunchPlan{Poison: "a", Order: backend.OrderReverse}, backend.LaunchPlan{
			Poison: "b", Order: "random:1", Place: backend.PlaceBegin,
		})
	}
	return plan
}

func attrRefs(c *prepared) []backend.AttrRef {
	refs := make([]backend.AttrRef, len(c.Attrs))
	for i, a := range c.Attrs {
		refs[i] = backend.AttrRef{Name: a.Name, Number: a.Number, Text: a.Text}
		for _, s := range c.operator.Spec.Attributes {
			if s.Name == a.Name {
				refs[i].Type = s.Type
			}
		}
	}
	return refs
}

// judgedBefore reports whether every launch of an outcome gave, sound, the bits that were judged when the
// record was made: the verdict on them is known, and only what is accepted is timed.
func (c *prepared) judgedBefore(id string, outcome backend.Outcome) bool {
	at := slices.IndexFunc(c.kept, func(k keptOutputs) bool { return k.id == id })
	if at < 0 || len(outcome.Launches) < 2 {
		return false
	}
	judged := c.kept[at].outputs
	for _, l := range outcome.Launches {
		if l.Fault != "" || len(l.Changed)+len(l.Guards) > 0 || len(l.Outputs) != len(judged) {
			return false
		}
		for i, o := range l.Outputs {
			was := judged[i]
			if o.Name != was.Name || o.Present != was.Present || o.Type != "" || o.DType != was.DType ||
				!slices.Equal(o.Shape, was.Shape) ||
				!slices.Equal(o.Stride, was.Stride) || o.Present &&
				!tensor.Equal(o.Tensor.Data, was.Tensor.Data) {
				return false
			}
		}
	}
	return true
}

// keep stores an implementation's outputs for comparison with the others, and with its own when it is timed.
func (c *prepared) keep(name, id string, outcome backend.Outcome) {
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = append(c.kept, keptOutputs{name, id, outcome.Launches[0].Outputs})
}
