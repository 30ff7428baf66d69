package judge

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Signs is the number of vectors of random signs that a product is multiplied by: a row that is wrong by more
// than its tolerance cancels out under one vector in at most half of all draws, so 2^-20 of them miss it.
const Signs = 20

// Freivalds covers the elements of a product C = A*B outside of the sampled rows and columns by C*r against
// A*(B*r) for vectors r of random signs (Freivalds 1977). It needs no element of the truth. In a batch of
// products the rows are numbered through the batch. A row i is accepted if and only if, for every r,
//
//	|sum_j C_ij*r_j - (A*(B*r))_i| <= sum_j (T_ij + ulp_out(C_ij)/2) + g(N)*u64*sum_j |C_ij|
//
// with j over the N remaining columns: the error inside the kernel, its rounding to the output's dtype, and
// the sum of C in fp64.
type Freivalds struct {
	Rows, Cols []int64     // the rest, in increasing order
	Seed       uint64      // of the signs: see SignsOf
	Sums       [][]float64 // of each of Rows: (A*(B*r))_i under every vector
	ErrorBound []float64   // of each of Rows: at least sum_j T_ij, plus the error of the fp64 sums above
	// Element returns R and T of one element of the product. It is called where C is not finite, and to find
	// the wrong element of a rejected row.
	Element func(row, col int64) (r, t float64)
}

// SignsOf returns the signs of n columns under every vector, each 1 or -1: bit v of the splitmix64 (Steele,
// Lea, Flood 2014) of seed and column.
func SignsOf(seed uint64, cols []int64) [][]float64 {
	signs := make([][]float64, Signs)
	for v := range signs {
		signs[v] = make([]float64, len(cols))
	}
	for j, col := range cols {
		z := seed + (uint64(col)+1)*0x9E3779B97F4A7C15
		z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
		z = (z ^ z>>27) * 0x94D049BB133111EB
		z ^= z >> 31
		for v := range signs {
			signs[v][j] = 1 - 2*float64(z>>v&1)
		}
	}
	return signs
}

// check returns an error that says why the sums cannot cover an output of a shape.
func (f *Freivalds) check(t Target) error {
	if f == nil {
		return nil
	}
	rows, cols := rowsOf(t.Shape)
	if len(t.Shape) < 2 || f.Element == nil || len(f.Sums) != len(f.Rows) ||
		len(f.ErrorBound) != len(f.Rows) {
		return fmt.Errorf("check the truth of %s: %d sums and %d error bounds for %d rows of shape %v: want "+
			"one of each", t.Name, len(f.Sums), len(f.ErrorBound),
			len(f.Rows), t.Shape)
	}
	if !risingBelow(f.Rows, rows) || !risingBelow(f.Cols, cols) {
		return fmt.Errorf("check the truth of %s: the rows or columns its sums cover: want rising ones "+
			"within %v", t.Name, t.Shape)
	}
	for i, sums := range f.Sums {
		finite := len(sums) == Signs && f.ErrorBound[i] >= 0 && f.ErrorBound[i] <= math.MaxFloat64
		for _, s := range sums {
			finite = finite && math.Abs(s) <= math.MaxFloat64
		}
		if !finite {
			return fmt.Errorf("check the truth of %s: row %d: %d sums, error bound %v: want %d finite sums "+
				"and a finite error bound >= 0", t.Name, f.Rows[i],
				len(sums), f.ErrorBound[i], Signs)
		}
	}
	return nil
}

// rowsOf returns the shape of a batch of matrices as rows of its last dim.
func rowsOf(shape []int64) (rows, cols int64) {
	rows = 1
	for _, n := range shape[:max(len(shape)-1, 0)] {
		rows *= n
	}
	if len(shape) > 0 {
		cols = shape[len(shape)-1]
	}
	return rows, cols
}

func risingBelow(x []int64, limit int64) bool {
	last := int64(-1)
	for _, v := range x {
		if v <= last || v >= limit {
			return false
		}
		last = v
	}
	return true
}

// signedRow is the result of one row.
type signedRow struct {
	checked bool
	bad     bool
	col     int64 // the column that was checked alone and rejected; -1: the sums reject the row
	vector  int
	sum     float64
	allowed float64
}

// judgeFreivalds checks the remaining rows of an output that passed by sample.
func judgeFreivalds(v Verdict, target Target, data []byte) Verdict {
	f := target.Freivalds
	signs := SignsOf(f.Seed, f.Cols)
	rows := make([]signedRow, len(f.Rows))
	parallel.Each(len(rows), func(i int) { rows[i] = f.row(target, data, signs, i) })
	for i, r := range rows {
		if r.checked && !r.bad {
			v.Covered += int64(len(f.Cols))
			continue
		}
		v.Status, v.Gate = op.StatusFail, "G6"
		if !r.checked {
			v.Gate, v.Sentence = "G0", fmt.Sprintf("row %d of %s was not compared", f.Rows[i], target.Name)
			return v
		}
		return f.accuse(v, target, data, i, r)
	}
	return v
}

// row compares the sums of one row.
func (f *Freivalds) row(target Target, data []byte, signs [][]float64, i int) signedRow {
	g := gridOf(target)
	row := f.Rows[i]
	_, cols := rowsOf(target.Shape)
	all, left := make([]float64, cols), make([]float64, len(f.Cols))
	tensor.DecodeInto(all, target.DType, data[row*cols*target.DType.Size():])
	allowed, size := f.ErrorBound[i], 0.0
	for j, col := range f.Cols {
		y := all[col]
		if math.IsNaN(y) || math.IsInf(y, 0) || g.saturate && math.Abs(y) == g.format.Max {
			r, t := f.Element(row, col)
			if !g.accepts(y, r, t) || math.IsNaN(r) || math.IsInf(r, 0) {
				return signedRow{checked: true, bad: true, col: col}
			}
			left[j], size = r, size+math.Abs(r) // a correct overflow: the sum takes the exact value
			continue
		}
		left[j] = y
		size += math.Abs(y)
		allowed += g.ulp(y) / 2
		if g.flushes {
			allowed += Tiny
		}
	}
	allowed += G(int64(len(left))) * U64 * size
	out := signedRow{checked: true, col: -1, allowed: allowed}
	for v, s := range signs {
		out.sum, out.vector = dot(left, s), v
		if !(math.Abs(out.sum-f.Sums[i][v]) <= allowed) {
			out.bad = true
			return out
		}
	}
	return out
}

// dot returns the sum of products, in four chains.
func dot(x, y []float64) float64 {
	var a, b, c, d float64
	y = y[:len(x)]
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		a += x[i] * y[i]
		b += x[i+1] * y[i+1]
		c += x[i+2] * y[i+2]
		d += x[i+3] * y[i+3]
	}
	for i := n; i < len(x); i++ {
		a += x[i] * y[i]
	}
	return a + b + (c + d)
}

// accuse names the wrong row, and its wrong element as far as the elements' own intervals show it.
func (f *Freivalds) accuse(v Verdict, target Target, data []byte, i int, r signedRow) Verdict {
	row, size := f.Rows[i], target.DType.Size()
	_, cols := rowsOf(target.Shape)
	g := gridOf(target)
	looked := f.Cols
	if r.col >= 0 {
		looked = []int64{r.col}
	}
	rank := []ranked{}
	at := make([]Element, len(looked))
	for k, col := range looked {
		y := tensor.Decode(target.DType, data[(row*cols+col)*size:(row*cols+col+1)*size])[0]
		e, t := f.Element(row, col)
		at[k] = Element{
			Index: index(row*cols+col, target.Shape), Got: y, Want: g.round(e), Low: g.round(e - t),
			High: g.round(e + t), R: e, T: t,
		}
		if !g.accepts(y, e, t) {
			badness := (math.Abs(y-e) - t) / g.ulp(e)
			if math.IsNaN(badness) {
				badness = math.Inf(1)
			}
			rank = append(rank, ranked{k, true, badness, e, t})
		}
	}
	v.Sentence = fmt.Sprintf("row %d of %s, outside of the sample, is wrong by Freivalds: its sum under "+
		"random signs is %s, want %s within %s",
		row, target.Name, number(r.sum), number(f.Sums[i][r.vector]), number(r.allowed))
	if r.col >= 0 {
		v.Sentence = fmt.Sprintf("row %d of %s, outside of the sample, is wrong by Freivalds: it holds a "+
			"number that is not finite and not due", row, target.Name)
	}
	if len(rank) == 0 {
		return v
	}
	slices.SortFunc(rank, byBadness)
	v.Worst, v.Wrong = at[rank[0].i], int64(len(rank))
	v.Worst16 = nil
	for _, e := range rank[:min(len(rank), worstKept)] {
		v.Worst16 = append(v.Worst16, at[e.i])
	}
	v.Sentence += fmt.Sprintf("; %s is %s, want %s", place(target.Name, v.Worst.Index), number(v.Worst.Got),
		number(v.Worst.Want))
	return v
}
