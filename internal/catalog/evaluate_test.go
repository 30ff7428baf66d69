package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// inputsByName reads inputs for evaluate.
type inputsByName map[string]tensor.Tensor

func (in inputsByName) row(into []float64, name string, r int64) { in[name].DecodeRow(into, r, 0) }

// evaluate computes a pass of an operator in fp64 by plain loops over its rows, on all cores: the formula and nothing else.
func evaluate(c op.Case, in []tensor.Tensor) [][]float64 {
	named := inputsByName{}
	for _, t := range in {
		named[t.Name] = t
	}
	switch c.Op + " " + c.Pass.String() {
	case "softmax forward":
		return evaluateSoftmax(named)
	case "softmax backward":
		return evaluateSoftmaxBackward(named, c.Saved == "own")
	case "layernorm forward":
		return evaluateLayernorm(named, c.Attrs.Number("eps"))
	case "layernorm backward":
		return evaluateLayernormBackward(named, c.Saved == "own", c.Attrs.Number("eps"))
	case "swiglu forward":
		return evaluateSwiglu(named)
	case "swiglu backward":
		return evaluateSwigluBackward(named)
	case "rope forward":
		return [][]float64{evaluateRotation(c, named, "q", 1), evaluateRotation(c, named, "k", 1)}
	case "rope backward":
		return [][]float64{evaluateRotation(c, named, "grad_q_out", -1), evaluateRotation(c, named, "grad_k_out", -1)}
	case "fp8_gemm forward":
		return [][]float64{evaluateProduct(c, named, "a", "scale_a", "b", "scale_b")}
	case "fp8_gemm backward":
		return [][]float64{evaluateProduct(c, named, "g", "scale_g", "bt", "scale_bt"), evaluateProduct(c, named, "gt", "scale_gt", "at", "scale_at")}
	case "flash_attention forward":
		return evaluateAttention(c, named)
	}
	return evaluateAttentionBackward(c, named)
}

// buffers is working memory of one core: rows of one length.
func buffers(n int, cols int64) func() [][]float64 { return rowInputs{cols: cols}.memory(n) }

func softmaxPlainly(y, x []float64) {
	m := math.Inf(-1)
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	l := 0.0
	for i, v := range x {
		y[i] = math.Exp(v - m)
		l += y[i]
	}
	for i := range y {
		y[i] /= l
	}
}

func evaluateSoftmax(in inputsByName) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	y := make([]float64, rows*cols)
	parallel.EachWith(rows, buffers(1, cols), func(own [][]float64, r int64) {
		in.row(own[0], "x", r)
		softmaxPlainly(y[r*cols:(r+1)*cols], own[0])
	})
	return [][]float64{y}
}

func evaluateSoftmaxBackward(in inputsByName, chained bool) [][]float64 {
	rows, cols := in["grad_y"].Shape[0], in["grad_y"].Shape[1]
	dx := make([]float64, rows*cols)
	parallel.EachWith(rows, buffers(3, cols), func(own [][]float64, r int64) {
		p, dy := own[0], own[1]
		if chained {
			in.row(own[2], "x", r)
			softmaxPlainly(p, own[2])
		} else {
			in.row(p, "y", r)
		}
		in.row(dy, "grad_y", r)
		d := 0.0
		for i, v := range p {
			d += v * dy[i]
		}
		for i, v := range p {
			dx[r*cols+int64(i)] = v * (dy[i] - d)
		}
	})
	return [][]float64{dx}
}

func momentsPlainly(x []float64, eps float64) (mean, rstd float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	variance := 0.0
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, 1 / math.Sqrt(variance/float64(len(x))+eps)
}

func evaluateLayernorm(in inputsByName, eps float64) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	weight, bias := in["weight"].Float64s(), in["bias"].Float64s()
	y, means, rstds := make([]float64, rows*cols), make([]float64, rows), make([]float64, rows)
	parallel.EachWith(rows, buffers(1, cols), func(own [][]float64, r int64) {
		in.row(own[0], "x", r)
		mean, rstd := momentsPlainly(own[0], eps)
		means[r], rstds[r] = mean, rstd
		for i, v := range own[0] {
			y[r*cols+int64(i)] = (v-mean)*rstd*weight[i] + bias[i]
		}
	})
	return [][]float64{y, means, rstds}
}

func evaluateLayernormBackward(in inputsByName, chained bool, eps float64) [][]float64 {
	rows, cols := in["x"].Shape[0], in["x"].Shape[1]
	weight := in["weight"].Float64s()
	means, rstds := make([]float64, rows), make([]float64, rows)
	if !chained {
		means, rstds = in["mean"].Float64s(), in["rstd"].Float64s()
	}
	dx, dweight, dbias := make([]float64, rows*cols), make([]float64, cols), make([]float64, cols)
	parallel.EachWith(rows, buffers(2, cols), func(own [][]float64, r int64) {
		x, dy := own[0], own[1]
		in.row(x, "x", r)
		in.row(dy, "grad_y", r)
		if chained {
			means[r], rstds[r] = momentsPlainly(x, eps)
		}
		mean, rstd, c1, c2 := means[r], rstds[r], 0.0, 0.0
		for i, v := range x {
			c1 += weight[i] * dy[i]
			c2 += weight[i] * dy[i] * (v - mean) * rstd
		}
		c1, c2 = c1/float64(cols), c2/float64(cols)
		for i, v := range x {
			dx[r*cols+int64(i)] = rstd * (weight[i]*dy[i] - c1 - (v-mean)*rstd*c2)
		}
	})
	const stripe = 64
	parallel.Each(ceilDiv(cols, stripe), func(s int64) {
		first, last := s*stripe, min((s+1)*stripe, cols)
		x, dy := make([]float64, last-first), make([]float64, last-first)
		for r := range rows {
			in["x"].DecodeRow(x, r, first)
			in["grad_y"].DecodeRow(dy, r, first)
			for i, v := range x {
				dweight[first+int64(i)] += dy[i] * (v - means[r]) * rstds[r]
				dbias[first+int64(i)] += dy[i]
			}
		}
	})
	return [][]float64{dx, dweight, dbias}
}

func evaluateSwiglu(in inputsByName) [][]float64 {
	rows, cols := in["gate"].Shape[0], in["gate"].Shape[1]
	y := make([]float64, rows*cols)
	parallel.EachWith(rows, buffers(2, cols), func(own [][]float64, r int64) {
		in.row(own[0], "gate", r)
		in.row(own[1], "up", r)
		for i, g := range own[0] {
			y[r*cols+int64(i)] = g / (1 + math.Exp(-g)) * own[1][i]
		}
	})
	return [][]float64{y}
}

func evaluateSwigluBackward(in inputsByName) [][]float64 {
	rows, cols := in["gate"].Shape[0], in["gate"].Shape[1]
	dgate, dup := make([]float64, rows*cols), make([]float64, rows*cols)
	parallel.EachWith(rows, buffers(3, cols), func(own [][]float64, r int64) {
		in.row(own[0], "gate", r)
		in.row(own[1], "up", r)
		in.row(own[2], "grad_y", r)
		for i, g := range own[0] {
			at, dy, sigma := r*cols+int64(i), own[2][i], 1/(1+math.Exp(-g))
			dgate[at] = dy * own[1][i] * sigma * (1 + g*(1-sigma))
			dup[at] = dy * g * sigma
		}
	})
	return [][]float64{dgate, dup}
}

func evaluateRotation(c op.Case, in inputsByName, name string, sign float64) []float64 {
	shape, half := in[name].Shape, in["cos"].Shape[1]
	rows, dim := shape[0]*shape[1]*shape[2], shape[3]
	offset, interleaved := int64(c.Attrs.Number("offset")), c.Attrs.Number("interleaved") != 0
	out := make([]float64, rows*dim)
	parallel.EachWith(rows, buffers(3, dim), func(own [][]float64, r int64) {
		x, cos, sin, y := own[0], own[1][:half], own[2][:half], out[r*dim:(r+1)*dim]
		in.row(x, name, r)
		angle := offset + r/shape[2]%shape[1]
		in.row(cos, "cos", angle)
		in.row(sin, "sin", angle)
		for i := range half {
			a, b := i, i+half
			if interleaved {
				a, b = 2*i, 2*i+1
			}
			y[a], y[b] = x[a]*cos[i]-x[b]*sign*sin[i], x[b]*cos[i]+x[a]*sign*sin[i]
		}
	})
	return out
}

func evaluateProduct(c op.Case, in inputsByName, a, scaleA, b, scaleB string) []float64 {
	m, n, k := in[a].Shape[0], in[b].Shape[0], in[a].Shape[1]
	k2 := &call{Case: c, in: []tensor.Tensor{in[a], in[scaleA], in[b], in[scaleB]}}
	left, _ := k2.operand(a, scaleA, c.Attrs.Text("scaling"), 1)
	right, _ := k2.operand(b, scaleB, c.Attrs.Text("scaling"), scaleBlock)
	second := in[b].Float64s()
	out := make([]float64, m*n)
	parallel.EachWith(m, buffers(1, k), func(own [][]float64, i int64) {
		in.row(own[0], a, i)
		for j := range n {
			for first := int64(0); first < k; first += scaleBlock {
				last, dot := min(first+scaleBlock, k), 0.0
				y := second[j*k+first : j*k+last]
				for x, v := range own[0][first:last] {
					dot += v * y[x]
				}
				out[i*n+j] += left.scale(i, first/scaleBlock) * right.scale(j, first/scaleBlock) * dot
			}
		}
	})
	return out
}

// plainHeads is attention as it is written, head after head.
type plainHeads struct {
	q, k, v, do, o, lse []float64
	seqQ, seqKV, n      int64
	heads, group        int64
	scale               float64
	causal              bool
}

func plainHeadsOf(c op.Case, in inputsByName) plainHeads {
	q, k := in["q"].Shape, in["k"].Shape
	h := plainHeads{q: in["q"].Float64s(), k: in["k"].Float64s(), v: in["v"].Float64s(), seqQ: q[2], seqKV: k[2], n: q[3], heads: q[0] * q[1], group: q[1] / k[1],
		scale: c.Attrs.Number("scale"), causal: c.Attrs.Number("causal") != 0}
	if t, ok := in["grad_o"]; ok {
		h.do = t.Float64s()
	}
	return h
}

func dotPlainly(x, y []float64) float64 {
	s := 0.0
	y = y[:len(x)]
	for i, v := range x {
		s += v * y[i]
	}
	return s
}

// weights fills the scores of query row r, and gives how many keys it sees. Key heads of a batch follow one another as query heads do.
func (h plainHeads) scores(s []float64, r int64) int64 {
	seen := h.seqKV
	if h.causal {
		seen = max(0, min(h.seqKV, r%h.seqQ+1+h.seqKV-h.seqQ))
	}
	kv := r / h.seqQ / h.group * h.seqKV
	for j := range seen {
		s[j] = h.scale * dotPlainly(h.q[r*h.n:(r+1)*h.n], h.k[(kv+j)*h.n:(kv+j+1)*h.n])
	}
	return seen
}

func (h plainHeads) forward() (o, lse []float64) {
	o, lse = make([]float64, h.heads*h.seqQ*h.n), make([]float64, h.heads*h.seqQ)
	parallel.EachWith(h.heads*h.seqQ, buffers(1, h.seqKV), func(own [][]float64, r int64) {
		seen := h.scores(own[0], r)
		s := own[0][:seen]
		kv := r / h.seqQ / h.group * h.seqKV
		m, l := math.Inf(-1), 0.0
		for _, v := range s {
			m = max(m, v)
		}
		for j, v := range s {
			s[j] = math.Exp(v - m)
			l += s[j]
		}
		for j, p := range s {
			axpy(o[r*h.n:(r+1)*h.n], p/l, h.v[(kv+int64(j))*h.n:(kv+int64(j)+1)*h.n])
		}
		lse[r] = m + math.Log(l)
	})
	return o, lse
}

func evaluateAttention(c op.Case, in inputsByName) [][]float64 {
	o, lse := plainHeadsOf(c, in).forward()
	return [][]float64{o, lse}
}

func evaluateAttentionBackward(c op.Case, in inputsByName) [][]float64 {
	h := plainHeadsOf(c, in)
	if c.Saved == "own" {
		h.o, h.lse = h.forward()
	} else {
		h.o, h.lse = in["o"].Float64s(), in["lse"].Float64s()
	}
	dq, dk, dv := make([]float64, len(h.q)), make([]float64, len(h.k)), make([]float64, len(h.k))
	parallel.EachWith(h.heads/h.group, buffers(1, h.seqKV), func(own [][]float64, kv int64) {
		for r := kv * h.group * h.seqQ; r < (kv+1)*h.group*h.seqQ; r++ {
			row := func(x []float64) []float64 { return x[r*h.n : (r+1)*h.n] }
			delta := dotPlainly(row(h.do), row(h.o))
			for j := range h.scores(own[0], r) {
				key := func(x []float64) []float64 { return x[(kv*h.seqKV+j)*h.n : (kv*h.seqKV+j+1)*h.n] }
				p := math.Exp(own[0][j] - h.lse[r])
				ds := h.scale * p * (dotPlainly(row(h.do), key(h.v)) - delta)
				axpy(row(dq), ds, key(h.k))
				axpy(key(dk), ds, row(h.q))
				axpy(key(dv), p, row(h.do))
			}
		}
	})
	return [][]float64{dq, dk, dv}
}
