package judge

import (
	"slices"
	"sync/atomic"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Power records whether the gates can tell right from wrong on one output of a case: which of the wrong
// outputs below they accept.
type Power struct {
	Output   string
	Accepted []string // the trials that passed though they are wrong
	// one of those passed that must never: zeros, a constant, a lost last tile, the previous case's output
	None bool
	Why  string // which
}

// trial is one wrong output; a decisive trial that passes leaves the case without power. fill returns its
// elements from the first on: a large output is never made whole, since most are rejected at once.
type trial struct {
	name     string
	decisive bool
	fill     func(into []float64, first int)
}

// PowerOf tries wrong outputs against the truth of one output: zeros, the mean everywhere (for an output that
// is one number by definition, twice the truth plus 1), a copy of the input (one without data, or with
// another number of elements: none), the truth with its last element, row or tile of 16 columns zeroed, the
// truth off by 16 roundoffs (16-bit and fp8 outputs) or by 2^-10, and the previous case's output (nil: none).
// It runs before any kernel does.
func PowerOf(t Target, input tensor.Tensor, previous []float64) Power {
	p := Power{Output: t.Name}
	t, err := t.few()
	if err != nil || t.Check() != nil || len(t.R) == 0 {
		p.None, p.Why = true, "there is no truth"
		return p
	}
	for _, w := range trialsOf(t, input, previous) {
		if w.passes(t) {
			p.Accepted = append(p.Accepted, w.name)
			if w.decisive && !p.None {
				p.None, p.Why = true, w.name
			}
		}
	}
	return p
}

// passes reports whether every gate that rejects accepts a wrong output once it is stored. Most are rejected
// within a few elements, so it stops at the first.
func (w trial) passes(t Target) bool {
	g := gridOf(t)
	if t.Choice != nil {
		whole := make([]float64, len(t.R))
		w.stored(whole, g, 0) // the rows of a choice are independent
		return t.permits(whole)
	}
	n := len(t.R)
	var rejected atomic.Bool
	parallel.Runs(n, func(first, end int) {
		var stored [strip]float64
		for ; first < end && !rejected.Load(); first += strip {
			part := stored[:min(strip, end-first)]
			w.stored(part, g, first)
			for i, y := range part {
				if !g.accepts(y, t.R[first+i], t.T[first+i]) {
					rejected.Store(true)
					return
				}
			}
		}
	})
	if rejected.Load() {
		return false
	}
	if !t.Independent {
		return true
	}
	return w.rms(t, g).Accepted()
}

// rms applies G4 to a wrong output, once stored.
func (w trial) rms(t Target, g *grid) RMS {
	b, runs := blocksOf(t), piecesOf(t)
	sums := make([]chunkSums, runs.count())
	_ = t.eachPiece(runs, func(p, first int, v Values) { // of a truth that is kept: it does not fail
		var stored [strip]float64
		for at := 0; at < len(v.R); at += strip {
			end := min(at+strip, len(v.R))
			part := stored[:end-at]
			w.stored(part, g, first+at)
			sums[p].add(t, g, b, part, v.part(at, end), nil, first+at)
		}
	})
	return joined(t, b, sums).worst()
}

// stored fills into with the elements from the first on, rounded to the output's dtype.
func (w trial) stored(into []float64, g *grid, first int) {
	w.fill(into, first)
	for i, v := range into {
		into[i] = g.round(v)
	}
}

func trialsOf(t Target, input tensor.Tensor, previous []float64) []trial {
	trials := []trial{
		{"zeros", true, everywhere(0)},
		{"the mean everywhere", true, everywhere(meanOfFinite(t.R))},
		{
			"the last element zeroed", false,
			zeroed(t, func(row, col, rows, cols int64) bool { return row == rows-1 && col == cols-1 }),
		},
		{"the last row zeroed", false, zeroed(t, func(row, _, rows, _ int64) bool { return row == rows-1 })},
		{
			"the last tile zeroed", true,
			zeroed(t, func(_, col, _, cols int64) bool { return col >= cols-tile }),
		},
	}
	if t.DType.IsFloat() {
		trials = append(trials, trial{"off by 2^-10", false, scaled(t.R, 1+0x1p-10)})
	} else {
		trials = append(trials, trial{"off by 1", false, oneMore(t.R)})
	}
	if t.Uniform { // the mean is right
		trials[1] = trial{"twice the truth and 1", true, twiceAndOne(t)}
	}
	if f, ok := tensor.FormatOf(t.DType); ok && t.DType != op.FP32 {
		trials = append(trials, trial{"off by 16 roundoffs", false, scaled(t.R, 1+16*f.U())})
	}
	if input.Data != nil && input.Elements() == int64(len(t.R)) {
		trials = append(trials, trial{"a copy of the input", false, valuesOf(input)})
	}
	if len(previous) == len(t.R) {
		trials = append(trials, trial{"the previous output", true, scaled(previous, 1)})
	}
	return trials
}

func everywhere(v float64) func(into []float64, first int) {
	return func(into []float64, _ int) {
		for i := range into {
			into[i] = v
		}
	}
}

// twiceAndOne returns a fill of 2R + 1, and of 1 where R is stored as an infinity or NaN, which doubling does
// not change.
func twiceAndOne(t Target) func(into []float64, first int) {
	g := gridOf(t)
	return func(into []float64, first int) {
		for i := range into {
			into[i] = 1
			if r := t.R[first+i]; isFinite(g.round(r)) {
				into[i] = 2*r + 1
			}
		}
	}
}

func scaled(x []float64, by float64) func(into []float64, first int) {
	return func(into []float64, first int) {
		for i := range into {
			into[i] = x[first+i] * by
		}
	}
}

// oneMore returns a fill of R + 1; what the dtype does not hold becomes NaN, which is rejected.
func oneMore(x []float64) func(into []float64, first int) {
	return func(into []float64, first int) {
		for i := range into {
			into[i] = x[first+i] + 1
		}
	}
}

// zeroed returns a fill of R with 0 where lost is true, seen as [rows, cols] with cols the last dim.
func zeroed(t Target, lost func(row, col, rows, cols int64) bool) func(into []float64, first int) {
	b := blocksOf(t)
	return func(into []float64, first int) {
		for i := range into {
			into[i] = t.R[first+i]
			if p := t.position(first + i); lost(p/b.cols, p%b.cols, b.rows, b.cols) {
				into[i] = 0
			}
		}
	}
}

// valuesOf returns a fill of a tensor's elements in row-major order, whatever its strides are.
func valuesOf(x tensor.Tensor) func(into []float64, first int) {
	if !x.IsContiguous() {
		return scaled(x.Float64s(), 1)
	}
	return func(into []float64, first int) {
		tensor.DecodeInto(into, x.DType, x.Data[(x.Offset+int64(first))*x.DType.Size():])
	}
}

// meanOfFinite adds up in chunks, so that the mean does not depend on the number of cores.
func meanOfFinite(x []float64) float64 {
	parts := make([]struct{ largest, sum, n float64 }, chunksOf(len(x)))
	eachChunk(len(x), func(p, first, end int) { parts[p].largest = largestFinite(x[first:end]) })
	scale := 0.0
	for _, p := range parts {
		scale = max(scale, p.largest)
	}
	if scale == 0 {
		return 0
	}
	eachChunk(len(x), func(p, first, end int) {
		for _, v := range x[first:end] {
			if v-v == 0 { // finite
				parts[p].sum += v / scale
				parts[p].n++
			}
		}
	})
	sum, n := 0.0, 0.0
	for _, p := range parts {
		sum += p.sum
		n += p.n
	}
	return sum / n * scale
}

// WithPower turns acceptance without power into NO_POWER: a rejection stays a rejection.
func WithPower(verdicts []Verdict, powers []Power) []Verdict {
	out := slices.Clone(verdicts)
	for i, v := range out {
		for _, p := range powers {
			if p.Output == v.Output && p.None && (v.Status == op.StatusPass || v.Status == op.StatusWarn) {
				out[i].Status = op.StatusNoPower
				out[i].Sentence = "accepted, but so would be: " + p.Why
			}
		}
	}
	return out
}
