package rownorm

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that follow from the statement (gate G6).
func (o Operator) relations() []truth.Relation {
	nonEmpty := truth.HasElements(1, "rows")
	var all []truth.Relation
	if o.Centred {
		all = append(all, truth.Relation{
			Name: "what each row is normalised to has mean 0", Pass: op.Forward, Outputs: []string{"y"},
			Applies: nonEmpty, States: o.rowMean,
		})
	}
	all = append(all, truth.Relation{
		Name: o.momentName(), Pass: op.Forward, Outputs: []string{"y"}, Applies: nonEmpty,
		States: o.rowVariance,
	})
	if o.Centred {
		all = append(all, truth.Relation{
			Name: "adding 16 to every input changes nothing", Pass: op.Forward,
			Outputs: []string{"y", "rstd"}, Applies: nonEmpty, Base: truth.CoarseInputs("x"),
			Second: truth.Shifted("x"), States: truth.SamePlaces,
		})
	}
	all = append(all,
		truth.Relation{
			Name: "inputs times 4 with eps times 16 change nothing", Pass: op.Forward, Outputs: []string{"y"},
			Applies: nonEmpty, Second: o.scaledWithEps, States: truth.SamePlaces,
		},
		truth.Relation{
			Name: "permuting the columns permutes the outputs", Pass: op.Forward, Outputs: []string{"y"},
			Applies: nonEmpty, States: truth.ReversedPlaces,
			Second: func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
				return truth.Reversed(append(o.Rows(c), o.Parameters()...)...)(c, first)
			},
		},
		truth.Relation{
			Name: "a row alone gives what it gives among others", Pass: op.Forward,
			Outputs: append([]string{"y"}, o.Statistics()...), Applies: truth.RowsAndColumns,
			Second: func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
				return truth.LastRow(o.Rows(c)...)(c, first)
			},
			States: truth.LastRowPlaces,
		},
	)
	if o.Centred {
		all = append(all, truth.Relation{
			Name: "the gradients of each row add up to 0", Pass: op.Backward, Outputs: []string{"grad_x"},
			Applies: func(c op.Case) bool { return nonEmpty(c) && !o.Adds(c) }, States: gradientCancels,
		})
	}
	return append(all, truth.Relation{
		Name: "a doubled upstream gradient doubles the gradients", ToTheBit: true, Pass: op.Backward,
		Outputs: o.Gradients(op.Case{}), Applies: nonEmpty,
		Second: func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
			return truth.ScaledBy(2, o.Upstream(c)...)(c, first)
		},
		States: truth.Scales(2),
	})
}

func (o Operator) momentName() string {
	if o.Centred {
		return "what each row is normalised to has variance v/(v+eps)"
	}
	return "what each row is normalised to has mean square v/(v+eps)"
}

// normalisedRows returns (y - bias) / weight of every element with its possible error; where a weight is 0
// nothing of the element is left, and the input determines it.
func (o Operator) normalisedRows(a *truth.Related, output string) (xhat, off func(i int64) float64,
	v []float64,
) {
	y, shape := a.First.Out(output), a.First.Target(output).Shape
	x, weight := a.First.In("x"), a.First.In("weight")
	if o.Adds(a.First.Case) {
		x = slices.Clone(x)
		for i, v := range a.First.In("residual") {
			x[i] += v
		}
	}
	bias := make([]float64, len(weight))
	if o.Bias {
		bias = a.First.In("bias")
	}
	eps, _ := a.First.Attrs.Lookup("eps")
	if a.Failed() {
		return nil, nil, nil
	}
	cols := shape[1]
	mean, rstd := make([]float64, shape[0]), make([]float64, shape[0])
	v = make([]float64, shape[0])
	for r := range v {
		row := x[int64(r)*cols : int64(r+1)*cols]
		if o.Centred {
			mean[r] = truth.SumOf(len(row), func(i int) float64 { return row[i] }) / float64(cols)
		}
		variance := truth.SumOf(len(row),
			func(i int) float64 { return (row[i] - mean[r]) * (row[i] - mean[r]) }) / float64(cols)
		v[r], rstd[r] = variance/(variance+eps.Number), 1/math.Sqrt(variance+eps.Number)
	}
	stored := a.First.Error(output)
	xhat = func(i int64) float64 {
		if w := weight[i%cols]; w != 0 {
			return (y[i] - bias[i%cols]) / w
		}
		return (x[i] - mean[i/cols]) * rstd[i/cols]
	}
	off = func(i int64) float64 {
		if w := weight[i%cols]; w != 0 {
			return stored(i) / math.Abs(w)
		}
		return 0
	}
	return xhat, off, v
}

func (o Operator) rowMean(a *truth.Related, output string) judge.Statement {
	xhat, off, _ := o.normalisedRows(a, output)
	if a.Failed() {
		return judge.Statement{}
	}
	shape := a.First.Target(output).Shape
	return a.RowSums(shape[0], shape[1], xhat, off, func(int64) float64 { return 0 })
}

// rowVariance: sum_j xhat_j^2 = n v/(v+eps); an xhat that is off by e moves its square by 2|xhat|e + e^2.
func (o Operator) rowVariance(a *truth.Related, output string) judge.Statement {
	xhat, off, v := o.normalisedRows(a, output)
	if a.Failed() {
		return judge.Statement{}
	}
	shape := a.First.Target(output).Shape
	square := func(i int64) float64 { return xhat(i) * xhat(i) }
	slack := func(i int64) float64 { return (2*math.Abs(xhat(i)) + off(i)) * off(i) }
	return a.RowSums(shape[0], shape[1], square, slack,
		func(r int64) float64 { return float64(shape[1]) * v[r] })
}

// scaledWithEps multiplies s by 4 and eps by 16: variance + eps is then exactly 16 times its former value.
func (o Operator) scaledWithEps(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	_, x := truth.ScaledBy(4, o.Rows(c)...)(c, first)
	return truth.WithNumber(c, "eps", func(v float64) float64 { return 16 * v }), x
}

// gradientCancels: sum_j rstd (wdy_j - mean(wdy) - xhat_j c2) = -rstd c2 sum_j xhat_j with c2 = mean(wdy
// xhat), which is 0 where mean is the mean of the row; a mean that was given is rounded.
func gradientCancels(a *truth.Related, output string) judge.Statement {
	dx, shape := a.First.Out(output), a.First.Target(output).Shape
	want := func(int64) float64 { return 0 }
	if a.First.Saved == "driver" {
		x, weight, dy := a.First.In("x"), a.First.In("weight"), a.First.In("grad_y")
		mean, rstd := a.First.In("mean"), a.First.In("rstd")
		if a.Failed() {
			return judge.Statement{}
		}
		n := int(shape[1])
		want = func(r int64) float64 {
			at := func(i int) int64 { return r*shape[1] + int64(i) }
			xhat := func(i int) float64 { return (x[at(i)] - mean[r]) * rstd[r] }
			c2 := truth.SumOf(n, func(i int) float64 { return weight[i] * dy[at(i)] * xhat(i) }) / float64(n)
			return -rstd[r] * c2 * truth.SumOf(n, xhat)
		}
	}
	if a.Failed() {
		return judge.Statement{}
	}
	return a.RowSums(shape[0], shape[1], func(i int64) float64 { return dx[i] }, a.First.Error(output), want)
}
