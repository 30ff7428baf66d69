package movement

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// relations returns the relations that hold for everything that moves elements: an element that changes shows
// at its place and nowhere else, and a sign stays with its element. Where the operator undoes itself, its
// output gives its input back.
func (o Operator) relations() []truth.Relation {
	var all []truth.Relation
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		input, from := o.Of(pass)
		output := []string{o.Output}
		if pass == op.Backward {
			output = []string{"grad_" + o.Input}
		}
		all = append(all, truth.Relation{
			Name: "negated elements are negated at their places", Pass: pass, Outputs: output,
			Applies: nonEmpty, Second: truth.ScaledBy(-1, input), States: truth.Scales(-1),
		})
		if o.Copies != nil && pass == op.Backward {
			continue // a place is made of several
		}
		name := "one element that changes, changes one place"
		if o.Copies != nil {
			name = "one element that changes, changes its copies"
		}
		all = append(all, truth.Relation{
			Name: name, Pass: pass, Outputs: output,
			Applies: nonEmpty, Second: changed(input), States: changedThere(input, from),
		})
	}
	if o.Again != nil {
		all = append(all, truth.Relation{
			Name: "moved again it is the input", Pass: op.Forward, Outputs: []string{o.Output},
			Applies: nonEmpty, Second: o.again, States: o.returns,
		})
	}
	return all
}

func nonEmpty(c op.Case) bool {
	return !slices.ContainsFunc(c.Dims, func(d op.Dim) bool { return d.Value == 0 })
}

// changedAt returns the element that changes: one in the last third.
func changedAt(elements int64) int64 { return elements - 1 - elements/3 }

// changed sets one element of an input to 3, or to 4 where it is 3.
func changed(name string) func(op.Case, truth.Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		t := first.Get(name)
		return c, []tensor.Tensor{truth.Changed(t, func(i int64, v float64) float64 {
			if i == changedAt(t.Elements()) {
				return other(v)
			}
			return v
		})}
	}
}

func other(v float64) float64 {
	if v == 3 {
		return 4
	}
	return 3
}

// changedThere states that the second output is the first, except for the copy of the changed element.
func changedThere(input string, from Map) func(*truth.Related, string) judge.Statement {
	return func(a *truth.Related, output string) judge.Statement {
		y1, y2, target := a.First.Out(output), a.Second.Out(output), a.First.Target(output)
		in, _, err := tensors(a.First.Case)
		if a.Failed() || err != nil {
			return judge.Statement{}
		}
		at := truth.IndexOf(changedAt(in.Elements()), in.Shape)
		return judge.Statement{Shape: target.Shape, N: int64(len(y2)), At: func(i int64) judge.Claim {
			place := make([]int64, len(in.Shape))
			from(a.First.Case, truth.IndexOf(i, target.Shape), place)
			want := y1[i]
			if slices.Equal(place, at) {
				want = other(want)
			}
			return judge.Claim{Position: i, Got: y2[i], Low: want, High: want, Bits: true}
		}}
	}
}

// again returns the output as the input.
func (o Operator) again(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	y := first.Get(o.Output)
	y.Name = o.Input
	return o.Again(c), []tensor.Tensor{y}
}

// returns states that the second output is the first call's input.
func (o Operator) returns(a *truth.Related, output string) judge.Statement {
	x, y, target := a.First.In(o.Input), a.Second.Out(output), a.Second.Target(output)
	if a.Failed() {
		return judge.Statement{}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
		return judge.Claim{Position: i, Got: y[i], Low: x[i], High: x[i], Bits: true}
	}}
}
