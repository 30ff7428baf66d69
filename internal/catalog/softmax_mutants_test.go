package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// rowVariants are the orders of sums of a right row kernel, and one with fast functions.
var rowVariants = []arithmetic{{order: inLanes}, {order: inSequence}, {order: inPairs}, {order: inBlocks}, {order: inLanes, noisy: true}}

var _ = scored([]suite{
	{op: "softmax", pass: op.Forward, right: rowVariants, kernel: emulatedSoftmax, mutants: []mutant{
		{1, "no maximum subtracted", nil},
		{2, "maximum starts at 0", nil},
		{3, "maximum of the first half", nil},
		{4, "maximum of another row", nil},
		{5, "tail not written", nil},
		{6, "tail not summed", nil},
		{7, "last element not summed", nil},
		{8, "last warp not summed", nil},
		{9, "padding of 0", nil},
		{10, "low-precision accumulator", nil},
		{11, "exp in bf16", nil},
		{12, "reciprocal in bf16", nil},
		{13, "exp2 without log2(e)", nil},
		{14, "row off by one", nil},
		{15, "-5e4 for -inf", nil},
		{16, "zeros for a row of -inf", nil},
		{17, "logarithm of the softmax", nil},
	}},
	{op: "softmax", pass: op.Backward, right: rowVariants, kernel: emulatedSoftmaxBackward, mutants: []mutant{
		{1, "dot missing", nil},
		{2, "dot added", nil},
		{3, "dot of another row", nil},
		{4, "tail missing in the dot", nil},
		{5, "last warp missing in the dot", nil},
		{6, "low-precision accumulator", nil},
		{7, "dot rounded", nil},
		{8, "tail not written", nil},
		{9, "x for p", nil},
	}},
})

// emulatedSoftmax is softmax forward.
func emulatedSoftmax(a arithmetic, p *prepared) [][]float64 {
	x, rows, cols := p.matrix("x")
	return [][]float64{a.softmax(x, rows, cols, p.low())}
}

func (a arithmetic) softmax(x []float64, rows, cols int, low op.DType) []float64 {
	y := make([]float64, 0, rows*cols)
	rowAt := func(r int) []float64 { return x[r%rows*cols : (r%rows+1)*cols] }
	for r := range rows {
		row := rowAt(r)
		if a.bug == "row off by one" {
			row = rowAt(r + 1)
		}
		y = append(y, a.softmaxRow(row, rowAt(r+1), low)...)
	}
	if a.bug == "tail not written" {
		leaveTail(y, rows, cols)
	}
	return y
}

func (a arithmetic) softmaxRow(x, next []float64, low op.DType) []float64 {
	m := largest(x)
	switch a.bug {
	case "no maximum subtracted":
		m = 0
	case "maximum starts at 0":
		m = math.Max(m, 0)
	case "maximum of the first half":
		m = largest(x[:(len(x)+1)/2])
	case "maximum of another row":
		m = largest(next)
	case "-5e4 for -inf":
		m = math.Max(m, -5e4)
	}
	padding := 0.0
	if a.bug == "padding of 0" {
		for range (warp - len(x)%warp) % warp {
			m = math.Max(m, 0)
			padding += a.exp(f32(0 - m))
		}
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = a.exp(f32(v - m))
		switch a.bug {
		case "exp in bf16":
			y[i] = tensor.Round(op.BF16, y[i], false)
		case "exp2 without log2(e)":
			y[i] = a.fast(math.Exp2(f32(v - m)))
		}
	}
	n := len(y)
	switch a.bug {
	case "tail not summed":
		n = n / vector * vector
	case "last element not summed":
		n = max(n-1, 0)
	case "last warp not summed":
		n = (n - 1) / warp * warp
	}
	l := f32(a.sum(n, func(i int) float64 { return y[i] }) + padding)
	if a.bug == "low-precision accumulator" {
		l = sumLow(low, n, func(i int) float64 { return y[i] })
	}
	inverse := a.fast(1 / l)
	if a.bug == "reciprocal in bf16" {
		inverse = tensor.Round(op.BF16, inverse, false)
	}
	for i := range y {
		y[i] = f32(y[i] * inverse)
		switch {
		case a.bug == "zeros for a row of -inf" && math.IsInf(m, -1):
			y[i] = 0
		case a.bug == "logarithm of the softmax":
			y[i] = f32(math.Log(y[i]))
		}
	}
	return y
}

// largest is the maximum; NaN wins.
func largest(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	return m
}

// emulatedSoftmaxBackward takes y as it is given, or from its own forward.
func emulatedSoftmaxBackward(a arithmetic, p *prepared) [][]float64 {
	dy, rows, cols := p.matrix("grad_y")
	y := p.v["y"]
	if p.Saved == "own" {
		y = roundedTo(p.in["grad_y"].DType, a.softmax(p.v["x"], rows, cols, p.low()))
		if a.bug == "x for p" {
			y = p.v["x"]
		}
	}
	dot := func(r int) float64 {
		r %= rows
		product := func(i int) float64 { return y[r*cols+i] * dy[r*cols+i] }
		n := cols
		switch a.bug {
		case "tail missing in the dot":
			n = n / vector * vector
		case "last warp missing in the dot":
			n = (n - 1) / warp * warp
		case "low-precision accumulator":
			return sumLow(p.low(), n, product)
		case "dot rounded":
			return tensor.Round(p.low(), a.sum(n, product), false)
		}
		return a.sum(n, product)
	}
	dx := make([]float64, rows*cols)
	for r := range rows {
		d := dot(r)
		switch a.bug {
		case "dot missing":
			d = 0
		case "dot added":
			d = -d
		case "dot of another row":
			d = dot(r + 1)
		}
		for i := r * cols; i < (r+1)*cols; i++ {
			dx[i] = f32(y[i] * f32(dy[i]-d))
		}
	}
	if a.bug == "tail not written" {
		leaveTail(dx, rows, cols)
	}
	return [][]float64{dx}
}
