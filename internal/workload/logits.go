package workload

import (
	"math"
	"math/bits"
)

// The distributions of this file shape the logits of a softmax: the tensor itself, or, if the logits are a
// product of two inputs, the rows of these two, whose logit is scale * sum_d q*k with a scale near 1/sqrt(d).

// negInfMask: the first quarter of the rows masked completely, then by turns every third column, all but one,
// the first half, the whole row.
func (d *drawing) negInfMask(x []float64) {
	d.normal(x)
	start := d.start(4)
	d.eachRow(x, d.random("mask"), func(s *stream, r int64, row []float64) {
		kind, keep := (r+start)%4, s.below(uint64(r), uint64(len(row)))
		for c := range row {
			masked := r < d.rows/4
			switch kind {
			case 0:
				masked = masked || c%3 == 0
			case 1:
				masked = masked || int64(c) != keep
			case 2:
				masked = masked || c < len(row)/2
			default:
				masked = true
			}
			if masked {
				row[c] = math.Inf(-1)
			}
		}
	})
}

// negInfBlocks: every row has blocks of -inf next to finite numbers. Rows differ in the lane that reads only
// -inf.
func (d *drawing) negInfBlocks(x []float64) {
	d.normal(x)
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		for c := range row {
			if inNegInfBlock(r, int64(c), int64(len(row))) {
				row[c] = math.Inf(-1)
			}
		}
	})
}

// laneRow is the number of columns from which negInfBlocks also masks the elements of one lane.
const laneRow = 256

// inNegInfBlock reports whether negInfBlocks masks column c of row r. Each row has all kinds of blocks, since
// a function may take a single row: the first power of two that is at most half of the row, a quarter of it
// between finite numbers, and the last eighth of the row. They contain tiles, and the consecutive elements of
// one thread. In long rows one lane of a warp reads only -inf too, whether it reads single elements or
// vectors of two, four or eight. The last element is finite: without it a kernel that loses the last tile
// would be right.
func inNegInfBlock(r, c, cols int64) bool {
	first := int64(1) << bits.Len64(uint64(cols)) / 4
	if c == cols-1 {
		return false
	}
	if c < first || c >= cols-cols/8 || c >= first+first/4 && c < first+first/2 {
		return true
	}
	lane, mine := (5*r+3)%32, false
	for vector := int64(1); vector <= 8; vector *= 2 {
		mine = mine || c/vector%32 == lane
	}
	return mine && cols >= laneRow
}

// lowLogits: by turns rows far below -5e4, where a finite stand-in for -inf would win, and rows that are
// merely all negative, where a maximum that starts at 0 would. A product has q > 0 and k < 0 of the fitting
// size.
func (d *drawing) lowLogits(x []float64) {
	d.normal(x)
	start := d.start(2)
	factor := math.Sqrt(6e4 / math.Sqrt(float64(max(d.cols, 1))))
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		far := (r+start)%2 == 0
		for i, v := range row {
			switch {
			case d.role == roleQuery && far:
				row[i] = factor + float64(v*factor/64)
			case d.role == roleQuery:
				row[i] = (factor + float64(v*factor/64)) / 1024
			case d.role == roleKey:
				row[i] = -factor - float64(v*factor/64)
			case d.role == roleOther:
			case far:
				row[i] = -5.5e4 - float64(1e3*math.Abs(v))
			default:
				row[i] = -5 - math.Abs(v)
			}
		}
	})
}

// lateMax: the largest logit comes late, so that a running maximum has to be corrected: by turns only in the
// last column, and rising from the first column to the last.
func (d *drawing) lateMax(x []float64) {
	d.normal(x)
	start := d.start(2)
	d.eachRow(x, nil, func(_ *stream, r int64, row []float64) {
		switch d.role {
		case roleOther:
		case roleQuery:
			for i := range row {
				row[i] = 1 + float64(row[i]/2)
			}
		case roleKey:
			key, head, _ := d.keyed(r)
			lift := float64(2*key) / float64(max(d.keys-1, 1))
			if (head+start)%2 == 0 && key != d.keys-1 {
				lift = 0
			}
			for i := range row {
				row[i] = lift + float64(row[i]/2)
			}
		default:
			if (r+start)%2 == 0 {
				row[len(row)-1] = 12
				return
			}
			for i := range row {
				row[i] += float64(20*i) / float64(len(row))
			}
		}
	})
}

// rowOffsets: every row of logits has another offset between -300 and 300.
func (d *drawing) rowOffsets(x []float64) {
	d.normal(x)
	d.eachRow(x, d.random("offset"), func(s *stream, r int64, row []float64) {
		offset := float64(600*s.uniform(uint64(r))) - 300
		for i := range row {
			switch d.role {
			case roleOther:
			case roleQuery:
				row[i] = float64(row[i]/2) + offset/math.Sqrt(float64(d.cols))
			case roleKey:
				row[i] = 1 + float64(row[i]/2)
			default:
				row[i] += offset
			}
		}
	})
}

// keyed returns the key that a row of keys is, its head, counted over the batch, and that head's first row.
func (d *drawing) keyed(r int64) (key, head, first int64) {
	batch, h := r/(d.keys*d.heads), r%d.heads
	return r / d.heads % d.keys, batch*d.heads + h, batch*d.keys*d.heads + h
}

// ties: several columns share the maximum; in a product, by turns all keys of a head are equal, and every
// second one.
func (d *drawing) ties(x []float64) {
	switch d.integer {
	case "halves":
		d.quarters(x, -127.5, 127.5) // both ends lie halfway between two steps
		return
	case "midpoints":
		d.midpoints(x, midpoints{base: 7, low: 16, high: 28, most: 49})
		return
	}
	d.normal(x)
	start := d.start(2)
	d.eachRow(x, d.random("tie"), func(s *stream, r int64, row []float64) {
		switch d.role {
		case roleQuery, roleOther:
		case roleKey:
			key, head, first := d.keyed(r)
			if key > 0 && ((head+start)%2 == 0 || key%2 == 0) {
				copy(row, x[first*d.cols:])
			}
		default:
			for i := range int64(3) {
				row[s.below(uint64(3*r+i), uint64(len(row)))] = 6
			}
		}
	})
}
