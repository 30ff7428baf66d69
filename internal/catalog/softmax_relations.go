package catalog

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

var _ = relate("softmax",
	Relation{Name: "each row adds up to 1", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"), States: softmaxAddsUp},
	Relation{Name: "no element is negative", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"), States: softmaxPositive},
	Relation{Name: "the largest input has the largest output", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"), States: softmaxLargest},
	Relation{Name: "adding 16 to every input changes nothing", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"),
		Base: coarseInputs("x"), Second: shifted("x"), States: samePlaces},
	Relation{Name: "permuting the columns permutes the outputs", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"),
		Second: reversed("x"), States: reversedPlaces},
	Relation{Name: "appended columns of -inf change nothing", Pass: op.Forward, Outputs: []string{"y"}, Applies: hasElements(1, "rows", "cols"),
		Second: softmaxAppended, States: softmaxBefore},
	Relation{Name: "a row alone gives what it gives among others", Pass: op.Forward, Outputs: []string{"y"}, Applies: rowsAndColumns, Second: lastRow("x"), States: lastRowPlaces},
	Relation{Name: "the gradients of each row add up to 0", Pass: op.Backward, Outputs: []string{"grad_x"}, Applies: hasElements(1, "rows", "cols"), States: softmaxGradientCancels},
	Relation{Name: "a doubled upstream gradient doubles the gradient", Pass: op.Backward, Outputs: []string{"grad_x"}, Applies: hasElements(1, "rows", "cols"),
		Second: scaledBy(2, "grad_y"), States: scales(2)},
)

func rowsAndColumns(c op.Case) bool { return hasElements(2, "rows")(c) && hasElements(1, "cols")(c) }

// softmaxAddsUp: sum_j y_j = 1, as far as the stored elements may be off.
func softmaxAddsUp(a *Related, output string) judge.Statement {
	y, shape := a.First.Out(output), a.First.Target(output).Shape
	if a.failed() {
		return judge.Statement{}
	}
	return a.rowSums(shape[0], shape[1], func(i int64) float64 { return y[i] }, a.First.Error(output), func(int64) float64 { return 1 })
}

func softmaxPositive(a *Related, output string) judge.Statement {
	y := a.First.Out(output)
	return judge.Statement{Shape: a.First.Target(output).Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: 0, High: math.Inf(1)}
	}}
}

// softmaxLargest: exp grows with its argument, so that no output lies above that of the row's largest input by more than both may be off.
func softmaxLargest(a *Related, output string) judge.Statement {
	x, y, t := a.First.In("x"), a.First.Out(output), a.First.Target(output)
	if a.failed() {
		return judge.Statement{}
	}
	off, cols := a.First.Error(output), t.Shape[1]
	highest := make([]float64, t.Shape[0]) // what the row's largest input may have given at most
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

// coarseInputs is the Base of a relation that adds to its inputs: what is added must be exact.
func coarseInputs(name string) func(Inputs) []tensor.Tensor {
	return func(in Inputs) []tensor.Tensor { return []tensor.Tensor{coarse(in.Get(name))} }
}

// shifted adds 16, exactly: coarse inputs are multiples of 1/8 within +-3.
func shifted(name string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		return c, []tensor.Tensor{changed(first.Get(name), func(_ int64, v float64) float64 { return v + 16 })}
	}
}

func samePlaces(a *Related, output string) judge.Statement { return a.agree(output, 1, nil, itself) }

// reversed turns the columns of some inputs round.
func reversed(names ...string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		var out []tensor.Tensor
		for _, name := range names {
			t := first.Get(name)
			out = append(out, moved(t, t.Shape, reversedColumns(t.Shape[len(t.Shape)-1])))
		}
		return c, out
	}
}

func reversedPlaces(a *Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.failed() {
		return judge.Statement{}
	}
	return a.agree(output, 1, nil, reversedColumns(shape[len(shape)-1]))
}

// appendedColumns is how many columns of -inf are appended: a whole vector of 16 bytes in every dtype, so that the alignment of rows stays.
const appendedColumns = 8

func softmaxAppended(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
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
	return withDims(c, map[string]int64{"cols": cols + appendedColumns}), []tensor.Tensor{wide}
}

// softmaxBefore speaks of the columns that were there before.
func softmaxBefore(a *Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.failed() {
		return judge.Statement{}
	}
	cols := shape[1]
	at := make([]int64, 0, shape[0]*cols)
	for i := range shape[0] * cols {
		at = append(at, i/cols*(cols+appendedColumns)+i%cols)
	}
	return a.agree(output, 1, at, func(i int64) int64 { return i/(cols+appendedColumns)*cols + i%(cols+appendedColumns) })
}

// lastRow keeps the last row of inputs that have one a row of the case.
func lastRow(names ...string) func(op.Case, Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first Inputs) (op.Case, []tensor.Tensor) {
		var out []tensor.Tensor
		for _, name := range names {
			t := first.Get(name)
			before := (t.Shape[0] - 1) * t.Shape[1]
			out = append(out, moved(t, []int64{1, t.Shape[1]}, func(i int64) int64 { return before + i }))
		}
		return withDims(c, map[string]int64{"rows": 1}), out
	}
}

func lastRowPlaces(a *Related, output string) judge.Statement {
	first, second := a.First.Target(output), a.Second.Target(output)
	if a.failed() {
		return judge.Statement{}
	}
	before := first.Elements() - second.Elements()
	return a.agree(output, 1, nil, func(i int64) int64 { return before + i })
}

// softmaxGradientCancels: sum_j p_j (dy_j - d) = d (1 - sum_j p_j) with d = sum_j p_j dy_j. Chained, the saved p add up to 1 as far as they
// may be off, which is in T; else d and the sum follow from the p that were given.
func softmaxGradientCancels(a *Related, output string) judge.Statement {
	dx, dy, shape := a.First.Out(output), a.First.In("grad_y"), a.First.Target(output).Shape
	var p []float64
	if a.First.Saved == "driver" {
		p = a.First.In("y")
	}
	if a.failed() {
		return judge.Statement{}
	}
	cols := shape[1]
	want := func(r int64) float64 {
		if p == nil {
			return 0
		}
		at := func(i int) int64 { return r*cols + int64(i) }
		d := sumOf(int(cols), func(i int) float64 { return p[at(i)] * dy[at(i)] })
		return d * (1 - sumOf(int(cols), func(i int) float64 { return p[at(i)] }))
	}
	return a.rowSums(shape[0], cols, func(i int64) float64 { return dx[i] }, a.First.Error(output), want)
}
