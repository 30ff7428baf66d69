package elementwise

import (
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/formula"
)

// Evaluation computes the truth of a formula element by element, under the contract of a request.
type Evaluation struct {
	Formula
	names         []string
	strict, loose formula.Rules
	integers      bool // fp32 may hold every value exactly, whatever the error bound
}

// NewEvaluation prepares a formula of the named inputs, whose dtype is d. Its result is stored in d at once:
// that rounding is no part of the error bound.
func NewEvaluation(k *truth.Request, f Formula, names []string, d op.DType) (*Evaluation, error) {
	return newEvaluation(k, f, names, formula.Rules{Output: d, Step: d})
}

// NewTerm prepares a formula whose result stays in fp32, as a term of a sum does: its last rounding is part
// of the error bound.
func NewTerm(k *truth.Request, f Formula, names []string, d op.DType) (*Evaluation, error) {
	return newEvaluation(k, f, names, formula.Rules{Step: d})
}

func newEvaluation(k *truth.Request, f Formula, names []string, strict formula.Rules) (*Evaluation, error) {
	loose := strict
	loose.EveryStep, loose.Marked = k.Rules.EveryStep, len(k.Rules.Stores) > 0
	e := &Evaluation{
		Formula: f, names: names, strict: strict, loose: loose, integers: k.Distribution == "integers",
	}
	_, err := formula.NewBounds(f.Forms, names, strict)
	return e, err
}

// Memory is the working memory of one core: Rows has a row of values for each input.
type Memory struct {
	Rows          [][]float64
	element       []float64
	strict, loose *formula.Bounds
}

// Memory makes the working memory of one core for rows of cols elements.
func (e *Evaluation) Memory(cols int64) func() *Memory {
	return func() *Memory {
		c := &Memory{element: make([]float64, len(e.names)), Rows: make([][]float64, len(e.names))}
		for i := range c.Rows {
			c.Rows[i] = make([]float64, cols)
		}
		// newEvaluation has checked that it can be made
		c.strict, _ = formula.NewBounds(e.Forms, e.names, e.strict)
		c.loose, _ = formula.NewBounds(e.Forms, e.names, e.loose)
		return c
	}
}

// Read decodes n neighbours of contiguous tensors of one dim. A tensor of one element has that value
// everywhere.
func (c *Memory) Read(in []tensor.Tensor, first int64, n int) {
	for j, x := range in {
		row := c.Rows[j][:n]
		if x.Elements() > 1 {
			x.DecodeRow(row, 0, first)
			continue
		}
		x.DecodeRow(row[:1], 0, 0)
		for i := range row {
			row[i] = row[0]
		}
	}
}

// Fill computes a run of elements, whose inputs are in the memory's rows. Sim is not rounded to the output.
func (e *Evaluation) Fill(c *Memory, out truth.Row) {
	for i := range out.R {
		for k, row := range c.Rows {
			c.element[k] = row[i]
		}
		out.R[i], out.T[i], out.TFP32[i], out.Sim[i] = e.one(c)
	}
}

// one returns the truth of the memory's element.
func (e *Evaluation) one(c *Memory) (r, t, tFP32, sim float64) {
	if e.ErrorBound != nil {
		r = c.strict.Value(c.element)
		tFP32, sim = e.ErrorBound(c.element, r), r
		if e.integers && c.strict.Whole(c.element) {
			tFP32 = 0
		}
	} else {
		r, tFP32, sim = c.strict.Element(c.element)
	}
	t = tFP32
	if e.loose != e.strict {
		_, t, sim = c.loose.Element(c.element)
		t = max(t, tFP32)
	}
	return r, t, tFP32, sim
}
