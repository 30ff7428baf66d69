package workload

import (
	"math"

	"triad/internal/op"
)

// The integers from lowest to highest fit every dtype exactly. Their mean is not 0, so partial sums pass 2^8
// soon, where an accumulator in bf16 is no longer exact, and 2^11, where one in fp16 is not.
const (
	lowestInteger  = -2
	highestInteger = 8
)

// integers: small ones, unless the operator asks for others: for a softmax zeros with one 1024 a row, so that
// the answer is exactly one-hot.
func (d *drawing) integers(x []float64) {
	s := d.random("integer")
	switch d.integer {
	case "halves":
		// the unit is the step of 8 bits, or half of it if 0 need not be in the middle of their range
		d.quarters(x, -0.5, 127)
		return
	case "midpoints":
		d.midpoints(x, midpoints{base: 19, low: 8, high: 13, most: -76})
		return
	case "one_hot":
		d.eachRow(x, s,
			func(s *stream, r int64, row []float64) { row[s.below(uint64(r), uint64(len(row)))] = 1024 })
		return
	case "wide":
		n := float64(d.mostExact())
		d.uniformIntegers(x, -n, n)
		return
	case "total":
		d.small(x, s)
		d.total(x)
		return
	case "apart":
		d.small(x, s)
		d.apart(x)
		return
	case "order":
		d.order(x, s)
		return
	}
	d.small(x, s)
}

// small draws integers from lowest to highest.
func (d *drawing) small(x []float64, s *stream) {
	eachElement(x, s, func(s *stream, first uint64, part []float64) {
		for i := range part {
			part[i] = float64(lowestInteger + s.below(first+uint64(i), highestInteger-lowestInteger+1))
		}
	})
}

// mostExact returns the integer up to which a 16-bit dtype represents all; for other dtypes it is that of
// fp16, so that fp32 still represents every sum.
func (d *drawing) mostExact() int64 {
	if d.dtype == op.BF16 {
		return 1 << 8
	}
	return 1 << 11
}

// tie returns an odd number above mostExact that is halfway between two numbers of the dtype, of which the
// one nearer to 0 is even: rounding halves away from 0, or up, gives the other one.
func (d *drawing) tie() int64 {
	n := d.mostExact()
	return n + 1 + 4*d.random("tie").below(0, uint64(n/4))
}

// total: the first tensor of an operator is mirrored and negated after its middle, another only mirrored. So
// the sum of the first, and of its products with the others, is that of its two ends only, which is a tie,
// although partial sums are large in the middle.
func (d *drawing) total(x []float64) {
	n := len(x)
	if n < 4 {
		return
	}
	first := d.beside == nil
	for i := range n / 2 {
		if x[n-1-i] = x[i]; first { // an int has no -0
			x[n-1-i] = 0 - x[i]
		}
	}
	if !first {
		x[0], x[n-1] = 1, 1
		return
	}
	if n%2 == 1 {
		x[n/2] = 0
	}
	most, total := d.mostExact(), d.tie()
	sign := float64(1 - 2*d.random("sign").below(0, 2))
	x[0], x[n-1] = sign*float64(most), sign*float64(total-most)
}

// apart: in as many places as the tie's value the second tensor is one more or one less than the first,
// elsewhere equal. So the squares of their differences add up to the tie. Short tensors are drawn
// independently.
func (d *drawing) apart(x []float64) {
	left := d.tie()
	if d.beside == nil || left > int64(len(x)) {
		return
	}
	choose, sign := d.random("place"), d.random("sign")
	for i := range x {
		x[i] = d.beside[i]
		if choose.below(uint64(i), uint64(len(x)-i)) < left {
			x[i] += float64(1 - 2*sign.below(uint64(i), 2))
			left--
		}
	}
}

// order: large numbers of either sign, and odd multiples of half the distance from one of them to the next
// fp32 number. Where large ones cancel, the order of a sum in fp32 decides what is left. Every eighth column
// is -0: a sum that begins with 0 is 0 there.
func (d *drawing) order(x []float64, s *stream) {
	const large = 0x1p15
	const half = large * 0x1p-24
	start := d.start(8)
	d.eachRow(x, s, func(s *stream, r int64, row []float64) {
		for i := range row {
			w := s.word(uint64(r*d.cols + int64(i)))
			if row[i] = large; w>>31 == 0 {
				row[i] = half * float64(1+w>>4%2*2)
			}
			if (int64(i)+start)%8 == 0 {
				row[i] = 0
			}
			if w&1 == 1 || row[i] == 0 {
				row[i] = -row[i]
			}
		}
	})
}

// midpoints are numbers base*k/4, k from low to high, times powers of two down to 2^-6, of either sign, next
// to most, the largest magnitude of a group: of either sign if it is positive, else always negative, so that
// a kernel that takes no magnitudes misses it.
type midpoints struct{ base, low, high, most int64 }

// midpoints: scaled by 448/most, many of them lie halfway between two fp8 numbers. With base 7 the quotients
// are exact, and the product with the rounded factor is off by one fp32 place; with base 19 two ways to round
// the factor itself differ. 16 neighbours in a row or a column have the largest number among them.
func (d *drawing) midpoints(x []float64, m midpoints) {
	start := int64(d.start(16))
	d.eachRow(x, d.random("integer"), func(s *stream, r int64, row []float64) {
		first := uint64(r * d.cols)
		for i := range row {
			const powers, signs = 7, 2
			choices := (m.high - m.low + 1) * powers * signs
			n := s.below(first+uint64(i), uint64(choices))
			largest := (r+int64(i)+start)%16 == 0
			if row[i] = float64(m.most); !largest {
				row[i] = math.Ldexp(float64(m.base*(m.low+n/(powers*signs))), -2-int(n/signs%powers))
			}
			if n%signs != 0 && !(largest && m.most < 0) {
				row[i] *= -1
			}
		}
	})
}

// quarters: those of a small power of two, by turns in a row from low to high times it, and in one from -127
// to 1/2 times one so much smaller that it lies within the other's range.
func (d *drawing) quarters(x []float64, low, high float64) {
	start := d.start(2)
	d.eachRow(x, d.random("integer"), func(s *stream, r int64, row []float64) {
		low, high, unit := low, high, 0x1p-11
		if (r+start)%2 == 1 {
			low, high, unit = -127, 0.5, 0x1p-20
		}
		first, n := uint64(r*d.cols), uint64(len(row))
		for i := range row {
			row[i] = unit * (low + float64(s.below(first+uint64(i), uint64(4*(high-low))+1))/4)
		}
		end := uint64(s.below(first, n))
		row[(end+1)%n] = unit * low
		row[end] = unit * high
	})
}
