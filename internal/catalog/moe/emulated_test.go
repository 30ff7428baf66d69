package moe

import (
	"cmp"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

var f32 = truthtest.F32

// emulation is a kernel with its bug, of some sizes.
type emulation struct {
	truthtest.Arithmetic
	p                                 *truthtest.Prepared
	low                               op.DType // the dtype of values that may be stored low
	tokens, experts, dim, hidden, top int
	normalise                         bool
	x, router, gate, up, down         []float64
}

func emulationOf(a truthtest.Arithmetic, p *truthtest.Prepared) *emulation {
	x, gate := p.In["x"].Shape, p.In["gate"].Shape
	e := &emulation{
		Arithmetic: a, p: p, low: p.In["x"].DType,
		tokens: int(x[0]), experts: int(gate[0]), dim: int(gate[1]), hidden: int(gate[2]),
		top: int(p.Attrs.Number("top")), normalise: p.Attrs.Text("normalise") == "true",
		x: p.V["x"], router: p.V["router"], gate: p.V["gate"], up: p.V["up"], down: p.V["down"],
	}
	if a.Bug == "gate and up exchanged" {
		e.gate, e.up = e.up, e.gate
	}
	return e
}

// stored returns a row that may be stored in the dtype.
func (e *emulation) stored(x []float64) []float64 {
	if !e.LowP {
		return x
	}
	return truthtest.RoundedTo(e.low, x)
}

// sum adds n terms in fp32.
func (e *emulation) sum(n int, f func(i int) float64) float64 {
	if e.Bug == "low-precision accumulator" {
		return truthtest.SumLow(e.p.Low(), n, f)
	}
	return e.Sum(n, f)
}

func each(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func (e *emulation) logits(t int) []float64 {
	n := e.dim
	if e.Bug == "tail of the router not summed" {
		n = n / truthtest.Vector * truthtest.Vector
	}
	return each(e.experts, func(i int) float64 {
		term := func(c int) float64 { return f32(e.x[t*e.dim+c] * e.router[i*e.dim+c]) }
		switch e.Bug {
		case "logits in 16 bits":
			return tensor.Round(e.p.Low(), e.Sum(n, term), false)
		case "logits added in 16 bits":
			return truthtest.SumLow(e.p.Low(), n, term)
		}
		return e.Sum(n, term)
	})
}

// chosen returns the experts of a token, of equal logits the first.
func (e *emulation) chosen(z []float64) []int {
	order := make([]int, e.experts)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if aNaN, bNaN := math.IsNaN(z[a]), math.IsNaN(z[b]); aNaN || bNaN {
			return cmp.Compare(b2i(bNaN), b2i(aNaN))
		}
		return cmp.Compare(z[b], z[a])
	})
	if e.Bug == "the worst are chosen" {
		slices.Reverse(order)
	}
	own := slices.Clone(order[:e.top])
	switch e.Bug {
	case "the chosen rise":
		slices.Reverse(own)
	case "an expert twice":
		own[len(own)-1] = own[0]
	}
	return own
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// softmax returns the probabilities of a token's experts, divided by the sum over some.
func (e *emulation) softmax(z []float64, own []int) []float64 {
	most := math.Inf(-1)
	for _, v := range z {
		most = math.Max(most, v)
	}
	if e.Bug == "no maximum subtracted" && e.p.DType != "fp16" {
		most = 0
	}
	p := each(len(z), func(i int) float64 { return e.Exp(f32(z[i] - most)) })
	all := e.Sum(len(p), func(i int) float64 { return p[i] })
	among := e.normalise && e.Bug != "not divided by the sum of the weights" ||
		e.Bug == "divided by the sum of the weights"
	if among && own != nil {
		all = e.Sum(len(own), func(i int) float64 { return p[own[i]] })
	}
	return each(len(p), func(i int) float64 { return e.Fast(f32(p[i]) / all) })
}

func (e *emulation) weights(z []float64, own []int) []float64 {
	p := e.softmax(z, own)
	w := each(len(own), func(i int) float64 { return p[own[i]] })
	switch e.Bug {
	case "weights missing":
		return each(len(own), func(int) float64 { return 1 })
	case "every choice has the weight of the first":
		return each(len(own), func(int) float64 { return w[0] })
	case "weight of its square":
		return each(len(own), func(i int) float64 { return f32(w[i] * w[i]) })
	}
	return w
}

func (e *emulation) sigmoid(g float64) float64 { return e.Fast(1 / f32(1+e.Exp(-g))) }

func (e *emulation) silu(g float64) float64 {
	switch e.Bug {
	case "silu missing":
		return g
	case "sigmoid for silu":
		return e.sigmoid(g)
	case "gelu for silu":
		return f32(g * 0.5 * math.Erfc(-g/math.Sqrt2))
	}
	return f32(g * e.sigmoid(g))
}

// enter computes g, u and h of a token in an expert.
func (e *emulation) enter(row, expert int) (g, u, h []float64) {
	times := func(m []float64) []float64 {
		return e.stored(each(e.hidden, func(j int) float64 {
			return e.sum(e.dim, func(c int) float64 {
				return f32(e.x[row*e.dim+c] * m[(expert*e.dim+c)*e.hidden+j])
			})
		}))
	}
	g, u = times(e.gate), times(e.up)
	h = e.stored(each(e.hidden, func(j int) float64 { return f32(e.silu(g[j]) * u[j]) }))
	return g, u, h
}

// ofDown returns an element of an expert's last matrix.
func (e *emulation) ofDown(expert, j, c int) float64 {
	at := j*e.dim + c
	if e.Bug == "down transposed" {
		at = c*e.hidden + j
	}
	return e.down[expert*e.hidden*e.dim+at]
}

// tile is the number of tokens of an expert that an emulated kernel takes at once.
const tile = 16

// lost returns a function that reports whether the bug drops a pair.
func (e *emulation) lost(choice [][]int) func(t, i int) bool {
	count, seen := make([]int, e.experts), make([]int, e.experts)
	for _, own := range choice {
		for _, x := range own {
			count[x]++
		}
	}
	dropped := map[[2]int]bool{}
	capacity := (5*e.tokens*e.top/4 + e.experts - 1) / e.experts
	for t, own := range choice {
		for i, x := range own {
			switch n := seen[x]; e.Bug {
			case "tokens beyond a capacity dropped":
				dropped[[2]int{t, i}] = n >= capacity
			case "last tokens of an expert lost":
				dropped[[2]int{t, i}] = n >= count[x]/tile*tile
			case "last token of an expert lost":
				dropped[[2]int{t, i}] = n == count[x]-1
			case "last expert left out":
				dropped[[2]int{t, i}] = x == e.experts-1
			case "last choice left out":
				dropped[[2]int{t, i}] = i == len(own)-1
			}
			seen[x]++
		}
	}
	return func(t, i int) bool { return dropped[[2]int{t, i}] }
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e := emulationOf(a, p)
	y, choices, weights := make([]float64, 0, len(e.x)), []float64{}, []float64{}
	choice, w := make([][]int, e.tokens), make([][]float64, e.tokens)
	for t := range choice {
		z := e.logits(t)
		choice[t] = e.chosen(z)
		if e.Bug == "choice of the first token for all" {
			choice[t] = choice[0]
		}
		w[t] = e.weights(z, choice[t])
		for i, x := range choice[t] {
			choices, weights = append(choices, float64(x)), append(weights, w[t][i])
		}
	}
	lost := e.lost(choice)
	for t := range choice {
		of := w[t]
		if e.Bug == "weights of the next token" {
			of = w[(t+1)%e.tokens]
		}
		y = append(y, e.token(t, choice[t], of, lost)...)
	}
	if e.Bug == "tail of a row not written" {
		truthtest.LeaveTail(y, e.tokens, e.dim)
	}
	return [][]float64{y, choices, weights}
}

// token returns a row of y.
func (e *emulation) token(t int, own []int, w []float64, lost func(t, i int) bool) []float64 {
	parts := make([][]float64, len(own))
	for i, x := range own {
		row, n := t, e.hidden
		switch e.Bug {
		case "row of the pair for the token's":
			row = (t*e.top + i) % e.tokens
		case "expert off by one":
			x = (x + 1) % e.experts
		case "tail of hidden not summed":
			n = n / truthtest.Vector * truthtest.Vector
		}
		_, _, h := e.enter(row, x)
		parts[i] = e.stored(each(e.dim, func(c int) float64 {
			return e.sum(n, func(j int) float64 { return f32(h[j] * e.ofDown(x, j, c)) })
		}))
		if lost(t, i) {
			clear(parts[i])
		}
	}
	return each(e.dim, func(c int) float64 {
		term := func(i int) float64 { return f32(w[i] * parts[i][c]) }
		if e.Bug == "experts added in 16 bits" {
			return truthtest.SumLow(e.p.Low(), len(own), term)
		}
		return e.Sum(len(own), term)
	})
}
