package elementwise

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Property is something an operator declares of its forward, from which a relation follows (gate G6).
type Property func(o Operator) truth.Relation

// relations returns the relations of the declared properties, and those that hold for every elementwise
// operator: each element is computed alone, and a gradient is linear in the upstream one.
func (o Operator) relations() []truth.Relation {
	var all []truth.Relation
	for _, p := range o.Holds {
		all = append(all, p(o))
	}
	all = append(all, truth.Relation{
		Name: "an element alone gives what it gives among others", Pass: op.Forward, Outputs: o.outputs(),
		Applies: several, Second: o.lastElement, States: truth.LastRowPlaces,
	})
	if len(o.Backward) > 0 {
		all = append(all, truth.Relation{
			Name: "a doubled upstream gradient doubles the gradients", Pass: op.Backward,
			Outputs: o.gradients(),
			Applies: nonEmpty, Second: truth.ScaledBy(2, o.upstream()...), States: truth.Scales(2),
		})
	}
	return all
}

// outputs returns the names of the forward's outputs.
func (o Operator) outputs() []string {
	var names []string
	for _, output := range o.Forward {
		names = append(names, output.Name)
	}
	return names
}

func elements(c op.Case) int64 {
	n := int64(1)
	for _, d := range c.Dims {
		n *= d.Value
	}
	return n
}

func nonEmpty(c op.Case) bool { return elements(c) > 0 }

func several(c op.Case) bool { return elements(c) > 1 }

// lastElement returns the case of the last element alone.
func (o Operator) lastElement(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	sizes := map[string]int64{}
	for _, d := range c.Dims {
		sizes[d.Name] = 1
	}
	var alone []tensor.Tensor
	for _, name := range o.inputs(c) {
		t := first.Get(name)
		shape := make([]int64, len(t.Shape))
		for i := range shape {
			shape[i] = 1
		}
		last := t.Elements() - 1
		alone = append(alone, truth.Moved(t, shape, func(int64) int64 { return last }))
	}
	return truth.WithDims(c, sizes), alone
}

// Linear: doubled inputs double the outputs, bit for bit.
func Linear(inputs ...string) Property {
	return func(o Operator) truth.Relation {
		return truth.Relation{
			Name: "doubled inputs double the output", Pass: op.Forward, Outputs: o.outputs(),
			Applies: nonEmpty,
			Second:  truth.ScaledBy(2, inputs...), States: truth.Scales(2),
		}
	}
}

// Commutes: two inputs may be swapped without changing a bit.
func Commutes(a, b string) Property {
	swapped := func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		x, y := first.Get(a), first.Get(b)
		x.Name, y.Name = b, a
		return c, []tensor.Tensor{y, x}
	}
	return func(o Operator) truth.Relation {
		return truth.Relation{
			Name: "swapped inputs give the same output", Pass: op.Forward, Outputs: o.outputs(),
			Applies: nonEmpty,
			Second:  swapped, States: truth.Stays,
		}
	}
}

// Apart: f(x) - f(-x) = x, within the errors of both.
func Apart(input string) Property {
	states := func(a *truth.Related, output string) judge.Statement {
		x, y1, y2 := a.First.In(input), a.First.Out(output), a.Second.Out(output)
		target, off1, off2 := a.First.Target(output), a.First.Error(output), a.Second.Error(output)
		if a.Failed() {
			return judge.Statement{}
		}
		return judge.Statement{Shape: target.Shape, N: int64(len(y1)), At: func(i int64) judge.Claim {
			off := off1(i) + off2(i) + 4*judge.U64*(math.Abs(x[i])+math.Abs(y1[i])+math.Abs(y2[i]))
			return judge.Claim{Position: i, Got: y1[i] - y2[i], Low: x[i] - off, High: x[i] + off}
		}}
	}
	return func(o Operator) truth.Relation {
		return truth.Relation{
			Name: "x and -x give outputs x apart", Pass: op.Forward, Outputs: o.outputs(), Applies: nonEmpty,
			Second: truth.ScaledBy(-1, input), States: states,
		}
	}
}

// BetweenZeroAnd: no output lies beyond an input or on the other side of 0, within its error.
func BetweenZeroAnd(input string) Property {
	states := func(a *truth.Related, output string) judge.Statement {
		x, y, target := a.First.In(input), a.First.Out(output), a.First.Target(output)
		if a.Failed() {
			return judge.Statement{}
		}
		return judge.Statement{Shape: target.Shape, N: int64(len(y)), At: func(i int64) judge.Claim {
			c := judge.Claim{Position: i, Got: y[i]}
			c.Low, _ = target.Interval(math.Min(0, x[i]), target.T[i])
			_, c.High = target.Interval(math.Max(0, x[i]), target.T[i])
			return c
		}}
	}
	return func(o Operator) truth.Relation {
		return truth.Relation{
			Name: "the output lies between 0 and " + input, Pass: op.Forward,
			Outputs: o.outputs(), Applies: nonEmpty, States: states,
		}
	}
}

// Again: the forward, applied to its only output, returns it unchanged, bit for bit.
func Again(input string) Property {
	states := func(a *truth.Related, output string) judge.Statement {
		y1, y2, target := a.First.Out(output), a.Second.Out(output), a.First.Target(output)
		if a.Failed() {
			return judge.Statement{}
		}
		return judge.Statement{Shape: target.Shape, N: int64(len(y1)), At: func(i int64) judge.Claim {
			return judge.Claim{Position: i, Got: y2[i], Low: y1[i], High: y1[i], Bits: true}
		}}
	}
	return func(o Operator) truth.Relation {
		again := func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
			y := first.Get(o.Forward[0].Name)
			y.Name = input
			return c, []tensor.Tensor{y}
		}
		return truth.Relation{
			Name: "applied again it changes nothing", Pass: op.Forward, Outputs: o.outputs(),
			Applies: nonEmpty, Second: again, States: states,
		}
	}
}
