package judge

import (
	"fmt"
	"math"
	"slices"
)

// RMS is G4: the root mean square of the error of one block of an output against that of the simulated
// contract. It keeps the block that came closest to its limit, or exceeded it most.
type RMS struct {
	Blocks int     // how many blocks had elements enough
	Block  string  // which block this is
	N      int64   // its finite elements
	Errors float64 // independent rounding errors that decide them, as in Target; 0: as many as elements
	Error  float64
	Sim    float64
	Fp32   float64 // the root mean square of TFP32
	Limit  float64
}

// share returns the error as a share of its limit.
func (r RMS) share() float64 {
	switch q := r.Error / r.Limit; {
	case r.Error == 0:
		return 0
	case math.IsNaN(q):
		return math.Inf(1) // sums beyond fp64's range cannot be accepted
	default:
		return q
	}
}

// Accepted reports whether the worst block is within its limit; an output without a block of 64 elements is
// left to G2.
func (r RMS) Accepted() bool { return r.Blocks == 0 || r.Error <= r.Limit }

func (r RMS) sentence(output string) string {
	return fmt.Sprintf("%s is noisier than its contract in %s: root mean square error %s, accepted is %s, "+
		"the simulated contract has %s",
		output, r.Block, number(r.Error), number(r.Limit), number(r.Sim))
}

// moments are the sums of one block.
type moments struct {
	n                  int64
	err, sim, expected float64 // sums of (y-R)², (sim-R)², TFP32²
}

func (m *moments) join(o moments) {
	m.n += o.n
	m.err += o.err
	m.sim += o.sim
	m.expected += o.expected
}

// slopes are the sums that G5 needs of the whole output. away and toward bound how far fp32 arithmetic may
// move the stored R away from 0 and toward it: the sums of (RN(|R|+TFP32) - RN(|R|))|R| and (RN(|R|) -
// RN(|R|-TFP32))|R|.
type slopes struct {
	r2, r4, slope, variance float64 // of R², R⁴, (y-sim)R, (y-sim)²R²
	away, toward            float64
	lean                    float64 // of (sim-R)R
}

func (s *slopes) join(o slopes) {
	s.r2 += o.r2
	s.r4 += o.r4
	s.slope += o.slope
	s.variance += o.variance
	s.away += o.away
	s.toward += o.toward
	s.lean += o.lean
}

// statistics holds the results of G4 and G5 for an output.
type statistics struct {
	blocks []RMS // the blocks of G4 that came closest to their limits, closest first
	bias   Bias
}

// worst returns the block that came closest to its limit; the zero block where there is none.
func (s statistics) worst() RMS {
	if len(s.blocks) == 0 {
		return RMS{}
	}
	return s.blocks[0]
}

// blockSum are the moments of one block, or of a part of it.
type blockSum struct {
	block int
	moments
}

// chunkSums are the sums over a run of judged elements. They do not depend on the number of cores: the runs
// are fixed, and joined in their order.
type chunkSums struct {
	all              moments
	lastRow, lastCol moments
	matrices, tiles  []blockSum // in increasing order; the last may continue in the next run
	slopes           slopes
}

// addTo adds moments to the last of some blocks, or to a new one.
func addTo(sums []blockSum, block int, m moments) []blockSum {
	if n := len(sums); n == 0 || sums[n-1].block != block {
		sums = append(sums, blockSum{block: block})
	}
	sums[len(sums)-1].join(m)
	return sums
}

// add adds the judged elements from the first on, with values y and truth v, row by row. known are the sums
// over their segments that follow from the truth alone, nil where they are not known; add returns the rest of
// them.
func (c *chunkSums) add(t Target, g *grid, b blocks, y []float64, v Values, known []segment,
	first int,
) []segment {
	b.eachSegment(t, first, len(y), func(row int64, at, edge, end int) {
		m, s := c.segment(g, y[at:edge], v.part(at, edge), &known)
		last, lastSlopes := c.segment(g, y[edge:end], v.part(edge, end), &known)
		c.slopes.join(s)
		c.slopes.join(lastSlopes)
		c.lastCol.join(last)
		m.join(last)
		c.all.join(m)
		if b.perMatrix > 0 {
			c.matrices = addTo(c.matrices, 1+int(row/b.perMatrix), m)
		}
		c.tiles = addTo(c.tiles, b.firstTile+int(row/rowTile), m)
		if row >= b.rows-tile {
			c.lastRow.join(m)
		}
	})
	return known
}

// eachSegment divides n judged elements from the first on into rows, and each row into the part before its
// last columns, up to edge, and the rest. It counts from the first.
func (b blocks) eachSegment(t Target, first, n int, work func(row int64, at, edge, end int)) {
	for at := 0; at < n; {
		position := t.position(first + at)
		row := position / b.cols
		end := at + t.before(first+at, first+n, (row+1)*b.cols)
		edge := at + t.before(first+at, first+end, (row+1)*b.cols-tile)
		work(row, at, edge, end)
		at = end
	}
}

// before counts the judged elements from i on, up to end, that lie before a position.
func (t Target) before(i, end int, position int64) int {
	if t.Index == nil {
		return int(max(0, min(int64(end), position)-int64(i)))
	}
	n, _ := slices.BinarySearch(t.Index[i:max(i, end)], position)
	return n
}

// segment holds the sums over some judged elements that follow from the truth alone; an output's errors are
// added to them.
type segment struct {
	moments
	slopes
}

// segmentsOf returns the segments of judged elements from the first on, strip by strip.
func segmentsOf(into []segment, t Target, g *grid, b blocks, v Values, first int) []segment {
	for from := 0; from < len(v.R); from += strip {
		n := min(strip, len(v.R)-from)
		b.eachSegment(t, first+from, n, func(_ int64, at, edge, end int) {
			into = append(into, segmentOf(g, v.part(from+at, from+edge), nil))
			into = append(into, segmentOf(g, v.part(from+edge, from+end), nil))
		})
	}
	return into
}

// segmentOf computes the sums that follow from the truth. Elements that are not finite are left out, also
// those of y unless it is nil: G1 has judged them.
func segmentOf(g *grid, values Values, y []float64) segment {
	var m moments
	var s slopes
	truth := values.R
	simulated, allowed := values.Sim[:len(truth)], values.TFP32[:len(truth)]
	n := normalOf(g)
	for i, r := range truth {
		noise, tf := simulated[i]-r, allowed[i]
		if noise-noise != 0 || y != nil && !g.finite(y[i], r) {
			continue
		}
		m.n++
		m.sim += noise * noise
		s.lean += noise * r
		m.expected += tf * tf
		square, size := r*r, math.Abs(r)
		s.r2 += square
		s.r4 += square * square
		var low, stored, high float64
		a, b := math.Float64bits(size-tf), math.Float64bits(size+tf)
		if a>>52-n.lowest < n.span && b>>52-n.lowest < n.span {
			a, b = n.round(a), n.round(b)
			if a == b {
				continue
			}
			low, high = math.Float64frombits(a), math.Float64frombits(b)
			stored = math.Float64frombits(n.round(math.Float64bits(size)))
		} else {
			low, stored, high = g.nearest(size-tf), g.nearest(size), g.nearest(size+tf)
		}
		s.away += (high - stored) * size
		s.toward += (stored - low) * size
	}
	return segment{m, s}
}

// normal rounds positive normal numbers of a dtype, which cannot overflow, by their bits, as Format.Round
// does.
type normal struct {
	drop         uint
	lowest, span uint64 // the exponents of these numbers, as fp64 has them
	half, kept   uint64
}

func normalOf(g *grid) normal {
	if !g.floating || g.format.P >= 53 {
		return normal{} // it has none
	}
	lowest, drop := uint64(g.format.EMin+1023), uint(53-g.format.P)
	return normal{
		drop: drop, lowest: lowest, span: math.Float64bits(g.format.Max)>>52 - lowest,
		half: uint64(1)<<(drop-1) - 1, kept: ^uint64(0) << drop,
	}
}

func (n *normal) round(bits uint64) uint64 { return (bits + n.half + bits>>(n.drop&63)&1) & n.kept }

// finite reports whether y - r is finite.
func (g *grid) finite(y, r float64) bool {
	e := g.value(y, r) - r
	return e-e == 0
}

// nearest returns a value as the dtype holds it, and never an infinity.
func (g *grid) nearest(x float64) float64 {
	if !g.floating {
		return math.RoundToEven(x)
	}
	return g.format.Round(x, true)
}

// segment adds up judged elements. known starts with the sums that follow from their truth, or is nil.
func (c *chunkSums) segment(g *grid, y []float64, values Values, known *[]segment) (moments, slopes) {
	var own segment
	if len(*known) > 0 {
		own, *known = (*known)[0], (*known)[1:]
	} else {
		own = segmentOf(g, values, nil)
	}
	e2, slope, variance := 0.0, 0.0, 0.0
	truth, simulated := values.R[:len(y)], values.Sim[:len(y)]
	for i, v := range y {
		r := truth[i]
		e, along := v-r, (v-simulated[i])*r
		e2 += e * e
		slope += along
		variance += along * along
	}
	if sum := e2 + variance; sum-sum != 0 { // an infinity or a NaN: finite elements are added up alone
		own, e2, slope, variance = segmentOf(g, values, y), 0, 0, 0
		for i, v := range y {
			r, sim := truth[i], simulated[i]
			v = g.value(v, r)
			if e, noise := v-r, sim-r; e-e == 0 && noise-noise == 0 {
				along := (v - sim) * r
				e2 += e * e
				slope += along
				variance += along * along
			}
		}
	}
	own.err, own.slope, own.variance = e2, slope, variance
	return own.moments, own.slopes
}

// joined computes the results of the gates for a target from the sums of all runs.
func joined(t Target, b blocks, runs []chunkSums) statistics {
	sums := make([]moments, len(b.names))
	var total slopes
	for _, c := range runs {
		sums[0].join(c.all)
		for _, blocks := range [][]blockSum{c.matrices, c.tiles} {
			for _, s := range blocks {
				sums[s.block].join(s.moments)
			}
		}
		sums[b.lastRow].join(c.lastRow)
		sums[b.lastCol].join(c.lastCol)
		total.join(c.slopes)
	}
	return statistics{worstBlocks(b, sums, t.Errors), total.bias(t.Leans)}
}

// blocksKept is the number of G4 blocks in a verdict.
const blocksKept = 8

// worstBlocks checks the whole output, each matrix of its last two dims (head), each tile of 64 rows, the
// last 16 rows and the last 16 columns. errors is as in Target.
func worstBlocks(blocks blocks, sums []moments, errors float64) []RMS {
	var worst []RMS
	asked := 0
	for b, m := range sums {
		if m.n < minBlock {
			continue
		}
		asked++
		n := float64(m.n)
		r := RMS{
			Block: blocks.names[b], N: m.n, Errors: errors,
			Error: math.Sqrt(m.err / n), Sim: math.Sqrt(m.sim / n), Fp32: math.Sqrt(m.expected / n),
		}
		r.Limit = rmsLimit(r, Constants{Factor: rmsFactor, Noise: rmsNoise, Share: rmsShare})
		at := len(worst)
		for at > 0 && r.share() > worst[at-1].share() {
			at--
		}
		if at < blocksKept {
			worst = slices.Insert(worst, at, r)
			worst = worst[:min(len(worst), blocksKept)]
		}
	}
	for i := range worst {
		worst[i].Blocks = asked
	}
	return worst
}

// rmsLimit returns the limit of G4 for a block.
func rmsLimit(r RMS, c Constants) float64 {
	n := float64(r.N)
	if r.Errors > 0 {
		n = min(n, r.Errors)
	}
	return c.Factor*(1+c.Noise/math.Sqrt(n))*r.Sim + c.Share*r.Fp32
}

// blocks divides the positions of an output seen as [rows, cols] with cols its last dim.
type blocks struct {
	names            []string
	rows, cols       int64
	perMatrix        int64 // rows of one matrix; 0 where there is just one
	firstTile        int
	lastRow, lastCol int
}

// rowTile is the number of rows in a block of rows.
const rowTile = 64

// blockShape returns an output seen as [rows, cols], without its blocks.
func blockShape(t Target) blocks {
	b := blocks{rows: 1, cols: 1}
	if rank := len(t.Shape); rank > 0 {
		b.cols = max(t.Shape[rank-1], 1)
		b.rows = t.Elements() / b.cols
	}
	return b
}

func blocksOf(t Target) blocks {
	b, rank := blockShape(t), len(t.Shape)
	b.names = []string{"all of it"}
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

// Bias is G5: the slope of y - sim along R. It warns only.
type Bias struct {
	Evaluated  bool    // enough elements carry the sum of R²
	Spread     float64 // how many do: (sum R²)² / sum R⁴
	Slope      float64
	Sigma      float64
	ErrorBound float64 // how far fp32 arithmetic may move the stored R, in the direction of the slope
}

// Accepted reports whether the slope is within 8 standard deviations and the mean error bound.
func (b Bias) Accepted() bool { return math.Abs(b.Slope) <= biasSigmas*b.Sigma+b.ErrorBound }

func (b Bias) sentence(output string) string {
	return fmt.Sprintf("%s is biased: its error has the slope %s along the truth, expected is at most %s",
		output, number(b.Slope), number(biasSigmas*b.Sigma+b.ErrorBound))
}

// bias returns the slope of (y - sim) against R. Truths of the judged dtypes stay below 2^128, so that no
// fourth power overflows. Where the simulated contract leans, a slope the other way, as far as R, is allowed.
func (s slopes) bias(leans bool) Bias {
	if !(s.r2 > 0 && s.r4 <= math.MaxFloat64 && s.r4 > 0) {
		return Bias{}
	}
	errorBound := s.away
	if s.slope < 0 {
		errorBound = s.toward
	}
	if leans && s.lean*s.slope < 0 {
		errorBound += math.Abs(s.lean)
	}
	return Bias{
		Evaluated: s.r2*s.r2 >= biasSpread*s.r4, Spread: s.r2 * s.r2 / s.r4,
		Slope: s.slope / s.r2, Sigma: math.Sqrt(s.variance) / s.r2, ErrorBound: errorBound / s.r2,
	}
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
