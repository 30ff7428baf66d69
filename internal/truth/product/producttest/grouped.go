package producttest

import (
	"triad/internal/truth/product"
	"triad/internal/truth/truthtest"
)

// Bugs of products by groups.
const (
	firstGroup   = "matrix of the first group for all"
	boundaryLate = "each group but the last ends a row late"
	capacity     = "rows beyond twice an even share of a group dropped"
	lastGroup    = "last group left out"
	emptyGroup   = "gradient of an empty group not written"
)

var ofGroups = []string{firstGroup, boundaryLate, capacity, lastGroup}

// group is one product of a product by groups; any other product is one group.
type group struct {
	left, right operand
	kept        int  // rows of the output that are written; the others are 0
	unwritten   bool // nothing is
}

// finished returns the output of a group as the kernel leaves it.
func (g group) finished(bug string, y []float64) []float64 {
	for i := range y {
		if g.unwritten {
			y[i] = truthtest.Unwritten
		} else if bug != "" && i >= g.kept*g.right.each {
			y[i] = 0
		}
	}
	return y
}

// groupsOf cuts the operands as product.Product defines.
func groupsOf(bug string, p *truthtest.Prepared, one product.Product, left, right operand) []group {
	if one.Groups == "" {
		return []group{{left: left, right: right, kept: len(left.rows)}}
	}
	offsets := startsOf(bug, p.V[one.Groups])
	n, byRows := len(offsets)-1, len(p.In[one.B.Tensor].Shape) == 3
	groups := make([]group, n)
	for i := range groups {
		from, to := offsets[i], offsets[i+1]
		g := group{kept: left.each}
		kept := to - from
		if bug == capacity {
			kept = min(kept, 2*(offsets[n]/n)+1)
		}
		if byRows {
			matrix := i
			if bug == firstGroup {
				matrix = 0
			}
			g.left, g.right = left.only(from, to), right.only(matrix*right.each, (matrix+1)*right.each)
			g.kept = kept
		} else {
			g.left, g.right = left.along(from, from+kept), right.along(from, from+kept)
			g.unwritten = bug == emptyGroup && from == to
		}
		if bug == lastGroup && i == n-1 {
			g.kept = 0
		}
		groups[i] = g
	}
	return groups
}

// startsOf returns the starts of the groups, and the end.
func startsOf(bug string, values []float64) []int {
	offsets := make([]int, len(values))
	for i, v := range values {
		offsets[i] = int(v)
		if bug == boundaryLate && i > 0 {
			offsets[i] = min(int(v)+1, int(values[len(values)-1]))
		}
	}
	return offsets
}

// only returns some rows as one matrix.
func (o operand) only(from, to int) operand {
	return operand{rows: o.rows[from:to], batch: 1, k: o.k, each: to - from}
}

// along returns part of the summed dim.
func (o operand) along(from, to int) operand {
	rows := make([][]float64, len(o.rows))
	for r, row := range o.rows {
		rows[r] = row[from:to]
	}
	return operand{rows: rows, batch: 1, k: to - from, each: o.each}
}
