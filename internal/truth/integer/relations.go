package integer

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for every formula of the elements at one place: an element alone
// has the same result as among others. Where the operator undoes itself, its output gives its input back.
func (o Operator) relations() []truth.Relation {
	all := []truth.Relation{{
		Name: "the last row alone gives what it gives among others", Pass: op.Forward,
		Outputs: []string{o.Output}, Applies: several, Second: lastRow, States: truth.LastRowPlaces,
	}}
	if o.Again {
		all = append(all, truth.Relation{
			Name: "applied again it is the input", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: nonEmpty, Second: o.again, States: o.returns,
		})
	}
	return all
}

func nonEmpty(c op.Case) bool {
	return !slices.ContainsFunc(c.Dims, func(d op.Dim) bool { return d.Value == 0 })
}

func several(c op.Case) bool { return nonEmpty(c) && c.Dims[0].Value > 1 }

// lastRow returns the case of the last of the first dim.
func lastRow(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	inputs, _, err := tensors(c)
	if err != nil {
		return c, nil
	}
	var alone []tensor.Tensor
	for _, in := range inputs {
		t := first.Get(in.Name)
		shape := slices.Clone(t.Shape)
		shape[0] = 1
		before := t.Elements() / t.Shape[0] * (t.Shape[0] - 1)
		alone = append(alone, truth.Moved(t, shape, func(i int64) int64 { return before + i }))
	}
	return truth.WithDims(c, map[string]int64{c.Dims[0].Name: 1}), alone
}

// again returns the output as the input.
func (o Operator) again(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	inputs, _, err := tensors(c)
	if err != nil {
		return c, nil
	}
	y := first.Get(o.Output)
	y.Name = inputs[0].Name
	return c, []tensor.Tensor{y}
}

// returns states that the second output is the first call's input.
func (o Operator) returns(a *truth.Related, output string) judge.Statement {
	inputs, _, err := tensors(a.First.Case)
	if err != nil {
		return judge.Statement{}
	}
	x, y, target := a.First.In(inputs[0].Name), a.Second.Out(output), a.Second.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: x[i], High: x[i], Bits: true}
	}}
}
