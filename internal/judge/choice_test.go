package judge

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// scores are two rows of candidates; the best three of each, of equal ones the first.
var scores = [][]float64{{1, nan, 5, 5, 0, math.Copysign(0, -1)}, {7, 7, 7, 7, 7, 7}}

func chosenOf(best ...float64) Target {
	t := target(op.I32, best, 0)
	t.Name, t.Shape, t.Bits, t.Independent = "places", []int64{2, 3}, true, false
	t.Choice = &Choice{Candidates: 6, Best: t.R, Scores: func(row int64) func(int64) float64 {
		return func(candidate int64) float64 { return scores[row][candidate] }
	}}
	return t
}

// TestChoice: a choice is right where every place names its own candidate with the score of its rank.
func TestChoice(t *testing.T) {
	right := chosenOf(1, 2, 3, 0, 1, 2)
	for _, c := range []struct {
		what   string
		places []float64
		says   string // "" where it is accepted
	}{
		{"the first of equal candidates", []float64{1, 2, 3, 0, 1, 2}, ""},
		{"others of equal candidates", []float64{1, 3, 2, 5, 3, 1}, ""},
		{
			"one twice",
			[]float64{1, 2, 2, 0, 1, 2},
			"places[0,2] is 2, which stands before it in its row already, want another, such as 3; 1 of 6",
		},
		{
			"one three times",
			[]float64{1, 2, 3, 4, 4, 4},
			"places[1,1] is 4, which stands before it in its row already, want another, such as 0; 2 of 6",
		},
		{
			"a worse one",
			[]float64{1, 2, 0, 0, 1, 2},
			"places[0,2] is 0, whose score is 1, want one whose score is 5, such as 3; 1 of 6",
		},
		{
			"NaN last",
			[]float64{2, 3, 1, 0, 1, 2},
			"places[0,0] is 2, whose score is 5, want one whose score is NaN, such as 1; 2 of 6",
		},
		{
			"beyond the row",
			[]float64{1, 2, 3, 0, 1, 6},
			"places[1,2] is 6, want one of 0 to 5; 1 of 6",
		},
		{
			"before the row",
			[]float64{1, 2, 3, -1, 1, 2},
			"places[1,0] is -1, want one of 0 to 5; 1 of 6",
		},
		{
			"the largest int32",
			[]float64{1, 2, 3, math.MaxInt32, 1, 2},
			"places[1,0] is 2147483647, want one of 0 to 5; 1 of 6",
		},
	} {
		v := verdict(right, answer(right, c.places...))
		if c.says == "" {
			if v.Status != op.StatusPass || v.Wrong != 0 || v.Compared != 6 {
				t.Errorf("%s: %v %s: %s", c.what, v.Status, v.Gate, v.Sentence)
			}
			continue
		}
		if v.Status != op.StatusFail || v.Gate != "G7" || !strings.HasPrefix(v.Sentence, c.says) {
			t.Errorf("%s: %v %s: %q, want %q", c.what, v.Status, v.Gate, v.Sentence, c.says)
		}
		if again := Rejudge(v); !again.Decided || again.Status != op.StatusFail || again.Gate != "G7" {
			t.Errorf("%s, judged again: %+v", c.what, again)
		}
	}
}

// TestChoiceAfterAWrongPlace: a wrong place takes no candidate from a right one behind it: what a bad kernel
// gets right counts.
func TestChoiceAfterAWrongPlace(t *testing.T) {
	c := chosenOf(1, 2, 3, 0, 1, 2).Choice
	if got := c.Permitted(0, 0, []float64{3, 3, 2}); !slices.Equal(got, []float64{1, 3, 2}) {
		t.Errorf("permitted are %v, want 1 for the wrong 3 and the right 3 and 2", got)
	}
}

// TestPlacesForNone: where a row has fewer candidates than places, the places behind them hold -1.
func TestPlacesForNone(t *testing.T) {
	right := chosenOf(1, 2, -1, 0, -1, -1)
	right.Choice.Places = func(row int64) int64 { return 2 - row }
	for _, bounds := range []bool{false, true} {
		if bounds {
			right.Choice.Bounds = func(row int64) func(int64) (float64, float64) {
				score := right.Choice.Scores(row)
				return func(c int64) (low, high float64) {
					if x := score(c); !math.IsNaN(x) {
						return x, x
					}
					return 9, 9
				}
			}
		}
		for _, c := range []struct {
			places []float64
			says   string
		}{
			{[]float64{1, 3, -1, 4, -1, -1}, ""},
			{
				[]float64{1, 2, 3, 0, -1, -1},
				"places[0,2] is 3, want -1: no more candidates of its row are allowed; 1 of 6",
			},
			{[]float64{1, -1, -1, 0, -1, -1}, "places[0,1] is -1, want one of 0 to 5; 1 of 6"},
			{
				[]float64{1, 2, -1, -1, 0, -1},
				"places[1,0] is -1, want one of 0 to 5; 2 of 6",
			},
		} {
			v := verdict(right, answer(right, c.places...))
			if passes := v.Status == op.StatusPass; passes != (c.says == "") ||
				!passes && (v.Gate != "G7" || !strings.HasPrefix(v.Sentence, c.says)) {
				t.Errorf("%v: %v %s: %q, want %q", c.places, v.Status, v.Gate, v.Sentence, c.says)
			}
		}
	}
}

// TestPowerOfChoice: the power check tries choices by their rule: only a trial that happens to be a right
// choice takes the power away.
func TestPowerOfChoice(t *testing.T) {
	p := PowerOf(chosenOf(1, 2, 3, 0, 1, 2), tensor.Tensor{}, []float64{1, 3, 2, 5, 4, 3})
	if !p.None || !strings.Contains(p.Why, "previous") || len(p.Accepted) != 1 {
		t.Errorf("another right choice as the previous output: %+v", p)
	}
	if p := PowerOf(chosenOf(1, 2, 3, 0, 1, 2), tensor.Tensor{}, []float64{1, 3, 2, 5, 4, 4}); p.None {
		t.Errorf("a wrong choice as the previous output: %+v", p)
	}
}

// TestDepends: an output that follows from a choice is judged under the choice of its own launch; without
// one, under the simulated contract's.
func TestDepends(t *testing.T) {
	places := chosenOf(1, 2, 3, 0, 1, 2)
	values := target(op.FP32, []float64{1, 2, 3, 0, 1, 2}, 0)
	values.Name, values.Shape, values.Independent = "values", []int64{2, 3}, false
	plain := values
	values.Depends = func(gave Gave) Target {
		u := plain
		if gave("places") != nil {
			u.R = places.Under(gave).R
			u.Sim = u.R
		}
		return u
	}
	truth := Truth{Contract: "exact", Outputs: []Target{values, places}}
	asked := Plan{Launches: 2, Nondeterministic: []string{"values", "places"}, Outputs: []op.TensorType{
		{Name: "values", DType: op.FP32, Shape: values.Shape},
		{Name: "places", DType: op.I32, Shape: places.Shape, Optional: true},
	}}
	both := func(poison string, chosen, given []float64) Launch {
		l := launch(values, poison, tensor.Encode(op.FP32, given))
		if chosen != nil {
			l.Outputs = append(l.Outputs, launch(places, poison, tensor.Encode(op.I32, chosen)).Outputs...)
		}
		return l
	}
	first, other := []float64{1, 2, 3, 0, 1, 2}, []float64{1, 3, 2, 3, 4, 5}
	for what, c := range map[string]struct {
		a, b   Launch
		status op.Status
	}{
		"one choice, then another": {both("a", first, first), both("b", other, other), op.StatusPass},
		"the values of the other":  {both("a", first, first), both("b", first, other), op.StatusFail},
		"no choice is given":       {both("a", nil, first), both("b", nil, first), op.StatusPass},
		"none, and wrong values":   {both("a", nil, other), both("b", nil, other), op.StatusFail},
	} {
		v := Judge(asked, Answer{Launches: []Launch{c.a, c.b}}, truth)
		if v[0].Status != c.status {
			t.Errorf("%s: %v: %s", what, v[0].Status, v[0].Sentence)
		}
	}
}

// TestChoiceOfComputedScores: with computed scores a place is right where no remaining candidate is surely
// above it.
func TestChoiceOfComputedScores(t *testing.T) {
	right := chosenOf(0, 1, 2, 0, 1, 2)
	computed := []float64{4, 3, 2.9, 2, 1, 0} // each may be off by 0.1
	right.Choice.Scores = func(int64) func(int64) float64 {
		return func(candidate int64) float64 { return computed[candidate] }
	}
	right.Choice.Bounds = func(int64) func(int64) (float64, float64) {
		return func(at int64) (float64, float64) { return computed[at] - 0.1, computed[at] + 0.1 }
	}
	for _, c := range []struct {
		places []float64
		says   string // "" where it is accepted
	}{
		{[]float64{0, 1, 2, 0, 2, 1}, ""},
		{[]float64{0, 1, 3, 0, 1, 2}, "places[0,2] is 3, whose score is 2, want one whose score is 2.9"},
		{[]float64{0, 2, 1, 1, 0, 2}, "places[1,0] is 1, whose score is 3, want one whose score is 4"},
		{[]float64{0, 2, 2, 0, 1, 2}, "places[0,2] is 2, which stands before it in its row already"},
		{[]float64{0, 1, 2, 0, 1, 9}, "places[1,2] is 9, want one of 0 to 5"},
	} {
		v := verdict(right, answer(right, c.places...))
		ok := v.Status == op.StatusPass && v.Wrong == 0
		if ok != (c.says == "") || !strings.HasPrefix(v.Sentence, c.says) {
			t.Errorf("%v: %v %s: %q, want %q", c.places, v.Status, v.Gate, v.Sentence, c.says)
		}
	}
}

// TestBoundsOfARowAreAskedOnce: a bound may cost as much as a row has candidates: for 80 places among 96
// experts each bound is computed once.
func TestBoundsOfARowAreAskedOnce(t *testing.T) {
	asked, best := 0, make([]float64, 80)
	for i := range best {
		best[i] = float64(i)
	}
	c := Choice{Candidates: 96, Best: best, Bounds: func(int64) func(int64) (float64, float64) {
		return func(at int64) (float64, float64) {
			asked++
			return -float64(at), -float64(at)
		}
	}}
	if got := c.Permitted(0, 0, best); !slices.Equal(got, best) || asked != 96 {
		t.Errorf("%d bounds were asked, want 96; %v", asked, got)
	}
}

// TestDependsOnWhatWasSaved: the truth of a backward knows what the implementation's own forward saved.
func TestDependsOnWhatWasSaved(t *testing.T) {
	gradient := target(op.FP32, []float64{1, 2}, 0)
	plain := gradient
	gradient.Depends = func(gave Gave) Target {
		of := plain
		if data := gave("places"); len(data) == 4 && data[0] == 7 {
			of.R = []float64{3, 4}
			of.Sim = of.R
		}
		return of
	}
	a := answer(gradient, 3, 4)
	if v := verdict(gradient, a); v.Status != op.StatusFail {
		t.Errorf("without the saved tensor: %v %s", v.Status, v.Sentence)
	}
	saved := tensor.New("places", op.I32, []int64{1})
	saved.SetFloat64s([]float64{7})
	a.Saved = []tensor.Tensor{saved}
	if v := verdict(gradient, a); v.Status != op.StatusPass {
		t.Errorf("with the saved tensor: %v %s", v.Status, v.Sentence)
	}
}
