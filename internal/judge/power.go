package judge

import (
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Power says whether the gates can tell right from wrong on one output of a case: which of the wrong outputs below they accept.
type Power struct {
	Output   string
	Accepted []string // the trials that passed though they are wrong
	None     bool     // one of those passed that must never: zeros, a constant, a lost last tile, the previous case's output
	Why      string   // which
}

// trial is one wrong output; decisive trials take a case's power away.
type trial struct {
	name     string
	decisive bool
	y        []float64
}

// PowerOf tries wrong outputs against the truth of one output: zeros, the mean everywhere, a copy of the input (nil, or another number of
// elements: none), the truth with its last element, row or tile of 16 columns zeroed, the truth off by 16 roundoffs (16-bit and fp8
// outputs) or by 2^-10, and the previous case's output (nil: none). It runs before any kernel does.
func PowerOf(t Target, input, previous []float64) Power {
	p := Power{Output: t.Name}
	if t.Check() != nil || len(t.R) == 0 {
		p.None, p.Why = true, "there is no truth"
		return p
	}
	for _, w := range trialsOf(t, input, previous) {
		if passes(t, w.y) {
			p.Accepted = append(p.Accepted, w.name)
			if w.decisive && !p.None {
				p.None, p.Why = true, w.name
			}
		}
	}
	return p
}

// passes says whether values, once stored, are accepted by every gate that rejects. Most wrong outputs are rejected within a few elements, so
// it stops at the first.
func passes(t Target, y []float64) bool {
	g := gridOf(t)
	stored := make([]float64, len(y))
	for i, v := range y {
		stored[i] = g.round(v)
		if !g.accepts(stored[i], t.R[i], t.T[i]) {
			return false
		}
	}
	return !t.Independent || judgeRMS(t, stored).Accepted()
}

func trialsOf(t Target, input, previous []float64) []trial {
	n := len(t.R)
	trials := []trial{
		{"zeros", true, make([]float64, n)},
		{"the mean everywhere", true, slices.Repeat([]float64{meanOfFinite(t.R)}, n)},
		{"the last element zeroed", false, zeroed(t, func(row, col, rows, cols int64) bool { return row == rows-1 && col == cols-1 })},
		{"the last row zeroed", false, zeroed(t, func(row, _, rows, _ int64) bool { return row == rows-1 })},
		{"the last tile zeroed", true, zeroed(t, func(_, col, _, cols int64) bool { return col >= cols-tile })},
		{"off by 2^-10", false, scaled(t.R, 1+0x1p-10)},
	}
	if f, ok := tensor.FormatOf(t.DType); ok && t.DType != op.FP32 {
		trials = append(trials, trial{"off by 16 roundoffs", false, scaled(t.R, 1+16*f.U())})
	}
	if len(input) == n {
		trials = append(trials, trial{"a copy of the input", false, input})
	}
	if len(previous) == n {
		trials = append(trials, trial{"the previous output", true, previous})
	}
	return trials
}

func scaled(x []float64, by float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * by
	}
	return y
}

// zeroed is R with 0 where lost says so, seen as [rows, cols] with cols the last dim.
func zeroed(t Target, lost func(row, col, rows, cols int64) bool) []float64 {
	b := blocksOf(t)
	y := slices.Clone(t.R)
	for i := range y {
		if p := t.position(i); lost(p/b.cols, p%b.cols, b.rows, b.cols) {
			y[i] = 0
		}
	}
	return y
}

func meanOfFinite(x []float64) float64 {
	scale := largestFinite(x)
	if scale == 0 {
		return 0
	}
	sum, n := 0.0, 0.0
	for _, v := range x {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum += v / scale
			n++
		}
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
