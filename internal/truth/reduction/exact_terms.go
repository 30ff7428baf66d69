package reduction

import (
	"math"

	"triad/internal/tensor"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

// areExactTerms reports whether fp32 represents every value that any form of a term takes for these inputs.
func areExactTerms(term elementwise.Formula, names []string, in []tensor.Tensor) bool {
	most := make([]float64, len(names))
	for i, t := range in {
		for _, v := range t.Float64s() {
			if v != math.Trunc(v) {
				return false
			}
			most[i] = math.Max(most[i], math.Abs(v))
		}
	}
	b, err := formula.NewBounds(term.Forms, names, formula.Rules{})
	return err == nil && b.Whole(most)
}
