package integer

import (
	"fmt"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Counter is an operator that counts elements of one input of one dim.
type Counter struct {
	Output string // one element
	// Counts reports whether an element is counted. Member is the one number that is, Another one that is
	// not.
	Counts          func(c op.Case, x int64) bool
	Member, Another func(c op.Case) int64
}

// counters are the registered counters, by name.
var counters = map[string]Counter{}

// RegisterCount registers an operator's truth and its relations: var _ = RegisterCount("count_equal",
// Counter{...}).
func RegisterCount(name string, o Counter) struct{} {
	counters[name] = o
	truth.Register(name, truth.Definition{
		Forward: o.compute, Permits: []string{Contract}, ByRows: []string{"n"},
	})
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// GetCounter returns a registered operator.
func GetCounter(name string) (Counter, bool) {
	o, ok := counters[name]
	return o, ok
}

// compute returns the count, on all cores.
func (o Counter) compute(k *truth.Request) ([]judge.Target, error) {
	inputs, out, err := tensors(k.Case)
	if err != nil {
		return nil, err
	}
	x, err := k.Rank(inputs[0].Name, 1)
	if err != nil {
		return nil, err
	}
	if x.DType != inputs[0].DType {
		return nil, fmt.Errorf("%s is %v: want %v", x.Name, x.DType, inputs[0].DType)
	}
	n := x.Elements()
	parts := make([]float64, (n+truth.FlatRow-1)/truth.FlatRow)
	memory := func() []float64 { return make([]float64, truth.FlatRow) }
	truth.EachRowWith(nil, int64(len(parts)), memory, func(own []float64, i, _ int64) {
		first := i * truth.FlatRow
		row := own[:min(truth.FlatRow, n-first)]
		x.DecodeRow(row, 0, first)
		for _, v := range row {
			if o.Counts(k.Case, int64(v)) {
				parts[i]++
			}
		}
	})
	y := k.TargetAt(o.Output, out.DType, out.Shape, nil)
	y.Uniform = true
	y.R[0] = truth.Sum(parts) // integers: exact
	y.Sim[0] = y.R[0]
	return []judge.Target{y}, nil
}

// relations returns the relations that hold for every count: the order of the elements does not matter, and
// an element that becomes a counted one, or stops being one, counts for one.
func (o Counter) relations() []truth.Relation {
	name := func(c op.Case) string {
		inputs, _, err := tensors(c)
		if err != nil {
			return ""
		}
		return inputs[0].Name
	}
	reversed := func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		return truth.Reversed(name(c))(c, first)
	}
	turned := func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		x := first.Get(name(c))
		last := x.Elements() - 1
		return c, []tensor.Tensor{truth.Changed(x, func(i int64, v float64) float64 {
			switch {
			case i != last:
				return v
			case o.Counts(c, int64(v)):
				return float64(o.Another(c))
			}
			return float64(o.Member(c))
		})}
	}
	one := func(a *truth.Related, output string) judge.Statement {
		x := a.First.In(name(a.First.Case))
		y1, y2, target := a.First.Out(output), a.Second.Out(output), a.Second.Target(output)
		if a.Failed() {
			return judge.Statement{}
		}
		want := y1[0] + 1
		if o.Counts(a.First.Case, int64(x[len(x)-1])) {
			want = y1[0] - 1
		}
		return judge.Statement{Shape: target.Shape, N: 1, At: func(int64) judge.Claim {
			return judge.Claim{Got: y2[0], Low: want, High: want, Bits: true}
		}}
	}
	outputs := []string{o.Output}
	return []truth.Relation{
		{
			Name: "the elements the other way round have the same count", Pass: op.Forward, Outputs: outputs,
			Applies: truth.HasElements(2, "n"), Second: reversed, States: truth.SamePlaces,
		},
		{
			Name: "the last element, turned into another kind, counts for one", Pass: op.Forward,
			Outputs: outputs, Applies: truth.HasElements(1, "n"), Second: turned, States: one,
		},
	}
}
