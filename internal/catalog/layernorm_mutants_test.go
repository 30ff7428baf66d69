package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// layernormVariants add Welford's running mean and variance (other).
var layernormVariants = append([]arithmetic{}, append(rowVariants, arithmetic{order: inLanes, other: true})...)

var _ = scored([]suite{
	{op: "layernorm", pass: op.Forward, right: layernormVariants, kernel: emulatedLayernorm, mutants: []mutant{
		{1, "variance over n-1", nil},
		{2, "eps outside the root", nil},
		{3, "eps missing", nil},
		{4, "maximum of variance and eps", nil},
		{5, "eps a tenth", nil},
		{6, "variance in one pass", nil},
		{7, "low-precision accumulator", nil},
		{8, "bias missing", nil},
		{9, "weight plus 1", nil},
		{10, "mean over padded n", nil},
		{11, "tail not reduced", nil},
		{12, "tail not written", nil},
		{13, "rstd of another row", nil},
		{14, "variance not centred", nil},
		{15, "mean not subtracted", nil},
	}},
	{op: "layernorm", pass: op.Backward, right: layernormVariants, kernel: emulatedLayernormBackward, mutants: []mutant{
		{1, "mean term missing", nil},
		{2, "xhat term missing", nil},
		{3, "grad_weight from x", nil},
		{4, "last row block dropped", nil},
		{5, "grad_weight and grad_bias in a low-precision accumulator", nil},
		{6, "one atomic update lost", nil},
		{7, "grad_x ignores weight", nil},
		{8, "means over n-1", nil},
		{9, "grad_bias times weight", nil},
		{10, "rstd of another row", nil},
		{11, "partial sums in bf16", nil},
		{12, "rstd recomputed without eps", nil},
	}},
})

func emulatedLayernorm(a arithmetic, p *prepared) [][]float64 {
	y, mean, rstd := a.layernorm(p)
	return [][]float64{y, mean, rstd}
}

func (a arithmetic) layernorm(p *prepared) (y, means, rstds []float64) {
	x, rows, cols := p.matrix("x")
	weight, bias := p.v["weight"], p.v["bias"]
	y, means, rstds = make([]float64, rows*cols), make([]float64, rows), make([]float64, rows)
	for r := range rows {
		means[r], rstds[r] = a.statistics(x[r*cols:(r+1)*cols], p.Attrs.Number("eps"), p.low())
	}
	for r := range rows {
		mean, rstd := means[r], rstds[r]
		switch a.bug {
		case "rstd of another row":
			rstd = rstds[(r+1)%rows]
		case "mean not subtracted":
			mean = 0
		}
		for c := range cols {
			w, i := weight[c], r*cols+c
			if a.bug == "weight plus 1" {
				w = f32(w + 1)
			}
			y[i] = f32(f32(f32(x[i]-mean)*rstd) * w)
			if a.bug != "bias missing" && bias != nil {
				y[i] = f32(y[i] + bias[c])
			}
		}
	}
	if a.bug == "tail not written" {
		leaveTail(y, rows, cols)
	}
	return y, means, rstds
}

// statistics are mean and rstd of a row, in two passes or by Welford's recurrence.
func (a arithmetic) statistics(x []float64, eps float64, low op.DType) (mean, rstd float64) {
	n, count := len(x), float64(len(x))
	sum := a.sum
	switch a.bug {
	case "low-precision accumulator":
		sum = func(n int, f func(i int) float64) float64 { return sumLow(low, n, f) }
	case "tail not reduced":
		n = n / vector * vector
	}
	mean = f32(sum(n, func(i int) float64 { return x[i] }) / count)
	if a.bug == "mean over padded n" {
		mean = f32(mean * count / float64((len(x)+warp-1)/warp*warp))
	}
	centre := mean
	if a.bug == "variance not centred" {
		centre = 0
	}
	square := func(i int) float64 { return f32(x[i]-centre) * f32(x[i]-centre) }
	if a.bug == "variance over n-1" {
		count--
	}
	variance := f32(sum(n, square) / count)
	switch {
	case a.bug == "variance in one pass":
		variance = f32(f32(sum(n, func(i int) float64 { return f32(x[i] * x[i]) })/count) - f32(mean*mean))
	case a.other && isFinite(mean): // after an infinity the recurrence would give NaN where the mean is infinite
		mean, variance = welford(x)
	}
	inside := f32(variance + eps)
	switch a.bug {
	case "eps outside the root":
		return mean, a.fast(1 / f32(math.Sqrt(variance)+eps))
	case "eps missing":
		inside = variance
	case "maximum of variance and eps":
		inside = math.Max(variance, eps)
	case "eps a tenth":
		inside = f32(variance + eps/10)
	}
	return mean, a.fast(1 / math.Sqrt(inside))
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

// partialRows is how many rows one partial sum of grad_weight and grad_bias has.
const partialRows = 16

// emulatedLayernormBackward takes mean and rstd as they are given, or from its own forward.
func emulatedLayernormBackward(a arithmetic, p *prepared) [][]float64 {
	x, rows, cols := p.matrix("x")
	weight, dy, means, rstds := p.v["weight"], p.v["grad_y"], p.v["mean"], p.v["rstd"]
	right := a
	right.bug = ""
	if p.Saved == "own" {
		_, means, rstds = right.layernorm(p)
	}
	if a.bug == "rstd recomputed without eps" {
		rstds = make([]float64, rows)
		for r := range rows {
			_, rstds[r] = right.statistics(x[r*cols:(r+1)*cols], 0, p.low())
		}
	}
	dx, xhat := make([]float64, rows*cols), make([]float64, rows*cols)
	for r := range rows {
		rstd := rstds[r]
		if a.bug == "rstd of another row" {
			rstd = rstds[(r+1)%rows]
		}
		a.layernormGradient(dx[r*cols:(r+1)*cols], xhat[r*cols:(r+1)*cols], x[r*cols:(r+1)*cols], weight, dy[r*cols:(r+1)*cols], means[r], rstd)
	}
	factor := xhat
	if a.bug == "grad_weight from x" {
		factor = x
	}
	dweight, dbias := make([]float64, cols), make([]float64, cols)
	for c := range cols {
		lost := a.bug == "one atomic update lost" && c == cols-1
		dweight[c] = a.overRows(rows, lost, p.low(), func(r int) float64 { return f32(dy[r*cols+c] * factor[r*cols+c]) })
		dbias[c] = a.overRows(rows, false, p.low(), func(r int) float64 { return dy[r*cols+c] })
		if a.bug == "grad_bias times weight" {
			dbias[c] = f32(dbias[c] * weight[c])
		}
	}
	return [][]float64{dx, dweight, dbias}
}

// layernormGradient fills one row of grad_x and of the normalised values.
func (a arithmetic) layernormGradient(dx, xhat, x, weight, dy []float64, mean, rstd float64) {
	n := len(x)
	wdy := make([]float64, n)
	for i := range x {
		xhat[i], wdy[i] = f32(f32(x[i]-mean)*rstd), f32(weight[i]*dy[i])
		if a.bug == "grad_x ignores weight" {
			wdy[i] = dy[i]
		}
	}
	count := float64(n)
	if a.bug == "means over n-1" {
		count--
	}
	c1 := f32(a.sum(n, func(i int) float64 { return wdy[i] }) / count)
	c2 := f32(a.sum(n, func(i int) float64 { return f32(wdy[i] * xhat[i]) }) / count)
	switch a.bug {
	case "mean term missing":
		c1 = 0
	case "xhat term missing":
		c2 = 0
	}
	for i := range x {
		dx[i] = f32(rstd * f32(f32(wdy[i]-c1)-f32(xhat[i]*c2)))
	}
}

// overRows sums over the rows in two stages: blocks of rows, then the partial sums.
func (a arithmetic) overRows(rows int, lost bool, low op.DType, f func(r int) float64) float64 {
	if a.bug == "grad_weight and grad_bias in a low-precision accumulator" {
		return sumLow(low, rows, f)
	}
	blocks := (rows + partialRows - 1) / partialRows
	if a.bug == "last row block dropped" {
		blocks--
	}
	return a.sum(max(blocks, 0), func(b int) float64 {
		first, n := b*partialRows, min(partialRows, rows-b*partialRows)
		sum := a.sum(n, func(i int) float64 { return f(first + i) })
		switch {
		case a.bug == "partial sums in bf16":
			return tensor.Round(op.BF16, sum, false)
		case lost && b == 0:
			return 0
		}
		return sum
	})
}
