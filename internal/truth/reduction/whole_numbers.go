package reduction

import (
	"math"

	"triad/internal/tensor"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

// wholeNumbers says whether fp32 has every value that any form of a term takes for these inputs: sums and
// products of integers, none of which can pass 2^24.
func wholeNumbers(term elementwise.Formula, names []string, in []tensor.Tensor) bool {
	most := map[string]float64{}
	for i, t := range in {
		for _, v := range t.Float64s() {
			if v != math.Trunc(v) {
				return false
			}
			most[names[i]] = math.Max(most[names[i]], math.Abs(v))
		}
	}
	size := map[*formula.Node]float64{}
	for _, n := range formula.Operations(term.Forms...) {
		switch n.Kind {
		case formula.Input:
			size[n] = most[n.Name]
		case formula.Constant:
			if n.Value != math.Trunc(n.Value) {
				return false
			}
			size[n] = math.Abs(n.Value)
		case formula.Add, formula.Sub:
			size[n] = size[n.Operands[0]] + size[n.Operands[1]]
		case formula.Mul:
			size[n] = size[n.Operands[0]] * size[n.Operands[1]]
		case formula.Neg:
			size[n] = size[n.Operands[0]]
		default:
			return false
		}
		if !(size[n] <= 1<<24) {
			return false
		}
	}
	return true
}
