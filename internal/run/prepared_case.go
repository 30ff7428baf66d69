package run

import (
	"cmp"
	"context"
	"errors"
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

// previousOutputs holds the truths of the previous case, by operator, pass and output: the answers of a
// kernel that returns its last result.
type previousOutputs map[string][]float64

const (
	// sampledFLOPs: a product with more is judged on sampled rows; its whole truth in fp64 would take a CPU
	// minutes.
	sampledFLOPs = 2e9
	sampledRows  = 64
)

// keptElements: the truth of larger outputs is not kept, if it can be computed row by row. At 32 bytes an
// element this limit is 0.5 GB.
var keptElements int64 = 1 << 24

// timedElements are drawn from an output with more than keptElements where it is judged to be timed.
var timedElements int64 = 1 << 22

// largest returns the number of elements of the largest output.
func largest(outputs []op.TensorType) int64 {
	n := int64(0)
	for _, t := range outputs {
		n = max(n, t.Elements())
	}
	return n
}

// sampleOf chooses the rows of a large case that are judged; nil: all of them. The choice depends on the seed
// and the case. What can be computed row by row or element by element is sampled only where the case is
// judged to be timed (work.bySample), and what a user's own reference computes in full is never sampled.
func sampleOf(w work, seed uint64) (*truth.Sample, error) {
	rows := int64(sampledRows)
	if w.operator.Whole() {
		if rows = timedRows(w); rows == 0 {
			return nil, nil
		}
	} else {
		_, flops, err := w.operator.Spec.Cost(w.Case)
		if err != nil || flops <= sampledFLOPs {
			return nil, err
		}
	}
	h := fnv.New64a()
	fmt.Fprint(h, seed, " ", w.Key())
	return &truth.Sample{Rows: rows, Seed: h.Sum64()}, nil
}

// timedRows returns the number of rows that are drawn for the sample of a case that is judged to be timed; 0:
// all of it is judged, because its outputs are small or a sample would be most of them.
func timedRows(w work) int64 {
	outputs, err := w.operator.Spec.Outputs(w.Case)
	if err != nil || !w.bySample || w.operator.Reference != nil || largest(outputs) <= keptElements {
		return 0
	}
	long := slices.MaxFunc(outputs,
		func(a, b op.TensorType) int { return cmp.Compare(a.Elements(), b.Elements()) })
	length := int64(truth.FlatRow)
	if rank := len(long.Shape); rank > 1 {
		length = long.Shape[rank-1]
	}
	rows := max(sampledRows, timedElements/length)
	if 2*(rows+truth.TailRows) > long.Elements()/length {
		return 0
	}
	return rows
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

// errLeft is the reason of an entry that was not run, or not judged to its end.
var errLeft = errors.New("left for a resumed run")

// large reports whether judging a case takes so long that a stopped run does not finish it.
func (c *prepared) large() bool { return c.byRows }

// untilStopped stops computing rows of a truth once the run is stopped. What is judged by then is judged in
// part, and is not recorded.
func untilStopped(stop context.Context, t judge.Truth) judge.Truth {
	for _, o := range t.Outputs {
		if o.Rows == nil || o.Rows.Fill == nil || stop == nil {
			continue
		}
		fill := o.Rows.Fill
		o.Rows.Fill = func() func(into judge.Values, first, end int64) error {
			rows := fill()
			return func(into judge.Values, first, end int64) error {
				if stop.Err() != nil {
					return errLeft
				}
				return rows(into, first, end)
			}
		}
	}
	return t
}
