package judge

import (
	"fmt"
	"math"
)

// RMS is G4: the root mean square of the error of one block of an output against that of the simulated contract. It keeps the block that
// came closest to its limit, or went furthest beyond.
type RMS struct {
	Blocks int    // how many blocks had elements enough
	Block  string // which block this is
	N      int64  // its finite elements
	Error  float64
	Sim    float64
	Limit  float64
}

// Accepted says whether the worst block is within its limit; an output without a block of 64 elements is accepted by G2 alone.
func (r RMS) Accepted() bool { return r.Blocks == 0 || r.Error <= r.Limit }

func (r RMS) sentence(output string) string {
	return fmt.Sprintf("%s is noisier than its contract in %s: root mean square error %s, accepted is %s, the simulated contract has %s",
		output, r.Block, number(r.Error), number(r.Limit), number(r.Sim))
}

// moments are the sums of one block.
type moments struct {
	n                  int64
	err, sim, expected float64 // sums of (y-R)², (sim-R)², TFP32²
}

func (m *moments) add(y, r, sim, t float64) {
	e, s := y-r, sim-r
	if math.IsNaN(e) || math.IsInf(e, 0) || math.IsNaN(s) || math.IsInf(s, 0) {
		return // G1 has judged it
	}
	m.n++
	m.err += e * e
	m.sim += s * s
	m.expected += t * t
}

// judgeRMS looks at the whole output, each matrix of its last two dims (head), each tile of 64 rows, the last 16 rows and the last 16 columns.
func judgeRMS(t Target, y []float64) RMS {
	g := gridOf(t)
	blocks := blocksOf(t)
	sums := make([]moments, len(blocks.names))
	for i := range y {
		v := g.value(y[i], t.R[i])
		blocks.of(t.position(i), func(b int) { sums[b].add(v, t.R[i], t.Sim[i], t.TFP32[i]) })
	}
	worst := RMS{}
	ratio := math.Inf(-1)
	for b, m := range sums {
		if m.n < minBlock {
			continue
		}
		worst.Blocks++
		n := float64(m.n)
		r := RMS{Block: blocks.names[b], N: m.n, Error: math.Sqrt(m.err / n), Sim: math.Sqrt(m.sim / n)}
		r.Limit = rmsFactor*(1+rmsNoise/math.Sqrt(n))*r.Sim + rmsAllowance*math.Sqrt(m.expected/n)
		q := r.Error / r.Limit
		if !(r.Error <= r.Limit) && math.IsNaN(q) {
			q = math.Inf(1) // sums beyond fp64's range cannot be accepted
		} else if r.Error == 0 {
			q = 0
		}
		if q > ratio {
			ratio, r.Blocks = q, worst.Blocks
			worst = r
		}
	}
	return worst
}

// blocks divides the positions of an output seen as [rows, cols] with cols its last dim.
type blocks struct {
	names            []string
	rows, cols       int64
	perMatrix        int64 // rows of one matrix; 0 where there is just one
	firstTile        int
	lastRow, lastCol int
}

// rowTile is how many rows one block of rows has.
const rowTile = 64

func blocksOf(t Target) blocks {
	b := blocks{names: []string{"all of it"}, rows: 1, cols: 1}
	rank := len(t.Shape)
	if rank > 0 {
		b.cols = max(t.Shape[rank-1], 1)
		b.rows = t.Elements() / b.cols
	}
	if rank > 2 {
		b.perMatrix = max(t.Shape[rank-2], 1)
		for m := range b.rows / b.perMatrix {
			b.names = append(b.names, fmt.Sprintf("matrix %v", index(m, t.Shape[:rank-2])))
		}
	}
	b.firstTile = len(b.names)
	for r := int64(0); r < b.rows; r += rowTile {
		b.names = append(b.names, fmt.Sprintf("rows %d to %d", r, min(r+rowTile, b.rows)-1))
	}
	b.lastRow, b.lastCol = len(b.names), len(b.names)+1
	b.names = append(b.names, fmt.Sprintf("the last %d rows", tile), fmt.Sprintf("the last %d columns", tile))
	return b
}

// of calls visit for every block that a position lies in.
func (b blocks) of(position int64, visit func(int)) {
	row, col := position/b.cols, position%b.cols
	visit(0)
	if b.perMatrix > 0 {
		visit(1 + int(row/b.perMatrix))
	}
	visit(b.firstTile + int(row/rowTile))
	if row >= b.rows-tile {
		visit(b.lastRow)
	}
	if col >= b.cols-tile {
		visit(b.lastCol)
	}
}

// Bias is G5: the slope of y - sim along R. It warns only.
type Bias struct {
	Evaluated bool // enough elements carry the sum of R²
	Slope     float64
	Sigma     float64
	Allowance float64
}

// Accepted says whether the slope is within 8 standard deviations and the mean allowance.
func (b Bias) Accepted() bool { return math.Abs(b.Slope) <= biasSigmas*b.Sigma+b.Allowance }

func (b Bias) sentence(output string) string {
	return fmt.Sprintf("%s is biased: its error has the slope %s along the truth, expected is at most %s",
		output, number(b.Slope), number(biasSigmas*b.Sigma+b.Allowance))
}

// judgeBias computes the slope of (y - sim) against R: sums of (y-sim)R, (y-sim)²R² and TFP32|R| over the sum of R².
func judgeBias(t Target, y []float64) Bias {
	var r2, r4, slope, variance, allowance float64
	g := gridOf(t)
	scale := largestFinite(t.R) // so that no fourth power overflows
	if !(scale > 0) {
		return Bias{}
	}
	for i := range y {
		r, e := t.R[i]/scale, (g.value(y[i], t.R[i])-t.Sim[i])/scale
		if math.IsNaN(r) || math.IsInf(r, 0) || math.IsNaN(e) || math.IsInf(e, 0) {
			continue
		}
		r2 += r * r
		r4 += r * r * r * r
		slope += e * r
		variance += e * e * r * r
		allowance += t.TFP32[i] / scale * math.Abs(r)
	}
	if !(r2 > 0 && r2*r2 >= biasSpread*r4) {
		return Bias{}
	}
	return Bias{Evaluated: true, Slope: slope / r2, Sigma: math.Sqrt(variance) / r2, Allowance: allowance / r2}
}

func largestFinite(x []float64) float64 {
	largest := 0.0
	for _, v := range x {
		if a := math.Abs(v); a > largest && !math.IsInf(a, 0) {
			largest = a
		}
	}
	return largest
}
