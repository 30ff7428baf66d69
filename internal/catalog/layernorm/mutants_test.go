package layernorm

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// variants add Welford's running mean and variance (other).
var variants = append([]truthtest.Arithmetic{}, append(truthtest.RowVariants,
	truthtest.Arithmetic{Order: truthtest.InLanes, Other: true})...)

var suites = []truthtest.Suite{
	{Op: "layernorm", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "variance over n-1"},
		{Number: 2, Name: "eps outside the root"},
		{Number: 3, Name: "eps missing"},
		{Number: 4, Name: "maximum of variance and eps"},
		{Number: 5, Name: "eps a tenth"},
		{Number: 6, Name: "variance in one pass"},
		{Number: 7, Name: "low-precision accumulator"},
		{Number: 8, Name: "bias missing"},
		{Number: 9, Name: "weight plus 1"},
		{Number: 10, Name: "mean over padded n"},
		{Number: 11, Name: "tail not reduced"},
		{Number: 12, Name: "tail not written"},
		{Number: 13, Name: "rstd of another row"},
		{Number: 14, Name: "variance not centred"},
		{Number: 15, Name: "mean not subtracted"},
	}},
	{
		Op: "layernorm", Pass: op.Backward, Right: variants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "mean term missing"},
			{Number: 2, Name: "xhat term missing"},
			{Number: 3, Name: "grad_weight from x"},
			{Number: 4, Name: "last row block dropped"},
			{Number: 5, Name: "grad_weight and grad_bias in a low-precision accumulator"},
			{Number: 6, Name: "one atomic update lost"},
			{Number: 7, Name: "grad_x ignores weight"},
			{Number: 8, Name: "means over n-1"},
			{Number: 9, Name: "grad_bias times weight"},
			{Number: 10, Name: "rstd of another row"},
			{Number: 11, Name: "partial sums in bf16"},
			{Number: 12, Name: "rstd recomputed without eps"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	y, mean, rstd := normalize(a, p)
	return [][]float64{y, mean, rstd}
}

func normalize(a truthtest.Arithmetic, p *truthtest.Prepared) (y, means, rstds []float64) {
	x, rows, cols := p.Matrix("x")
	weight, bias := p.V["weight"], p.V["bias"]
	y, means, rstds = make([]float64, rows*cols), make([]float64, rows), make([]float64, rows)
	for r := range rows {
		means[r], rstds[r] = statistics(a, x[r*cols:(r+1)*cols], p.Attrs.Number("eps"), p.Low())
	}
	for r := range rows {
		mean, rstd := means[r], rstds[r]
		switch a.Bug {
		case "rstd of another row":
			rstd = rstds[(r+1)%rows]
		case "mean not subtracted":
			mean = 0
		}
		for c := range cols {
			w, i := weight[c], r*cols+c
			if a.Bug == "weight plus 1" {
				w = truthtest.F32(w + 1)
			}
			y[i] = truthtest.F32(truthtest.F32(truthtest.F32(x[i]-mean)*rstd) * w)
			if a.Bug != "bias missing" && bias != nil {
				y[i] = truthtest.F32(y[i] + bias[c])
			}
		}
	}
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(y, rows, cols)
	}
	return y, means, rstds
}

// statistics are mean and rstd of a row, in two passes or by Welford's recurrence.
func statistics(a truthtest.Arithmetic, x []float64, eps float64, low op.DType) (mean, rstd float64) {
	n, count := len(x), float64(len(x))
	sum := a.Sum
	switch a.Bug {
	case "low-precision accumulator":
		sum = func(n int, f func(i int) float64) float64 { return truthtest.SumLow(low, n, f) }
	case "tail not reduced":
		n = n / truthtest.Vector * truthtest.Vector
	}
	mean = truthtest.F32(sum(n, func(i int) float64 { return x[i] }) / count)
	if a.Bug == "mean over padded n" {
		mean = truthtest.F32(mean * count / float64((len(x)+truthtest.Warp-1)/truthtest.Warp*truthtest.Warp))
	}
	centre := mean
	if a.Bug == "variance not centred" {
		centre = 0
	}
	square := func(i int) float64 { return truthtest.F32(x[i]-centre) * truthtest.F32(x[i]-centre) }
	if a.Bug == "variance over n-1" {
		count--
	}
	variance := truthtest.F32(sum(n, square) / count)
	switch {
	case a.Bug == "variance in one pass":
		variance = truthtest.F32(truthtest.F32(sum(n,
			func(i int) float64 { return truthtest.F32(x[i] * x[i]) })/count) - truthtest.F32(mean*mean))
	case a.Other && truth.IsFinite(mean):
		// after an infinity the recurrence would give NaN where the mean is infinite
		mean, variance = welford(x)
	}
	inside := truthtest.F32(variance + eps)
	switch a.Bug {
	case "eps outside the root":
		return mean, a.Fast(1 / truthtest.F32(math.Sqrt(variance)+eps))
	case "eps missing":
		inside = variance
	case "maximum of variance and eps":
		inside = math.Max(variance, eps)
	case "eps a tenth":
		inside = truthtest.F32(variance + eps/10)
	}
	return mean, a.Fast(1 / math.Sqrt(inside))
}

// welford is mean and variance by the running recurrence (Welford 1962).
func welford(x []float64) (mean, variance float64) {
	var m, square float32
	for i, v := range x {
		d := float32(v) - m
		m += d / float32(i+1)
		square += d * (float32(v) - m)
	}
	return float64(m), float64(square / float32(len(x)))
}

// emulatedBackward takes mean and rstd as they are given, or from its own forward.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, cols := p.Matrix("x")
	weight, dy, means, rstds := p.V["weight"], p.V["grad_y"], p.V["mean"], p.V["rstd"]
	right := a
	right.Bug = ""
	if p.Saved == "own" {
		_, means, rstds = normalize(right, p)
	}
	if a.Bug == "rstd recomputed without eps" {
		rstds = make([]float64, rows)
		for r := range rows {
			_, rstds[r] = statistics(right, x[r*cols:(r+1)*cols], 0, p.Low())
		}
	}
	dx, xhat := make([]float64, rows*cols), make([]float64, rows*cols)
	for r := range rows {
		rstd := rstds[r]
		if a.Bug == "rstd of another row" {
			rstd = rstds[(r+1)%rows]
		}
		gradient(a, dx[r*cols:(r+1)*cols], xhat[r*cols:(r+1)*cols], x[r*cols:(r+1)*cols], weight,
			dy[r*cols:(r+1)*cols], means[r], rstd)
	}
	factor := xhat
	if a.Bug == "grad_weight from x" {
		factor = x
	}
	dweight, dbias := make([]float64, cols), make([]float64, cols)
	for c := range cols {
		lost := a.Bug == "one atomic update lost" && c == cols-1
		dweight[c] = a.OverRows(rows, lost, p.Low(),
			func(r int) float64 { return truthtest.F32(dy[r*cols+c] * factor[r*cols+c]) })
		dbias[c] = a.OverRows(rows, false, p.Low(), func(r int) float64 { return dy[r*cols+c] })
		if a.Bug == "grad_bias times weight" {
			dbias[c] = truthtest.F32(dbias[c] * weight[c])
		}
	}
	return [][]float64{dx, dweight, dbias}
}

// gradient fills one row of grad_x and of the normalised values.
func gradient(a truthtest.Arithmetic, dx, xhat, x, weight, dy []float64, mean, rstd float64) {
	n := len(x)
	wdy := make([]float64, n)
	for i := range x {
		xhat[i], wdy[i] = truthtest.F32(truthtest.F32(x[i]-mean)*rstd), truthtest.F32(weight[i]*dy[i])
		if a.Bug == "grad_x ignores weight" {
			wdy[i] = dy[i]
		}
	}
	count := float64(n)
	if a.Bug == "means over n-1" {
		count--
	}
	c1 := truthtest.F32(a.Sum(n, func(i int) float64 { return wdy[i] }) / count)
	c2 := truthtest.F32(a.Sum(n, func(i int) float64 { return truthtest.F32(wdy[i] * xhat[i]) }) / count)
	switch a.Bug {
	case "mean term missing":
		c1 = 0
	case "xhat term missing":
		c2 = 0
	}
	for i := range x {
		dx[i] = truthtest.F32(rstd * truthtest.F32(truthtest.F32(wdy[i]-c1)-truthtest.F32(xhat[i]*c2)))
	}
}
