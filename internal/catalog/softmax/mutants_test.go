package softmax

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{
	{
		Op: "softmax", Pass: op.Forward, Right: truthtest.RowVariants, Kernel: emulated,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "no maximum subtracted"},
			{Number: 2, Name: "maximum starts at 0"},
			{Number: 3, Name: "maximum of the first half"},
			{Number: 4, Name: "maximum of another row"},
			{Number: 5, Name: "tail not written"},
			{Number: 6, Name: "tail not summed"},
			{Number: 7, Name: "last element not summed"},
			{Number: 8, Name: "last warp not summed"},
			{Number: 9, Name: "padding of 0"},
			{Number: 10, Name: "low-precision accumulator"},
			{Number: 11, Name: "exp in bf16"},
			{Number: 12, Name: "reciprocal in bf16"},
			{Number: 13, Name: "exp2 without log2(e)"},
			{Number: 14, Name: "row off by one"},
			{Number: 15, Name: "-5e4 for -inf"},
			{Number: 16, Name: "zeros for a row of -inf"},
			{Number: 17, Name: "logarithm of the softmax"},
			{Number: 18, Name: "a tile of -inf ends the sum"},
		},
	},
	{
		Op: "softmax", Pass: op.Backward, Right: truthtest.RowVariants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "dot missing"},
			{Number: 2, Name: "dot added"},
			{Number: 3, Name: "dot of another row"},
			{Number: 4, Name: "tail missing in the dot"},
			{Number: 5, Name: "last warp missing in the dot"},
			{Number: 6, Name: "low-precision accumulator"},
			{Number: 7, Name: "dot rounded"},
			{Number: 8, Name: "tail not written"},
			{Number: 9, Name: "x for p"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated computes softmax forward.
func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, cols := p.Matrix("x")
	return [][]float64{emulatedRows(a, x, rows, cols, p.Low())}
}

func emulatedRows(a truthtest.Arithmetic, x []float64, rows, cols int, low op.DType) []float64 {
	y := make([]float64, 0, rows*cols)
	rowAt := func(r int) []float64 { return x[r%rows*cols : (r%rows+1)*cols] }
	for r := range rows {
		row := rowAt(r)
		if a.Bug == "row off by one" {
			row = rowAt(r + 1)
		}
		y = append(y, emulatedRow(a, row, rowAt(r+1), low)...)
	}
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(y, rows, cols)
	}
	return y
}

func emulatedRow(a truthtest.Arithmetic, x, next []float64, low op.DType) []float64 {
	m := largest(x)
	switch a.Bug {
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
	if a.Bug == "padding of 0" {
		for range (truthtest.Warp - len(x)%truthtest.Warp) % truthtest.Warp {
			m = math.Max(m, 0)
			padding += a.Exp(truthtest.F32(0 - m))
		}
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = a.Exp(truthtest.F32(v - m))
		switch a.Bug {
		case "exp in bf16":
			y[i] = tensor.Round(op.BF16, y[i], false)
		case "exp2 without log2(e)":
			y[i] = a.Fast(math.Exp2(truthtest.F32(v - m)))
		}
	}
	n := summed(a.Bug, x)
	l := truthtest.F32(a.Sum(n, func(i int) float64 { return y[i] }) + padding)
	if a.Bug == "low-precision accumulator" {
		l = truthtest.SumLow(low, n, func(i int) float64 { return y[i] })
	}
	inverse := a.Fast(1 / l)
	if a.Bug == "reciprocal in bf16" {
		inverse = tensor.Round(op.BF16, inverse, false)
	}
	for i := range y {
		y[i] = truthtest.F32(y[i] * inverse)
		switch {
		case a.Bug == "zeros for a row of -inf" && math.IsInf(m, -1):
			y[i] = 0
		case a.Bug == "logarithm of the softmax":
			y[i] = truthtest.F32(math.Log(y[i]))
		}
	}
	return y
}

// summed returns how many elements of a row a mutant adds up.
func summed(bug string, x []float64) int {
	n := len(x)
	switch bug {
	case "tail not summed":
		return n / truthtest.Vector * truthtest.Vector
	case "last element not summed":
		return max(n-1, 0)
	case "last warp not summed":
		return (n - 1) / truthtest.Warp * truthtest.Warp
	case "a tile of -inf ends the sum":
		return beforeMaskedTile(x)
	}
	return n
}

// beforeMaskedTile returns where the first tile begins that holds only -inf and comes after a finite element,
// or the length of the row: a kernel may take such a tile for the end of a sequence.
func beforeMaskedTile(x []float64) int {
	for at := truthtest.Warp; at < len(x); at += truthtest.Warp {
		tile := x[at:min(at+truthtest.Warp, len(x))]
		if math.IsInf(largest(tile), -1) && !math.IsInf(largest(x[:at]), -1) {
			return at
		}
	}
	return len(x)
}

// largest returns the maximum; NaN wins.
func largest(x []float64) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	return m
}

// emulatedBackward uses y as it is given, or from its own forward.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	dy, rows, cols := p.Matrix("grad_y")
	y := p.V["y"]
	if p.Saved == "own" {
		y = truthtest.RoundedTo(p.In["grad_y"].DType, emulatedRows(a, p.V["x"], rows, cols, p.Low()))
		if a.Bug == "x for p" {
			y = p.V["x"]
		}
	}
	dot := func(r int) float64 {
		r %= rows
		product := func(i int) float64 { return y[r*cols+i] * dy[r*cols+i] }
		n := cols
		switch a.Bug {
		case "tail missing in the dot":
			n = n / truthtest.Vector * truthtest.Vector
		case "last warp missing in the dot":
			n = (n - 1) / truthtest.Warp * truthtest.Warp
		case "low-precision accumulator":
			return truthtest.SumLow(p.Low(), n, product)
		case "dot rounded":
			return tensor.Round(p.Low(), a.Sum(n, product), false)
		}
		return a.Sum(n, product)
	}
	dx := make([]float64, rows*cols)
	for r := range rows {
		d := dot(r)
		switch a.Bug {
		case "dot missing":
			d = 0
		case "dot added":
			d = -d
		case "dot of another row":
			d = dot(r + 1)
		}
		for i := r * cols; i < (r+1)*cols; i++ {
			dx[i] = truthtest.F32(y[i] * truthtest.F32(dy[i]-d))
		}
	}
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(dx, rows, cols)
	}
	return [][]float64{dx}
}
