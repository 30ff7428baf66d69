// Package selection is the family of operators that choose some elements of each row by a score, the best
// first, and return their places and values. Equal scores may come in any order: that rule judges the output
// of the places (judge.Choice), and the elements are those at the places that the kernel chose. Truth,
// relations and the rule follow from an operator's statement. Package selectiontest derives mutants and right
// variants.
package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Operator describes an operator of this family. Its tensors are matrices: rows of candidates, and as many
// rows of chosen elements.
type Operator struct {
	From   string // the input whose rows are chosen from
	Values string // the output of the chosen elements, bit for bit; any NaN equals NaN
	Places string // the output of their columns: given = true in the spec
	// Score ranks the candidates: the largest is chosen first. NaN comes before everything, and 0 and -0 are
	// equal.
	Score   func(x float64) float64
	Permits []string
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth and its relations: var _ = Register("top_k", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	truth.Register(name, truth.Definition{Forward: o.forward, Permits: o.Permits, Whole: true})
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Better orders scores, the better first: NaN, then decreasing; 0 and -0 are equal.
func Better(a, b float64) int {
	switch aNaN, bNaN := math.IsNaN(a), math.IsNaN(b); {
	case aNaN && bNaN:
		return 0
	case aNaN:
		return -1
	case bNaN:
		return 1
	}
	return cmp.Compare(b, a)
}

// Best returns the columns of the k best elements of a row, the best first, of equal ones the first.
func (o Operator) Best(row []float64, k int) []float64 {
	type candidate struct {
		score float64
		at    int
	}
	all := make([]candidate, len(row))
	for i, x := range row {
		all[i] = candidate{o.Score(x), i}
	}
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Or(Better(a.score, b.score), a.at-b.at) })
	best := make([]float64, k)
	for i := range best {
		best[i] = float64(all[i].at)
	}
	return best
}

// forward returns the truth of the places under the simulated contract's choice, the first of equal elements,
// and that of the values under the kernel's.
func (o Operator) forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank(o.From, 2)
	if err != nil {
		return nil, err
	}
	entry, err := catalog.Get(k.Op)
	if err != nil {
		return nil, err
	}
	types, err := entry.Spec.Outputs(k.Case)
	if err != nil {
		return nil, err
	}
	chosen := k.Sample.Choose(x.Shape[0])
	targets := map[string]judge.Target{}
	for _, t := range types {
		if t.Shape[0] != x.Shape[0] || t.Shape[1] < 1 || t.Shape[1] > x.Shape[1] {
			return nil, fmt.Errorf("%s %v: want as many rows as %s %v has, and 1 to %d columns", t.Name,
				t.Shape, o.From, x.Shape, x.Shape[1])
		}
		targets[t.Name] = k.Target(t.Name, t.DType, t.Shape, chosen)
	}
	o.fill(targets[o.Places], targets[o.Values], x, chosen)
	places, values := o.rules(targets[o.Places], targets[o.Values], x)
	out := make([]judge.Target, len(types))
	for i, t := range types {
		if out[i] = places; t.Name == o.Values {
			out[i] = values
		}
	}
	return out, nil
}

// fill computes the simulated contract's choice. T is 0: chosen elements are not computed.
func (o Operator) fill(places, values judge.Target, x tensor.Tensor, chosen []int64) {
	cols, k := x.Shape[1], places.Shape[1]
	memory := func() []float64 { return make([]float64, cols) }
	truth.EachRowWith(chosen, x.Shape[0], memory, func(own []float64, i, r int64) {
		x.DecodeRow(own, r, 0)
		at, v := truth.RowOf(places, i, k), truth.RowOf(values, i, k)
		copy(at.R, o.Best(own, int(k)))
		copy(at.Sim, at.R)
		for p, c := range at.R {
			v.R[p] = own[int64(c)]
		}
		copy(v.Sim, v.R)
	})
}

// rules returns the places with their rule, and the values, which follow from them.
func (o Operator) rules(places, values judge.Target, x tensor.Tensor) (judge.Target, judge.Target) {
	places.Independent, values.Independent = false, false
	places.Choice = &judge.Choice{
		Candidates: x.Shape[1], Best: places.R,
		Scores: func(row int64) func(candidate int64) float64 {
			one := make([]float64, 1)
			return func(candidate int64) float64 {
				x.DecodeRow(one, row, candidate)
				return o.Score(one[0])
			}
		},
	}
	plain := values
	values.Depends = func(gave judge.Gave) judge.Target {
		t := plain
		data, own := gave(o.Places), gave(o.Values)
		if data == nil {
			t.Bits = false // which of equal elements was chosen is not known: 0 equals -0
			return t
		}
		t.R = make([]float64, len(plain.R))
		t.Sim = t.R
		size := t.DType.Size()
		for i, c := range places.Under(gave).R {
			at := position(t, i)
			x.DecodeRow(t.R[i:i+1], at/t.Shape[1], int64(c))
			if t.R[i] == 0 && own != nil && tensor.Decode(places.DType, data[4*at:4*at+4])[0] != c {
				// the place is wrong, and does not determine which of the zeros was chosen
				if v := tensor.Decode(t.DType, own[at*size:(at+1)*size])[0]; v == 0 {
					t.R[i] = v
				}
			}
		}
		return t
	}
	return places, values
}

// position returns the row-major position of a judged element.
func position(t judge.Target, i int) int64 {
	if t.Index != nil {
		return t.Index[i]
	}
	return int64(i)
}

// relations returns the relations that hold for every selection (gate G6).
func (o Operator) relations() []truth.Relation {
	applies := func(c op.Case) bool { return truth.HasElements(1, "rows")(c) }
	values := []string{o.Values}
	return []truth.Relation{
		{
			Name: "reversed columns give the same values", Pass: op.Forward, Outputs: values,
			Applies: applies, Second: truth.Reversed(o.From), States: truth.SamePlaces,
		},
		{
			Name: "a row alone gives what it gives among others", Pass: op.Forward, Outputs: values,
			Applies: truth.RowsAndColumns, Second: truth.LastRow(o.From), States: truth.LastRowPlaces,
		},
		{
			Name: "doubled inputs give doubled values", Pass: op.Forward, Outputs: values,
			Applies: applies, Second: truth.ScaledBy(2, o.From), States: truth.Scales(2),
		},
	}
}
