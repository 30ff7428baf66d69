package softmax

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Relate("softmax",
	truth.Relation{
		Name: "each row adds up to 1", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), States: addsUp,
	},
	truth.Relation{
		Name: "no element is negative", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), States: notNegative,
	},
	truth.Relation{
		Name: "the largest input has the largest output", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), States: largestKeepsItsPlace,
	},
	truth.Relation{
		Name: "adding 16 to every input changes nothing", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), Base: truth.CoarseInputs("x"),
		Second: truth.Shifted("x"), States: truth.SamePlaces,
	},
	truth.Relation{
		Name: "permuting the columns permutes the outputs", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: truth.Reversed("x"),
		States: truth.ReversedPlaces,
	},
	truth.Relation{
		Name: "appended columns of -inf change nothing", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.HasElements(1, "rows", "cols"), Second: appended, States: beforeAppended,
	},
	truth.Relation{
		Name: "a row alone gives what it gives among others", Pass: op.Forward, Outputs: []string{"y"},
		Applies: truth.RowsAndColumns, Second: truth.LastRow("x"), States: truth.LastRowPlaces,
	},
	truth.Relation{
		Name: "the gradients of each row add up to 0", Pass: op.Backward, Outputs: []string{"grad_x"},
		Applies: truth.HasElements(1, "rows", "cols"), States: gradientCancels,
	},
	truth.Relation{
		Name: "a doubled upstream gradient doubles the gradient", ToTheBit: true, Pass: op.Backward,
		Outputs: []string{"grad_x"}, Applies: truth.HasElements(1, "rows", "cols"),
		Second: truth.ScaledBy(2, "grad_y"), States: truth.Scales(2),
	},
)

// addsUp: sum_j y_j = 1, up to the errors of the stored elements.
func addsUp(a *truth.Related, output string) judge.Statement {
	y, shape := a.First.Out(output), a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	return a.RowSums(shape[0], shape[1],
		func(i int64) float64 { return y[i] }, a.First.Error(output), func(int64) float64 { return 1 })
}

func notNegative(a *truth.Related, output string) judge.Statement {
	y := a.First.Out(output)
	return judge.Statement{
		Shape: a.First.Target(output).Shape, N: int64(len(y)),
		At: func(i int64) judge.Claim {
			return judge.Claim{Position: i, Got: y[i], Low: 0, High: math.Inf(1)}
		},
	}
}

// largestKeepsItsPlace: exp is increasing, so that no output exceeds that of the row's largest input by more
// than the errors of both.
func largestKeepsItsPlace(a *truth.Related, output string) judge.Statement {
	x, y, t := a.First.In("x"), a.First.Out(output), a.First.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	off, cols := a.First.Error(output), t.Shape[1]
	highest := make([]float64, t.Shape[0]) // the largest possible output of the row's largest input
	parallel.Each(t.Shape[0], func(r int64) {
		largest := r * cols
		for i := r * cols; i < (r+1)*cols; i++ {
			if x[i] > x[largest] {
				largest = i
			}
		}
		highest[r] = y[largest] + off(largest)
	})
	return judge.Statement{Shape: t.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: math.Inf(-1), High: highest[i/cols] + off(i)}
	}}
}

// appendedColumns is the number of columns of -inf that are appended: a whole vector of 16 bytes in every
// dtype, so that the alignment of rows stays.
const appendedColumns = 8

func appended(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	x := first.Get("x")
	rows, cols := x.Shape[0], x.Shape[1]
	values := x.Float64s()
	wide := tensor.New(x.Name, x.DType, []int64{rows, cols + appendedColumns})
	next := make([]float64, wide.Elements())
	for i := range next {
		r, col := int64(i)/(cols+appendedColumns), int64(i)%(cols+appendedColumns)
		next[i] = math.Inf(-1)
		if col < cols {
			next[i] = values[r*cols+col]
		}
	}
	wide.SetFloat64s(next)
	return truth.WithDims(c, map[string]int64{"cols": cols + appendedColumns}), []tensor.Tensor{wide}
}

// beforeAppended states agreement on the columns that were there before.
func beforeAppended(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	cols := shape[1]
	at := make([]int64, 0, shape[0]*cols)
	for i := range shape[0] * cols {
		at = append(at, i/cols*(cols+appendedColumns)+i%cols)
	}
	return a.Agree(output, 1, at,
		func(i int64) int64 { return i/(cols+appendedColumns)*cols + i%(cols+appendedColumns) })
}

// gradientCancels: sum_j p_j (dy_j - d) = d (1 - sum_j p_j) with d = sum_j p_j dy_j. Chained, the saved p add
// up to 1 up to their errors, which are in T; otherwise d and the sum follow from the given p.
func gradientCancels(a *truth.Related, output string) judge.Statement {
	dx, dy, shape := a.First.Out(output), a.First.In("grad_y"), a.First.Target(output).Shape
	var p []float64
	if a.First.Saved == "driver" {
		p = a.First.In("y")
	}
	if a.Failed() {
		return judge.Statement{}
	}
	cols := shape[1]
	want := func(r int64) float64 {
		if p == nil {
			return 0
		}
		at := func(i int) int64 { return r*cols + int64(i) }
		d := truth.SumOf(int(cols), func(i int) float64 { return p[at(i)] * dy[at(i)] })
		return d * (1 - truth.SumOf(int(cols), func(i int) float64 { return p[at(i)] }))
	}
	return a.RowSums(shape[0], cols, func(i int64) float64 { return dx[i] }, a.First.Error(output), want)
}
