package moe

import (
	"slices"

	"triad/internal/truth/truthtest"
)

// pair is a token in one of its experts, with the inputs of the gradients.
type pair struct {
	token, expert       int
	w, d                float64
	h, dg, du, weighted []float64
}

// choices returns the saved choices, or where the backward's own forward makes them those of exact logits: a
// kernel's may differ only among equal ones.
func (e *emulation) choices() [][]int {
	out := make([][]int, e.tokens)
	saved, given := e.p.V["choice"]
	exact := &emulation{experts: e.experts, top: e.top}
	for t := range out {
		if given {
			for _, x := range saved[t*e.top : (t+1)*e.top] {
				out[t] = append(out[t], int(x))
			}
			continue
		}
		out[t] = exact.chosen(each(e.experts, func(i int) float64 {
			z := 0.0
			for c := range e.dim {
				z += e.x[t*e.dim+c] * e.router[i*e.dim+c]
			}
			return z
		}))
	}
	return out
}

// through computes a pair of token t.
func (e *emulation) through(t, expert int, w float64) pair {
	x := expert
	if e.Bug == "expert off by one" {
		x = (x + 1) % e.experts
	}
	g, u, h := e.enter(t, x)
	dy := e.p.V["grad_y"][t*e.dim : (t+1)*e.dim]
	q := e.stored(each(e.hidden, func(j int) float64 {
		return e.sum(e.dim, func(c int) float64 { return f32(dy[c] * e.ofDown(x, j, c)) })
	}))
	p := pair{token: t, expert: expert, w: w, h: h}
	p.d = e.Sum(e.hidden, func(j int) float64 { return f32(h[j] * q[j]) })
	dh := each(e.hidden, func(j int) float64 {
		if e.Bug == "gradient of hidden without the weight" {
			return q[j]
		}
		return f32(w * q[j])
	})
	p.dg = e.stored(each(e.hidden, func(j int) float64 {
		s := e.sigmoid(g[j])
		slope := f32(s * f32(1+f32(g[j]*f32(1-s))))
		if e.Bug == "slope of silu is sigmoid" {
			slope = s
		}
		return f32(f32(dh[j]*u[j]) * slope)
	}))
	p.du = e.stored(each(e.hidden, func(j int) float64 {
		if e.Bug == "grad_up with g for silu" {
			return f32(dh[j] * g[j])
		}
		return f32(dh[j] * e.silu(g[j]))
	}))
	p.weighted = e.stored(each(e.dim, func(c int) float64 {
		if e.Bug == "grad_down without the weight" {
			return dy[c]
		}
		return f32(w * dy[c])
	}))
	return p
}

// ofLogits returns the gradients of a token's logits.
func (e *emulation) ofLogits(z []float64, own []int, pairs []pair) []float64 {
	out := make([]float64, e.experts)
	sum := e.Sum(len(pairs), func(i int) float64 { return f32(pairs[i].w * pairs[i].d) })
	if e.Bug == "mean of the weights' gradients not subtracted" {
		sum = 0
	}
	all := e.softmax(z, nil)
	if !e.normalise && e.Bug != "experts not chosen get no gradient of the router" ||
		e.Bug == "gradient of the router as if not normalised" {
		for i, p := range all {
			out[i] = f32(p * -sum)
		}
	}
	for i, x := range own {
		w := pairs[i].w
		if e.Bug == "gradient of the logits without the weight" {
			w = 1
		}
		if i == 0 || e.Bug != "first choice alone in grad_router" {
			out[x] = f32(w * f32(pairs[i].d-sum))
		}
	}
	return out
}

// ofToken returns a row of grad_x.
func (e *emulation) ofToken(pairs []pair, dz []float64) []float64 {
	times := func(v, m []float64, expert int) []float64 {
		return e.stored(each(e.dim, func(c int) float64 {
			return e.sum(e.hidden, func(j int) float64 {
				return f32(v[j] * m[(expert*e.dim+c)*e.hidden+j])
			})
		}))
	}
	if e.Bug == "grad_x of the last choice alone" {
		pairs = pairs[len(pairs)-1:]
	}
	var parts [][]float64
	for _, p := range pairs {
		parts = append(parts, times(p.dg, e.gate, p.expert))
		if e.Bug != "grad_x without up" {
			parts = append(parts, times(p.du, e.up, p.expert))
		}
	}
	if e.Bug != "grad_x without the router" {
		parts = append(parts, each(e.dim, func(c int) float64 {
			return e.Sum(e.experts, func(i int) float64 { return f32(dz[i] * e.router[i*e.dim+c]) })
		}))
	}
	return each(e.dim, func(c int) float64 {
		return e.Sum(len(parts), func(i int) float64 { return parts[i][c] })
	})
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e := emulationOf(a, p)
	choice := e.choices()
	lost := e.lost(choice)
	of, dz := make([][]pair, e.experts), make([][]float64, e.tokens)
	gradX := make([]float64, 0, len(e.x))
	for t, own := range choice {
		z := e.logits(t)
		var pairs []pair
		for i, w := range e.weights(z, own) {
			one := e.through(t, own[i], w)
			pairs = append(pairs, one)
			if !lost(t, i) {
				of[own[i]] = append(of[own[i]], one)
			}
		}
		dz[t] = e.ofLogits(z, own, pairs)
		gradX = append(gradX, e.ofToken(pairs, dz[t])...)
	}
	rows := e.tokens
	if e.Bug == "last token lost in grad_router" {
		rows--
	}
	router := each(e.experts*e.dim, func(i int) float64 {
		return e.sum(max(rows, 0), func(t int) float64 { return f32(dz[t][i/e.dim] * e.x[t*e.dim+i%e.dim]) })
	})
	ofX := func(p pair, c int) float64 { return e.x[p.token*e.dim+c] }
	gate := e.overPairs(of, e.dim, e.hidden, ofX, func(p pair) []float64 { return p.dg })
	up := e.overPairs(of, e.dim, e.hidden, ofX, func(p pair) []float64 { return p.du })
	down := e.overPairs(of, e.hidden, e.dim, func(p pair, j int) float64 { return p.h[j] },
		func(p pair) []float64 { return p.weighted })
	if e.Bug == "grad_gate and grad_up exchanged" {
		gate, up = up, gate
	}
	if e.Bug == "tail of a row not written" {
		truthtest.LeaveTail(gradX, e.tokens, e.dim)
	}
	return [][]float64{gradX, router, gate, up, down}
}

// overPairs returns a gradient of the experts: the sum over the pairs of each of a[row] b[col].
func (e *emulation) overPairs(of [][]pair, rows, cols int, a func(p pair, row int) float64,
	b func(p pair) []float64,
) []float64 {
	var out []float64
	for _, own := range of {
		if len(own) == 0 && e.Bug == "experts without tokens not written" {
			out = append(out, slices.Repeat([]float64{truthtest.Unwritten}, rows*cols)...)
			continue
		}
		for i := range rows * cols {
			out = append(out, e.sum(len(own), func(n int) float64 {
				return f32(a(own[n], i/cols) * b(own[n])[i%cols])
			}))
		}
	}
	return out
}
