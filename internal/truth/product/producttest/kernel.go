package producttest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product"
	"triad/internal/truth/truthtest"
)

// operand is one operand of an emulated product: its rows, matrix after matrix of the batch.
type operand struct {
	rows     [][]float64
	batch, k int
	each     int // rows of one matrix
}

// operandOf reads an operand as the kernel does.
func operandOf(p *truthtest.Prepared, f product.Factor) operand {
	shape, values := p.In[f.Tensor].Shape, p.V[f.Tensor]
	if len(shape) == 1 {
		shape = []int64{1, shape[0]}
	}
	n := len(shape)
	o := operand{batch: 1, each: int(shape[n-2]), k: int(shape[n-1])}
	if n == 3 {
		o.batch = int(shape[0])
	}
	if f.Transposed {
		o.each, o.k = o.k, o.each
	}
	for matrix := range o.batch {
		for r := range o.each {
			at := (matrix*o.each + r) * o.k
			row := values[at : at+o.k : at+o.k]
			if f.Transposed {
				row = make([]float64, o.k)
				for k := range row {
					row[k] = values[(matrix*o.k+k)*o.each+r]
				}
			}
			o.rows = append(o.rows, row)
		}
	}
	return o
}

// mapped returns the operand with every value changed.
func (o operand) mapped(change func(v float64) float64) operand {
	rows := make([][]float64, len(o.rows))
	for r, row := range o.rows {
		rows[r] = make([]float64, len(row))
		for k, v := range row {
			rows[r][k] = change(v)
		}
	}
	o.rows = rows
	return o
}

// transposedWhereSquare reads square matrices transposed, where only the values show it.
func (o operand) transposedWhereSquare() operand {
	if o.each != o.k {
		return o
	}
	rows := make([][]float64, len(o.rows))
	for r := range rows {
		first := r - r%o.each
		rows[r] = make([]float64, o.k)
		for k := range rows[r] {
			rows[r][k] = o.rows[first+k][r%o.each]
		}
	}
	o.rows = rows
	return o
}

// kernel emulates the pass.
func (f *family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	var all [][]float64
	for i, one := range f.operator.Products(f.pass, p.Attrs) {
		left, right := operandOf(p, one.A), operandOf(p, one.B)
		for _, o := range []*operand{&left, &right} {
			switch a.Bug {
			case throughFP8:
				*o = o.mapped(func(v float64) float64 { return tensor.Round(op.E4M3, v, false) })
			case throughTF32:
				*o = o.mapped(truth.TF32)
			}
		}
		switch a.Bug {
		case transposedSquare:
			right = right.transposedWhereSquare()
		case firstTransposed:
			left = left.transposedWhereSquare()
		}
		y := []float64{}
		for _, g := range groupsOf(a.Bug, p, one, left, right) {
			m := &emulation{
				Arithmetic: a, p: p, left: g.left, right: g.right, epilogue: one.Epilogue,
				dtype: p.Plan.Outputs[i].DType,
			}
			y = append(y, g.finished(a.Bug, m.product())...)
		}
		all = append(all, y)
	}
	return all
}

// emulation is one product of a kernel.
type emulation struct {
	truthtest.Arithmetic
	p           *truthtest.Prepared
	left, right operand
	epilogue    product.Epilogue
	dtype       op.DType
	carried     float64 // the initial value of an accumulator that is not zeroed
}

func (e *emulation) product() []float64 {
	m, n := e.left.each, e.right.each
	y := make([]float64, 0, len(e.left.rows)*n)
	for matrix := range e.left.batch {
		for i := range m {
			for j := range n {
				from := matrix
				if e.Bug == firstMatrix {
					from = 0
				}
				inLast := i >= (m-1)/tile*tile && j >= (n-1)/tile*tile
				sum := e.sum(e.left.rows[matrix*m+i], e.right.rows[from*n+j], inLast)
				switch {
				case e.Bug == rowTail && i >= m/tile*tile:
					y = append(y, truthtest.Unwritten)
				case e.Bug == columnTail && j >= n/tile*tile:
					y = append(y, 0)
				default:
					y = append(y, e.finish(sum, len(y)))
				}
			}
		}
	}
	if e.Bug == oneElement && len(y) > 0 {
		y[len(y)/2] *= 1.05
	}
	return y
}

// finish returns the epilogue of one element.
func (e *emulation) finish(sum float64, at int) float64 {
	f32 := truthtest.F32
	alpha := 1.0
	if e.epilogue.Scaled {
		alpha = e.epilogue.Alpha
	}
	switch e.Bug {
	case alphaLarge:
		sum = f32(sum * 1.01)
	case alphaMedium:
		sum = f32(sum * 1.001)
	case alphaSmall:
		sum = f32(sum * 1.0003)
	case alphaIgnored:
		alpha = 1
	}
	adds := e.epilogue.Added != "" && e.p.In[e.epilogue.Added].Elements() > 0
	if !(e.Form == scaled && powerOfTwo(alpha)) { // there alpha is in the operand
		sum = f32(sum * alpha)
	}
	if !adds || e.epilogue.Beta == 0 && e.Bug != addedAlways {
		return sum
	}
	c, beta := e.p.V[e.epilogue.Added][at], e.epilogue.Beta
	switch e.Bug {
	case betaIgnored:
		beta = 1
		if e.epilogue.Beta == 1 {
			return sum // as if nothing were added
		}
	case alphaOnBoth:
		if alpha == 1 {
			alpha = 2
			sum = f32(2 * sum)
		}
		c = f32(alpha * c)
	case roundedEarly:
		sum = tensor.Round(e.dtype, sum, false)
	}
	if e.Fused {
		return f32(sum + beta*c)
	}
	return f32(sum + f32(beta*c))
}

func powerOfTwo(x float64) bool {
	fraction, _ := math.Frexp(math.Abs(x))
	return fraction == 0.5
}

// sum returns the sum of products of two rows; inLast is set for an element in the last tile.
func (e *emulation) sum(x, y []float64, inLast bool) float64 {
	n := len(x)
	switch e.Bug {
	case kTail:
		n = n / tile * tile
	case kLast:
		n = max(n-1, 0)
	case bf16Accumulator, fp16Accumulator:
		d := op.BF16
		if e.Bug == fp16Accumulator {
			d = op.FP16
		}
		return truthtest.SumLow(d, n, func(k int) float64 { return x[k] * y[k] })
	case kTwice:
		sum := truthtest.Sum32(truthtest.InSequence, n, func(k int) float64 { return x[k] * y[k] })
		return truthtest.F32(sum + truthtest.Sum32(truthtest.InSequence, min(n, tile),
			func(k int) float64 { return x[k] * y[k] }))
	case notZeroed:
		sum := truthtest.F32(e.carried +
			truthtest.Sum32(truthtest.InSequence, n, func(k int) float64 { return x[k] * y[k] }))
		if truth.IsFinite(sum) {
			e.carried = sum
		}
		return sum
	case partLost, partLow:
		return e.parts(x, y, inLast)
	}
	switch {
	case e.Other:
		return e.parts(x, y, inLast)
	case e.LowP && e.dtype != op.FP32:
		return tensorCoreSum(e.dtype, x, y)
	case e.Block > 0:
		s := 0.0
		for first := 0; first < n; first += e.Block {
			s = truthtest.F32(s + truthtest.Sum32(truthtest.InSequence, min(e.Block, n-first),
				func(k int) float64 { return x[first+k] * y[first+k] }))
		}
		return s
	case e.Fused:
		s := 0.0
		for k := range n {
			s = truthtest.F32(s + x[k]*y[k])
		}
		return s
	case e.Form == scaled && e.epilogue.Scaled && powerOfTwo(e.epilogue.Alpha):
		return truthtest.Sum32(e.Order, n, func(k int) float64 { return e.epilogue.Alpha * x[k] * y[k] })
	}
	return truthtest.Sum32(e.Order, n, func(k int) float64 { return x[k] * y[k] })
}

// parts adds parts of the sum, each summed by another block.
func (e *emulation) parts(x, y []float64, inLast bool) float64 {
	length := max(1, (len(x)+splits-1)/splits)
	s := 0.0
	for first := 0; first < len(x); first += length {
		last := min(first+length, len(x))
		part := truthtest.Sum32(truthtest.InSequence, last-first,
			func(k int) float64 { return x[first+k] * y[first+k] })
		switch {
		case e.Bug == partLow:
			part = tensor.Round(op.BF16, part, false)
		case e.Bug == partLost && inLast && last == len(x):
			part = 0
		}
		s = truthtest.F32(s + part)
	}
	return s
}

// tensorCoreSum adds 16 products and the accumulator at once, as a tensor core does: each term is cut at the
// last bit of an fp32 number with the largest one's exponent, and the sum to fp32. The exponent of a product
// is the sum of those that its factors store; a subnormal's is that of the smallest normal number.
func tensorCoreSum(d op.DType, x, y []float64) float64 {
	format, _ := tensor.FormatOf(d)
	stored := func(v float64) int { return max(math.Ilogb(v), format.EMin) }
	s := 0.0
	for first := 0; first < len(x); first += tile {
		terms, largest := []float64{s}, math.MinInt
		if s != 0 && truth.IsFinite(s) {
			largest = math.Ilogb(s)
		}
		for k := first; k < min(first+tile, len(x)); k++ {
			terms = append(terms, x[k]*y[k])
			if x[k] != 0 && y[k] != 0 && truth.IsFinite(x[k]*y[k]) {
				largest = max(largest, stored(x[k])+stored(y[k]))
			}
		}
		unit, sum := math.Ldexp(1, max(largest, -900)-24), 0.0
		for _, v := range terms {
			if truth.IsFinite(v) {
				v = math.Trunc(v/unit) * unit
			}
			sum += v
		}
		s = cut(sum)
	}
	return s
}

// cut rounds to fp32 toward zero.
func cut(x float64) float64 {
	y := float32(x)
	if math.IsInf(x, 0) || math.Abs(float64(y)) <= math.Abs(x) || math.IsNaN(x) {
		return float64(y)
	}
	return float64(math.Nextafter32(y, 0))
}
