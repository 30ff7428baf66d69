package truth

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// relatedParts is the number of runs of neighbouring rows in a case whose truth is computed row by row, the
// first and the last among them; partsElements is about the number of elements in each.
const (
	relatedParts  = 16
	partsElements = 1 << 18
)

// part is some neighbouring rows of a case, as a case.
type part struct {
	op.Case
	origin []int64 // where its first row lies, along the dims that rows are counted in
	rows   int64
}

// HoldParts evaluates an invariant, as Relation.Hold does, on runs of rows of a case whose truth is computed
// row by row. Every element is judged anyway, and all values at once would take gigabytes.
func (o *Operator) HoldParts(r Relation, contract string, call Call,
	nondeterministic []string,
) []judge.Relation {
	parts, err := o.partsOf(call.Case)
	var all []judge.Relation
	for i, p := range parts {
		var some []judge.Relation
		var within Call
		if within, err = o.within(call, p); err != nil {
			break
		}
		within.Truth = call.Parts.truthOf(i, within)
		some = r.Hold(contract, []Call{within}, nondeterministic)
		for k := range some {
			some[k].Worst.Index = p.inWhole(some[k].Worst.Index)
		}
		if i == 0 {
			all = some
			continue
		}
		for k := range all {
			all[k] = all[k].And(some[k])
		}
	}
	if err != nil {
		for _, output := range r.Outputs {
			all = append(all, judge.Relation{Name: r.Name, Output: output, Missing: err.Error()})
		}
	}
	return all
}

// PartTruths keeps the truth of the runs of rows of one case, which all of its implementations and relations
// share. The zero value is ready.
type PartTruths struct {
	mu    sync.Mutex
	known map[string]func() (judge.Truth, error)
}

// truthOf returns the truth of the i-th run under a contract, computed once; nil for a nil receiver (see
// Call).
func (p *PartTruths) truthOf(i int, within Call) func(contract string) (judge.Truth, error) {
	if p == nil {
		return nil
	}
	return func(contract string) (judge.Truth, error) {
		key := fmt.Sprint(i, " ", contract)
		p.mu.Lock()
		if p.known == nil {
			p.known = map[string]func() (judge.Truth, error){}
		}
		if p.known[key] == nil {
			p.known[key] = sync.OnceValues(func() (judge.Truth, error) {
				return Of(within.Case, contract, within.Given, nil)
			})
		}
		once := p.known[key]
		p.mu.Unlock()
		return once()
	}
}

// partsOf chooses the runs of rows.
func (o *Operator) partsOf(c op.Case) ([]part, error) {
	outputs, err := o.Spec.Outputs(c)
	if err != nil {
		return nil, err
	}
	dims := DefinitionOf(c.Op).ByRows
	last := dims[len(dims)-1]
	total, inRun := int64(1), c.Dims.Get(last)
	for _, d := range dims {
		total *= c.Dims.Get(d)
	}
	length := max(1, min(inRun, partsElements*total/max(1, outputs[0].Elements())))
	var parts []part
	before := int64(-1)
	for i := range int64(relatedParts) {
		first := i * (total - length) / (relatedParts - 1)
		first = min(first, first/inRun*inRun+inRun-length) // within one run of the last dim
		if first == before {
			continue
		}
		before = first
		p := part{rows: length, origin: make([]int64, len(dims))}
		sizes := map[string]int64{}
		for d, at := len(dims)-1, first; d >= 0; d-- {
			n := c.Dims.Get(dims[d])
			p.origin[d], at, sizes[dims[d]] = at%n, at/n, 1
		}
		sizes[last] = length
		p.Case = WithDims(c, sizes)
		if moved := DefinitionOf(c.Op).From; moved != nil {
			p.Case = moved(p.Case, p.origin[len(dims)-1])
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// within returns the part of a call: the rows of every tensor that has them.
func (o *Operator) within(call Call, p part) (Call, error) {
	inputs, err := o.Spec.Inputs(call.Case)
	if err != nil {
		return call, err
	}
	outputs, err := o.Spec.Outputs(call.Case)
	if err != nil {
		return call, err
	}
	forward, err := o.Spec.ForwardInputs(call.Case)
	if err != nil {
		return call, err
	}
	types := slices.Concat(inputs, outputs, forward)
	narrow := func(all Inputs) Inputs {
		var some Inputs
		for _, t := range all {
			if i := slices.IndexFunc(types, func(x op.TensorType) bool { return x.Name == t.Name }); i >= 0 {
				t = o.rowsOf(t, types[i].Sizes, p)
			}
			some = append(some, t)
		}
		return some
	}
	return Call{Case: p.Case, Given: narrow(call.Given), Gave: narrow(call.Gave)}, nil
}

// rowsOf returns the view of a part's rows of a tensor whose sizes begin with the dims that rows are counted
// in, or with their product with a switch that is on ("rows * add"); another tensor is returned unchanged.
func (o *Operator) rowsOf(t tensor.Tensor, sizes []string, p part) tensor.Tensor {
	dims := truths[o.Spec.Name].ByRows
	counts := func(size, dim string) bool {
		of, switched, _ := strings.Cut(size, " * ")
		on, isSwitch := p.Attrs.Lookup(switched)
		return of == dim && (switched == "" || isSwitch && on.Number == 1)
	}
	if len(sizes) < len(dims) || !slices.EqualFunc(sizes[:len(dims)], dims, counts) {
		return t
	}
	t.Shape = slices.Clone(t.Shape)
	for d := range dims {
		t.Offset += p.origin[d] * t.Stride[d]
		t.Shape[d] = 1
	}
	t.Shape[len(dims)-1] = p.rows
	return t
}

// inWhole returns the index in the whole case of an element of the part.
func (p part) inWhole(index []int64) []int64 {
	index = slices.Clone(index)
	for d := range index {
		if d < len(p.origin) {
			index[d] += p.origin[d]
		}
	}
	return index
}
