package elementwisetest

import (
	"strings"

	"triad/internal/op"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/truthtest"
)

// Bugs of an output that is a sum over rows.
const (
	lastRow    = "the last row is not added"
	twice      = "a row is added twice"
	lostUpdate = "the update of a block is lost"
	firstRow   = "the first row for the sum"
)

// columnBugs are the bugs of columns, in addition to those that truthtest plants in sums over rows.
var columnBugs = []string{
	lastRow, twice, lostUpdate, firstRow, "sums over rows in a low-precision accumulator",
	"last row block dropped", "partial sums in bf16",
}

func isColumns(o elementwise.Output) bool { return o.Columns }

// sumOfRows adds up the rows of the computed terms, in the order of the variant.
func sumOfRows(a truthtest.Arithmetic, output string, p *truthtest.Prepared, terms []float64) []float64 {
	shape := p.Truth.Outputs[0].Shape
	rows, cols := int(shape[0]), int(shape[1])
	bug, mine := strings.CutPrefix(a.Bug, output+": ")
	if a.Bug = ""; mine {
		a.Bug = bug
	}
	order := make([]int, 0, rows+1)
	for r := range rows {
		order = append(order, r)
	}
	switch {
	case a.Bug == lastRow && rows > 0:
		order = order[:rows-1]
	case a.Bug == twice && rows > 0:
		order = append(order, rows/2)
	case a.Bug == firstRow && rows > 0:
		order = order[:1]
	}
	low := p.Low()
	if p.DType == op.FP32.String() {
		low = op.BF16
	}
	sums := make([]float64, cols)
	for c := range sums {
		sums[c] = a.OverRows(len(order), a.Bug == lostUpdate, low, func(i int) float64 {
			return terms[order[i]*cols+c]
		})
	}
	return sums
}
