package workload

import (
	"math"

	"triad/internal/tensor"
)

// largestExact is the largest magnitude of a drawn int64: fp64, the type of truths, distinguishes all
// integers up to it from their neighbours.
const largestExact = 1<<53 - 1

// drawIntegers fills a tensor of an integer dtype. A distribution that means nothing to integers is the
// normal one, which is uniform over the range of the dtype.
func (d *drawing) drawIntegers(distribution string, x []float64) {
	low, high := tensor.IntegerRange(d.dtype)
	low, high = max(low, -largestExact), min(high, largestExact)
	switch distribution {
	case "zeros":
	case "integers":
		d.uniformIntegers(x, max(low, -highestInteger), min(high, highestInteger))
	case "constant":
		d.eachRow(x, d.random("integer"), func(s *stream, r int64, row []float64) {
			v := s.integer(uint64(r), low, high)
			for i := range row {
				row[i] = v
			}
		})
	case "ties":
		v := d.random("integer").integer(0, low, high)
		eachElement(x, nil, func(_ *stream, _ uint64, part []float64) {
			for i := range part {
				part[i] = v
			}
		})
	case "extremes":
		eachElement(x, d.random("extreme"), func(s *stream, first uint64, part []float64) {
			for i := range part {
				part[i] = [2]float64{low, high}[s.below(first+uint64(i), 2)]
			}
		})
	case "sparse":
		d.uniformIntegers(x, low, high)
		d.thin(x)
	default:
		if d.about != nil {
			low, high = max(low, *d.about-3), min(high, *d.about+6)
		}
		d.uniformIntegers(x, low, high)
	}
}

// uniformIntegers draws integers from low to high, both included.
func (d *drawing) uniformIntegers(x []float64, low, high float64) {
	eachElement(x, d.random("integer"), func(s *stream, first uint64, part []float64) {
		for i := range part {
			part[i] = s.integer(first+uint64(i), low, high)
		}
	})
}

// integer returns the i-th integer drawn from [low, high], of which there are at most 2^54.
func (s *stream) integer(i uint64, low, high float64) float64 {
	n := uint64(high-low) + 1
	if n <= 1<<32 {
		return low + float64(s.below(i, n))
	}
	random := uint64(s.word(2*i))<<32 | uint64(s.word(2*i+1))
	return math.Min(low+float64(random%n), high)
}
