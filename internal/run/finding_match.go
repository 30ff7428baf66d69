package run

import (
	"math"
	"slices"
	"strings"
	"sync"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// looks reports whether a rejected output matches a finding: the finding names the output and the gate, and
// describes every rejected element by kind, place and size.
func (c *prepared) looks(f op.Finding, v judge.Verdict, e entry, outcome backend.Outcome, i int) bool {
	if !slices.Contains(f.Outputs, v.Output) || !slices.Contains(f.Gates, v.Gate) {
		return false
	}
	own := e.implementation.Calls != ""
	if v.Wrong == 0 {
		// Every element lies in its interval (G4), or something is wrong that was not compared element by
		// element, which has no bound
		return v.Gate == "G4" || !own && (v.Gate == "G0" || v.Gate == "G6")
	}
	truth, err := c.truthUnder(v.Contract, e, outcome)
	if err != nil || i >= len(truth.Outputs) || len(outcome.Launches) == 0 ||
		i >= len(outcome.Launches[0].Outputs) {
		return false
	}
	return judge.EveryRejected(truth.Outputs[i], outcome.Launches[0].Outputs[i].Tensor.Data,
		c.described(f, own, truth.Outputs[i], v.Contract, i))
}

// described returns the test whether a finding describes a rejected element of an output. own: the output is
// of a user's file, which no finding without a bound excuses.
func (c *prepared) described(f op.Finding, own bool, target judge.Target, contract string, output int,
) func(judge.Rejected) bool {
	var all []func(judge.Rejected) bool
	for _, w := range f.Wrong {
		if w.Unbounded && own {
			continue
		}
		if d := c.describedBy(w, target, contract, output); d != nil {
			all = append(all, d)
		}
	}
	return func(r judge.Rejected) bool {
		return slices.ContainsFunc(all, func(d func(judge.Rejected) bool) bool { return d(r) })
	}
}

// describedBy returns the test whether w describes a rejected element of an output; nil if the case lacks
// what w refers to.
func (c *prepared) describedBy(w op.Wrong, target judge.Target, contract string, output int,
) func(judge.Rejected) bool {
	var all []func(judge.Rejected) bool
	for _, p := range w.Places {
		at := c.place(p, output)
		if at == nil {
			return nil
		}
		all = append(all, at)
	}
	if (w.Kind == "finite" || w.Kind == "infinite") && !w.Exact() {
		all = append(all, c.size(w, target, contract, output))
	}
	return func(r judge.Rejected) bool {
		return r.Kind == w.Kind &&
			!slices.ContainsFunc(all, func(holds func(judge.Rejected) bool) bool { return !holds(r) })
	}
}

// size returns the test whether an element lies within a bound that w states.
func (c *prepared) size(w op.Wrong, target judge.Target, contract string, output int,
) func(judge.Rejected) bool {
	var bounds []func(judge.Rejected) bool
	bound := func(is bool, b func(judge.Rejected) bool) {
		if is && b != nil {
			bounds = append(bounds, b)
		}
	}
	bound(w.Unbounded, func(judge.Rejected) bool { return true })
	bound(w.ULPs > 0, func(r judge.Rejected) bool { return r.WithinULPs(w.ULPs) })
	bound(w.ErrorBounds > 0, func(r judge.Rejected) bool { return r.WithinT(w.ErrorBounds * r.T) })
	if format, ok := tensor.FormatOf(target.DType); ok && w.Roundings > 0 {
		share := w.Roundings * format.U() / 0x1p-24
		bound(true, func(r judge.Rejected) bool { return r.WithinT(share * r.T) })
	}
	if w.RoundedBefore != "" {
		bound(true, c.roundedBefore(w, output))
	}
	if w.Parts != "" {
		bound(true, c.inParts(w.Parts, target))
	}
	if w.Flushed {
		bound(true, c.flushed(contract, output))
	}
	if w.Within != "" {
		bound(true, c.within(w.Within))
	}
	return func(r judge.Rejected) bool {
		return slices.ContainsFunc(bounds, func(b func(judge.Rejected) bool) bool { return b(r) })
	}
}

// input returns an input of the operator and the names of its sizes; nil if there is none of that name.
func (c *prepared) input(name string) (tensor.Tensor, []string) {
	types, err := c.operator.Spec.ForwardInputs(c.Case)
	at := slices.IndexFunc(c.given, func(t tensor.Tensor) bool { return t.Name == name })
	of := slices.IndexFunc(types, func(t op.TensorType) bool { return t.Name == name })
	if err != nil || at < 0 || of < 0 || c.given[at].Elements() == 0 {
		return tensor.Tensor{}, nil
	}
	return c.given[at], dimsOf(types[of].Sizes)
}

// dimsOf returns the dims in sizes: "rows" of "rows * add".
func dimsOf(sizes []string) []string {
	dims := make([]string, len(sizes))
	for i, size := range sizes {
		dims[i], _, _ = strings.Cut(size, " ")
	}
	return dims
}

// broadcast maps the index of an output's element to a position in an input with this shape and these dims:
// along dims that they share it takes the index, along others 0.
func broadcast(shape []int64, dims, of []string) func(index []int64) int64 {
	from := make([]int, len(dims))
	for k, dim := range dims {
		from[k] = slices.Index(of, dim)
	}
	return func(index []int64) (position int64) {
		for k, n := range shape {
			position *= n
			if from[k] >= 0 && n > 1 {
				position += index[from[k]]
			}
		}
		return position
	}
}

// roundedBefore accepts the result of rounding the output without an input to the dtype, and then adding the
// input.
func (c *prepared) roundedBefore(w op.Wrong, output int) func(judge.Rejected) bool {
	name, factor := w.Addend()
	in, dims := c.input(name)
	if dims == nil {
		return nil
	}
	times := 1.0
	if a, ok := c.Attrs.Lookup(factor); ok {
		times = a.Number
	}
	values := in.Float64s()
	at := broadcast(in.Shape, dims, dimsOf(c.outputs[output].Sizes))
	return func(r judge.Rejected) bool {
		added := times * values[at(r.Index)]
		return r.Between(r.Round(r.R-added-r.T)+added-r.T, r.Round(r.R-added+r.T)+added+r.T)
	}
}

// inParts accepts the sum of an input in parts of neighbours, each rounded to the dtype of the output before
// they are added.
func (c *prepared) inParts(name string, target judge.Target) func(judge.Rejected) bool {
	in, dims := c.input(name)
	format, ok := tensor.FormatOf(target.DType)
	if dims == nil || !ok {
		return nil
	}
	sum, low, high := 0.0, 0.0, 0.0
	for _, v := range in.Float64s() {
		sum += v
		low, high = min(low, sum), max(high, sum)
	}
	// no part exceeds the difference of two sums from the start
	most := op.MostParts * format.U() * (high - low)
	return func(r judge.Rejected) bool { return r.WithinT(r.T + most) }
}

// flushed accepts values between the truth and the truth of inputs with subnormals flushed to zero, with the
// error bound of both and a lost partial sum below 2^-126 in each step.
func (c *prepared) flushed(contract string, output int) func(judge.Rejected) bool {
	if c.byRows {
		return nil
	}
	inputs := slices.Clone(c.truthInputs())
	for i, in := range inputs {
		format, ok := tensor.FormatOf(in.DType)
		if !ok {
			continue
		}
		values := in.Float64s()
		for k, v := range values {
			if math.Abs(v) < math.Ldexp(1, format.EMin) {
				values[k] = 0
			}
		}
		inputs[i] = tensor.New(in.Name, in.DType, in.Shape)
		inputs[i].SetFloat64s(values)
	}
	truth, err := c.operator.TruthOf(c.Case, contract, inputs, c.sample)
	if err != nil || output >= len(truth.Outputs) {
		return nil
	}
	steps := int64(1)
	for _, d := range c.Dims {
		steps = max(steps, d.Value)
	}
	other, lost := truth.Outputs[output], float64(steps)*judge.Tiny
	position := positions(other)
	return func(r judge.Rejected) bool {
		i, ok := position(r.Index)
		if !ok {
			return false
		}
		slack := max(r.T, other.T[i]) + lost
		return r.Between(min(r.R, other.R[i])-slack, max(r.R, other.R[i])+slack)
	}
}

// positions returns a function that finds the judged element of a target by its index.
func positions(t judge.Target) func(index []int64) (int, bool) {
	return func(index []int64) (int, bool) {
		position := int64(0)
		for k, n := range t.Shape {
			position = position*n + index[k]
		}
		if t.Index == nil {
			return int(position), position < int64(len(t.R))
		}
		return slices.BinarySearch(t.Index, position)
	}
}

// within accepts values in the range of an input.
func (c *prepared) within(name string) func(judge.Rejected) bool {
	in, dims := c.input(name)
	if dims == nil {
		return nil
	}
	values := in.Float64s()
	low, high := slices.Min(values), slices.Max(values)
	return func(r judge.Rejected) bool { return r.Between(low, high) }
}

// place returns the test whether an element lies where a finding says; nil if the case has no such place.
func (c *prepared) place(p op.Place, output int) func(judge.Rejected) bool {
	switch p.Of {
	case "index":
		return c.indexed(p, output)
	case "truth":
		return map[string]func(judge.Rejected) bool{
			"+inf":         func(r judge.Rejected) bool { return math.IsInf(r.R, 1) },
			"a row of NaN": func(r judge.Rejected) bool { return r.RowOfNaN },
			"a row of 0":   func(r judge.Rejected) bool { return r.RowOfZeros },
		}[p.Is]
	case "given":
		return map[string]func(judge.Rejected) bool{
			"0":           func(r judge.Rejected) bool { return r.Got == 0 },
			"an infinity": func(r judge.Rejected) bool { return math.IsInf(r.Got, 0) },
			"a number":    func(r judge.Rejected) bool { return !math.IsNaN(r.Got) && !math.IsInf(r.Got, 0) },
		}[p.Is]
	case "element":
		in, dims := c.input(p.Tensor)
		if dims == nil {
			return nil
		}
		values, at := in.Float64s(), broadcast(in.Shape, dims, dimsOf(c.outputs[output].Sizes))
		return func(r judge.Rejected) bool { return math.IsNaN(values[at(r.Index)]) }
	case "row":
		return c.rowsOf(p, output)
	}
	return nil
}

// indexed returns the test of an expression over the index in each dim of the output.
func (c *prepared) indexed(p op.Place, output int) func(judge.Rejected) bool {
	dims := dimsOf(c.outputs[output].Sizes)
	return func(r judge.Rejected) bool {
		v, err := p.Index.Int(func(name string) (int64, bool) {
			at := slices.Index(dims, name)
			if at < 0 {
				return 0, false
			}
			return r.Index[at], true
		})
		return err == nil && v != 0
	}
}

// holdsOf maps the contents of a row of an input that a finding may name to their tests.
var holdsOf = map[string]func(row []float64) bool{
	"holds inf": func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return math.IsInf(x, 0) })
	},
	"holds NaN or inf": func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) })
	},
	// NaN counts as the maximum of a row that holds it
	"has no finite maximum": func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 1) }) ||
			!slices.ContainsFunc(row, func(x float64) bool { return !math.IsInf(x, -1) })
	},
	"exceeds 2^40": func(row []float64) bool {
		return slices.ContainsFunc(row, func(x float64) bool { return math.Abs(x) > 0x1p40 })
	},
}

// rowsOf returns the test whether the input's row of an element holds something: the row with the same index
// in the dims that input and output share, or any of several such rows.
func (c *prepared) rowsOf(p op.Place, output int) func(judge.Rejected) bool {
	in, dims := c.input(p.Tensor)
	if dims == nil {
		return nil
	}
	of := dimsOf(c.outputs[output].Sizes)
	cols := in.Shape[len(in.Shape)-1]
	// the shape of the rows that an element can distinguish: 1 for the dims that the output lacks
	shape := slices.Clone(in.Shape[:len(in.Shape)-1])
	kept := slices.Clone(shape)
	for k := range shape {
		if !slices.Contains(of, dims[k]) {
			kept[k] = 1
		}
	}
	at := broadcast(kept, dims[:len(shape)], of)
	found := sync.OnceValue(func() map[int64]bool {
		rows, values := map[int64]bool{}, in.Float64s()
		for first := int64(0); first < int64(len(values)); first += cols {
			if !holdsOf[p.Is](values[first : first+cols]) {
				continue
			}
			position := int64(0)
			for k, i := range tensor.Index(first/cols, shape) {
				position *= kept[k]
				if kept[k] > 1 {
					position += i
				}
			}
			rows[position] = true
		}
		return rows
	})
	return func(r judge.Rejected) bool { return found()[at(r.Index)] }
}
