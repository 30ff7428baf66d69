package product

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for every product (gate G6): it is linear in each operand, its
// rows are those of the first, and a gradient does not depend on the operand it is the gradient of.
func (o Operator) relations() []truth.Relation {
	var all []truth.Relation
	for _, p := range o.Forward(nil) {
		all = append(all, o.forwardRelations(p)...)
	}
	if o.Backward == nil {
		return all
	}
	products := o.Backward(nil)
	var gradients, upstream []string
	for _, p := range products {
		gradients = append(gradients, p.Output)
	}
	for _, p := range products {
		for _, f := range []Factor{p.A, p.B} {
			if slices.Contains(o.Upstream, f.Tensor) && !slices.Contains(upstream, f.linear()) {
				upstream = append(upstream, f.linear())
			}
		}
	}
	name := "a doubled upstream gradient doubles the gradients"
	if o.Scaling.Block > 0 {
		name = "doubled scales of the upstream gradient double the gradients"
	}
	all = append(all, truth.Relation{
		Name: name, ToTheBit: true, Pass: op.Backward, Outputs: gradients, Applies: multiplies,
		Second: truth.ScaledBy(2, upstream...), States: truth.Scales(2),
	})
	if len(products) == 2 {
		all = append(all, o.backwardRelations(products[0], products[1])...)
	}
	return all
}

// linear returns the input that the operand is doubled by: its scale, or itself.
func (f Factor) linear() string {
	if f.Scale != "" {
		return f.Scale
	}
	return f.Tensor
}

func (o Operator) forwardRelations(p Product) []truth.Relation {
	// 16-bit values are only doubled: halved, those below the normal range would be rounded
	ofA, by := "doubled "+p.A.Tensor+" doubles the product", 2.0
	ofB := "doubled " + p.B.Tensor + " doubles the product"
	if p.A.Scale != "" {
		ofA, by = "doubled scales of "+p.A.Tensor+" double the product", 0.5
		ofB = "halved scales of " + p.B.Tensor + " halve the product"
	}
	with := func(f Factor) []string {
		if p.Added == "" {
			return []string{f.linear()}
		}
		return []string{f.linear(), p.Added} // alpha*ab + beta*c is linear in both together
	}
	outputs := []string{p.Output}
	permuting, reversed := "permuting the rows of "+p.A.Tensor+" permutes those of the product", o.reversed(p)
	if p.Groups != "" {
		permuting = "groups and their rows the other way round give the rows of the product so"
		reversed = o.reversedGroups(p)
	}
	return []truth.Relation{
		{
			Name: ofA, ToTheBit: true, Pass: op.Forward, Outputs: outputs, Applies: multiplies,
			Second: truth.ScaledBy(2, with(p.A)...), States: truth.Scales(2),
		},
		{
			Name: ofB, ToTheBit: true, Pass: op.Forward, Outputs: outputs, Applies: multiplies,
			Second: truth.ScaledBy(by, with(p.B)...), States: truth.Scales(by),
		},
		{
			Name: permuting, Pass: op.Forward, Outputs: outputs, Applies: multiplies, Second: reversed,
			States: reversedRows,
		},
		{
			Name: "zeros for " + p.A.Tensor + " give zeros", Pass: op.Forward, Outputs: outputs,
			Applies: multiplies, Second: truth.ScaledBy(0, with(Factor{Tensor: p.A.Tensor})...), States: zero,
		},
	}
}

// backwardRelations returns the relations of the gradients of two operands: each is a product of the upstream
// gradient and the other operand.
func (o Operator) backwardRelations(ofA, ofB Product) []truth.Relation {
	other := ofA.B
	if slices.Contains(o.Upstream, other.Tensor) {
		other = ofA.A
	}
	forward := o.Forward(nil)[0]
	a, b := forward.A.Tensor, forward.B.Tensor
	name, by := "doubled "+b+" doubles the gradient of "+a, 2.0
	if other.Scale != "" {
		name, by = "halved scales of "+b+" halve the gradient of "+a, 0.5
	}
	second := truth.ScaledBy(by, other.linear())
	return []truth.Relation{
		{
			Name: name, ToTheBit: true, Pass: op.Backward, Outputs: []string{ofA.Output}, Applies: multiplies,
			Second: second, States: truth.Scales(by),
		},
		{
			Name: "the gradient of " + b + " does not depend on " + b, ToTheBit: true, Pass: op.Backward,
			Outputs: []string{ofB.Output}, Applies: multiplies, Second: second, States: truth.Stays,
		},
	}
}

// multiplies reports whether a case has anything to multiply.
func multiplies(c op.Case) bool {
	return !slices.ContainsFunc(c.Dims, func(d op.Dim) bool { return d.Value == 0 })
}

// reversed reverses the rows of each matrix of the first operand, their scales where each row has its own,
// and the addend.
func (o Operator) reversed(p Product) func(op.Case, truth.Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		names := []string{p.A.Tensor}
		if p.A.Scale != "" {
			names = append(names, p.A.Scale)
		}
		if p.Added != "" {
			names = append(names, p.Added)
		}
		var replaced []tensor.Tensor
		for _, name := range names {
			t := first.Get(name)
			rank := len(first.Get(p.A.Tensor).Shape)
			replaced = append(replaced, truth.Moved(t, t.Shape, reversal(t.Shape, rank)))
		}
		return c, replaced
	}
}

// reversal returns the position with the rows of each matrix reversed, for tensors whose operand has rank
// dims: with three the first is the batch.
func reversal(shape []int64, rank int) func(i int64) int64 {
	rows, perRow := shape[0], int64(1)
	rest := shape[1:]
	if rank == 3 {
		rows, rest = shape[1], shape[2:]
	}
	for _, n := range rest {
		perRow *= n
	}
	return func(i int64) int64 {
		r := i / perRow
		return (r-r%rows+rows-1-r%rows)*perRow + i%perRow
	}
}

func reversedRows(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	return a.Agree(output, 1, nil, reversal(shape, len(shape)))
}

// zero states that the second call returns zeros.
func zero(a *truth.Related, output string) judge.Statement {
	y := a.Second.Out(output)
	return judge.Statement{
		Shape: a.Second.Target(output).Shape, N: int64(len(y)),
		At: func(i int64) judge.Claim { return judge.Claim{Position: i, Got: y[i]} },
	}
}
