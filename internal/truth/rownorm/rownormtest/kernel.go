package rownormtest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/rownorm"
	"triad/internal/truth/truthtest"
)

// sums returns the rows of s in fp32, as a kernel adds them.
func (f family) sums(a truthtest.Arithmetic, p *truthtest.Prepared) []float64 {
	x := p.V["x"]
	if !f.Adds(p.Case) || a.Bug == residualMissing {
		return x
	}
	s := make([]float64, len(x))
	for i, v := range p.V["residual"] {
		s[i] = truthtest.F32(x[i] + v)
	}
	if a.Bug == sumStored {
		return truthtest.RoundedTo(p.In["x"].DType, s)
	}
	return s
}

func (f family) forward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	y, means, rstds := f.normalize(a, p)
	all := [][]float64{y}
	if f.Centred {
		all = append(all, means)
	}
	all = append(all, rstds)
	switch {
	case !f.Residual:
	case !f.Adds(p.Case):
		all = append(all, nil)
	case a.Bug == hOfX:
		all = append(all, p.V["x"])
	default:
		all = append(all, f.sums(truthtest.Arithmetic{}, p))
	}
	return all
}

func (f family) normalize(a truthtest.Arithmetic, p *truthtest.Prepared) (y, means, rstds []float64) {
	_, rows, cols := p.Matrix("x")
	s := f.sums(a, p)
	y, means, rstds = make([]float64, rows*cols), make([]float64, rows), make([]float64, rows)
	for r := range rows {
		means[r], rstds[r] = Statistics(f.Operator, a, s[r*cols:(r+1)*cols], p.Attrs.Number("eps"), p.Low())
	}
	for r := range rows {
		mean, rstd := means[r], rstds[r]
		switch a.Bug {
		case otherRow:
			rstd = rstds[(r+1)%rows]
		case meanKept:
			mean = 0
		case meanTaken:
			mean = truthtest.F32(a.Sum(cols, func(i int) float64 { return s[r*cols+i] }) / float64(cols))
		}
		for c := range cols {
			i := r*cols + c
			y[i] = f.affine(a, p, truthtest.F32(truthtest.F32(s[i]-mean)*rstd), c)
		}
	}
	if a.Bug == tailUnwritten {
		truthtest.LeaveTail(y, rows, cols)
	}
	return y, means, rstds
}

// affine returns one element of y.
func (f family) affine(a truthtest.Arithmetic, p *truthtest.Prepared, xhat float64, c int) float64 {
	if a.Bug == castFirst {
		xhat = tensor.Round(p.In["x"].DType, xhat, false)
	}
	y := truthtest.F32(xhat * weightOf(a, p, c))
	if f.Bias && a.Bug != biasMissing {
		y = truthtest.F32(y + p.V["bias"][c])
	}
	return y
}

func weightOf(a truthtest.Arithmetic, p *truthtest.Prepared, c int) float64 {
	if a.Bug == weightPlusOne {
		return truthtest.F32(p.V["weight"][c] + 1)
	}
	return p.V["weight"][c]
}

// Statistics returns mean and rstd of a row, in two passes or, with Other, by Welford's recurrence. The mean
// is 0 where none is subtracted.
func Statistics(o rownorm.Operator, a truthtest.Arithmetic, x []float64, eps float64, low op.DType) (mean,
	rstd float64,
) {
	n, count := len(x), float64(len(x))
	sum := a.Sum
	switch a.Bug {
	case lowSum:
		sum = func(n int, f func(i int) float64) float64 { return truthtest.SumLow(low, n, f) }
	case tailUnsummed:
		n = n / truthtest.Vector * truthtest.Vector
	}
	whole := float64((len(x) + truthtest.Warp - 1) / truthtest.Warp * truthtest.Warp)
	if o.Centred {
		mean = truthtest.F32(sum(n, func(i int) float64 { return x[i] }) / count)
		if a.Bug == padded {
			mean = truthtest.F32(mean * count / whole)
		}
	}
	centre := mean
	if a.Bug == notCentred {
		centre = 0
	}
	square := func(i int) float64 { return truthtest.F32(x[i]-centre) * truthtest.F32(x[i]-centre) }
	switch {
	case a.Bug == countLess:
		count--
	case a.Bug == padded && !o.Centred:
		count = whole
	case a.Bug == sumNotMean:
		count = 1
	}
	variance := truthtest.F32(sum(n, square) / count)
	switch {
	case a.Bug == onePass:
		variance = truthtest.F32(truthtest.F32(sum(n,
			func(i int) float64 { return truthtest.F32(x[i] * x[i]) })/count) - truthtest.F32(mean*mean))
	case a.Other && truth.IsFinite(mean):
		// after an infinity the recurrence would return NaN where the mean is infinite
		mean, variance = welford(x)
	}
	return mean, root(a, variance, eps)
}

// root returns rstd, with the four mistakes of an eps.
func root(a truthtest.Arithmetic, variance, eps float64) float64 {
	inside := truthtest.F32(variance + eps)
	switch a.Bug {
	case epsOutside:
		return a.Fast(1 / truthtest.F32(math.Sqrt(variance)+eps))
	case epsMissing:
		inside = variance
	case epsMaximum:
		inside = math.Max(variance, eps)
	case epsTenth:
		inside = truthtest.F32(variance + eps/10)
	}
	return a.Fast(1 / math.Sqrt(inside))
}

// welford returns mean and variance by the running recurrence (Welford 1962).
func welford(x []float64) (mean, variance float64) {
	var m, square float32
	for i, v := range x {
		d := float32(v) - m
		m += d / float32(i+1)
		square += d * (float32(v) - m)
	}
	return float64(m), float64(square / float32(len(x)))
}

// backward uses mean and rstd as they are given, or from its own forward.
func (f family) backward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	_, rows, cols := p.Matrix("x")
	s, dy, means, rstds := f.sums(a, p), p.V["grad_y"], p.V["mean"], p.V["rstd"]
	right := a
	right.Bug = ""
	if p.Saved == "own" {
		_, means, rstds = f.normalize(right, p)
	}
	if means == nil {
		means = make([]float64, rows)
	}
	if a.Bug == rstdWithoutEps {
		rstds = make([]float64, rows)
		for r := range rows {
			_, rstds[r] = Statistics(f.Operator, right, s[r*cols:(r+1)*cols], 0, p.Low())
		}
	}
	ds, xhat := make([]float64, rows*cols), make([]float64, rows*cols)
	for r := range rows {
		rstd := rstds[r]
		if a.Bug == otherRow {
			rstd = rstds[(r+1)%rows]
		}
		g := rowGradient{ds[r*cols : (r+1)*cols], xhat[r*cols : (r+1)*cols], s[r*cols : (r+1)*cols]}
		f.gradient(a, p, g, dy[r*cols:(r+1)*cols], means[r], rstd)
	}
	all := f.gradRows(a, p, ds)
	factor := xhat
	switch a.Bug {
	case factorX:
		factor = s
	case castFirst:
		factor = truthtest.RoundedTo(p.In["x"].DType, xhat)
	}
	return append(all, f.gradParameters(a, p, factor)...)
}

// gradRows returns grad_x and grad_residual: the gradient of s through the norm, and grad_h.
func (f family) gradRows(a truthtest.Arithmetic, p *truthtest.Prepared, ds []float64) [][]float64 {
	switch {
	case !f.Residual:
		return [][]float64{ds}
	case !f.Adds(p.Case):
		return [][]float64{ds, nil}
	case a.Bug == gradHMissing:
		return [][]float64{ds, ds}
	}
	if a.Bug == gradHRounded {
		ds = truthtest.RoundedTo(p.In["x"].DType, ds)
	}
	dx := make([]float64, len(ds))
	for i, v := range p.V["grad_h"] {
		dx[i] = truthtest.F32(ds[i] + v)
	}
	if a.Bug == gradHOnce {
		return [][]float64{dx, ds}
	}
	return [][]float64{dx, dx}
}

// gradParameters returns grad_weight, and grad_bias where there is a bias.
func (f family) gradParameters(a truthtest.Arithmetic, p *truthtest.Prepared, factor []float64) [][]float64 {
	_, rows, cols := p.Matrix("x")
	dy := p.V["grad_y"]
	dweight, dbias := make([]float64, cols), make([]float64, cols)
	for c := range cols {
		lost := a.Bug == updateLost && c == cols-1
		dweight[c] = a.OverRows(rows, lost, p.Low(), func(r int) float64 {
			term := truthtest.F32(dy[r*cols+c] * factor[r*cols+c])
			if a.Bug == castFirst {
				term = tensor.Round(p.In["x"].DType, term, false)
			}
			return term
		})
		dbias[c] = a.OverRows(rows, false, p.Low(), func(r int) float64 { return dy[r*cols+c] })
		if a.Bug == biasTimesWeight {
			dbias[c] = truthtest.F32(dbias[c] * p.V["weight"][c])
		}
	}
	if !f.Bias {
		return [][]float64{dweight}
	}
	return [][]float64{dweight, dbias}
}

// rowGradient is one row: the gradient of s and the normalised values, which are filled, and s.
type rowGradient struct{ ds, xhat, s []float64 }

func (f family) gradient(a truthtest.Arithmetic, p *truthtest.Prepared, g rowGradient, dy []float64, mean,
	rstd float64,
) {
	n := len(g.s)
	wdy := make([]float64, n)
	for i := range g.s {
		g.xhat[i] = truthtest.F32(truthtest.F32(g.s[i]-mean) * rstd)
		wdy[i] = truthtest.F32(weightOf(a, p, i) * dy[i])
		switch a.Bug {
		case weightIgnored:
			wdy[i] = dy[i]
		case castFirst:
			wdy[i] = tensor.Round(p.In["x"].DType, wdy[i], false)
		}
	}
	count := float64(n)
	if a.Bug == countLess {
		count--
	}
	c1 := 0.0
	if f.Centred && a.Bug != meanTermMissing {
		c1 = truthtest.F32(a.Sum(n, func(i int) float64 { return wdy[i] }) / count)
	}
	c2 := truthtest.F32(a.Sum(n, func(i int) float64 { return truthtest.F32(wdy[i] * g.xhat[i]) }) / count)
	if a.Bug == xhatTermMissing {
		c2 = 0
	}
	for i := range g.ds {
		g.ds[i] = truthtest.F32(rstd * truthtest.F32(truthtest.F32(wdy[i]-c1)-truthtest.F32(g.xhat[i]*c2)))
	}
}
