package judge

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Gave returns the bytes of an output of one call, nil where none came back that could be judged.
type Gave func(output string) []byte

// Choice is the rule of an output that names what a kernel chose, such as the columns of the largest elements
// of a row: each row of it (its last dim) holds indices of candidates. A place of a row is right if and only
// if it names a candidate with the score of its rank that no earlier right place names.
type Choice struct {
	Candidates int64 // of a row, numbered from 0
	// Best is one right choice, that of the simulated contract, for every judged element.
	Best []float64
	// Scores returns the scores of the candidates of a row. Two NaNs are the same score, and so are 0 and -0.
	Scores func(row int64) func(candidate int64) float64
	// Bounds returns the lowest and the highest score that a kernel may have computed, where kernels compute
	// scores. A place is then right if and only if it names a candidate that no earlier right place names,
	// and no other such candidate has a surely higher score. nil: scores are exact.
	Bounds func(row int64) func(candidate int64) (low, high float64)
	// Places returns how many places of a row name candidates, the first ones; the others hold -1. nil: all
	// name one.
	Places func(row int64) int64
}

// named returns how many of k places of a row name candidates.
func (c *Choice) named(row, k int64) int64 {
	if c.Places == nil {
		return k
	}
	return min(k, c.Places(row))
}

// Permitted returns a right choice for one row: got where it is right, another candidate where it is wrong. i
// counts the judged rows, row those of the output.
func (c *Choice) Permitted(i, row int64, got []float64) []float64 {
	k := int64(len(got))
	n := c.named(row, k)
	best, out := c.Best[i*k:][:n], slices.Repeat([]float64{-1}, int(k))
	got = got[:n]
	if c.Bounds != nil {
		c.consistent(row, best, got, out)
		return out
	}
	score := c.Scores(row)
	taken := make(map[float64]bool, k)
	for p := range got {
		want := score(int64(best[p]))
		if c.names(got[p]) && !taken[got[p]] && sameScore(score(int64(got[p])), want) {
			out[p] = got[p]
			taken[out[p]] = true
			continue
		}
		// As many ranks have this score as candidates in best, and fewer of them are taken.
		at := slices.IndexFunc(best, func(b float64) bool {
			return !taken[b] && b != got[p] && sameScore(score(int64(b)), want)
		})
		out[p] = best[max(at, 0)]
	}
	return out
}

// consistent is Permitted where scores are computed. A wrong place gets the best candidate that is left. The
// bounds of a row are requested once: it may have many places, and each of them considers all candidates.
func (c *Choice) consistent(row int64, best, got, out []float64) {
	bounds := c.Bounds(row)
	low, high := make([]float64, c.Candidates), make([]float64, c.Candidates)
	for d := range c.Candidates {
		low[d], high[d] = bounds(d)
	}
	taken := make([]bool, c.Candidates)
	for p, x := range got {
		least := math.Inf(-1)
		for d, v := range low {
			if v > least && !taken[d] {
				least = v
			}
		}
		out[p] = x
		if !c.names(x) || taken[int64(x)] || !(high[int64(x)] >= least) {
			// where x is one of the best, so is every candidate above it
			at := slices.IndexFunc(best, func(b float64) bool { return !taken[int64(b)] && b != x })
			out[p] = best[max(at, 0)]
		}
		taken[int64(out[p])] = true
	}
}

// names reports whether a number is that of a candidate.
func (c *Choice) names(x float64) bool { return 0 <= x && x < float64(c.Candidates) }

func sameScore(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// fault describes what is wrong with one place of a row, given its choices, where want would be right.
func (c *Choice) fault(row int64, got []float64, place int, want float64) string {
	x := got[place]
	if want < 0 {
		return fmt.Sprintf("is %s, want -1: no more candidates of its row are allowed", numberOfChoice(x))
	}
	if !c.names(x) {
		return fmt.Sprintf("is %s, want one of 0 to %d", numberOfChoice(x), c.Candidates-1)
	}
	score := c.Scores(row)
	before := c.Bounds != nil && slices.Contains(got[:place], x)
	if mine, other := score(int64(x)), score(int64(want)); !before && !sameScore(mine, other) {
		return fmt.Sprintf("is %s, whose score is %s, want one whose score is %s, such as %s",
			numberOfChoice(x), number(mine), number(other), numberOfChoice(want))
	}
	return fmt.Sprintf("is %s, which stands before it in its row already, want another, such as %s",
		numberOfChoice(x), numberOfChoice(want))
}

func numberOfChoice(x float64) string { return fmt.Sprintf("%.0f", x) }

// Under returns the truth of an output given what an implementation chose, or what its truth follows from.
// For all other outputs it returns the target itself.
func (t Target) Under(gave Gave) Target {
	switch {
	case t.Choice != nil:
		if data := gave(t.Name); int64(len(data)) == t.Elements()*t.DType.Size() && len(data) > 0 {
			return t.chosen(data)
		}
	case t.Depends != nil:
		return t.Depends(gave)
	}
	return t
}

// chosen returns the truth of a choice: what was chosen where that is right.
func (t Target) chosen(data []byte) Target {
	t.R = make([]float64, len(t.R))
	t.Sim = t.R
	k := t.Shape[len(t.Shape)-1]
	parallel.Each(int64(len(t.R))/k, func(i int64) {
		row := t.position(int(i*k)) / k
		copy(t.R[i*k:(i+1)*k], t.Choice.Permitted(i, row, t.rowOf(data, row)))
	})
	return t
}

// permits reports whether the judged elements of a choice are all right.
func (t Target) permits(got []float64) bool {
	k := t.Shape[len(t.Shape)-1]
	return parallel.First(len(got)/int(k), func(first, end int) int {
		for i := int64(first); i < int64(end); i++ {
			own := got[i*k : (i+1)*k]
			if !slices.Equal(own, t.Choice.Permitted(i, t.position(int(i*k))/k, own)) {
				return int(i)
			}
		}
		return -1
	}) < 0
}

// rowOf decodes a row of an output.
func (t Target) rowOf(data []byte, row int64) []float64 {
	bytes := t.Shape[len(t.Shape)-1] * t.DType.Size()
	return tensor.Decode(t.DType, data[row*bytes:(row+1)*bytes])
}

// Under returns the truth of all outputs given what an implementation chose.
func (t Truth) Under(gave Gave) Truth {
	t.Outputs = slices.Clone(t.Outputs)
	for i := range t.Outputs {
		t.Outputs[i] = t.Outputs[i].Under(gave)
	}
	return t
}

// gave returns the outputs of one launch that came back as they were planned.
func (a Answer) gave(plan Plan, launch int) Gave {
	return func(name string) []byte {
		o, ok := a.Launches[launch].find(name)
		for _, t := range plan.Outputs {
			if t.Name == name && ok && o.Present && o.DType == t.DType && slices.Equal(o.Shape, t.Shape) {
				return o.Data
			}
		}
		return a.saved(name)
	}
}

// saved returns the bytes of the output of the implementation's own forward.
func (a Answer) saved(name string) []byte {
	for _, t := range a.Saved {
		if t.Name == name && t.IsContiguous() {
			return t.Data
		}
	}
	return nil
}

// refused returns the sentence for an output whose choices are wrong.
func (t Target) refused(v Verdict, data []byte) string {
	last := len(t.Shape) - 1
	position := int64(0)
	for d, i := range v.Worst.Index {
		position = position*t.Shape[d] + i
	}
	row := position / t.Shape[last]
	return fmt.Sprintf("%s %s; %s", place(t.Name, v.Worst.Index),
		t.Choice.fault(row, t.rowOf(data, row), int(v.Worst.Index[last]), v.Worst.Want),
		wrongOf(v.Wrong, v.Compared))
}
