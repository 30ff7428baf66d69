package workload

import (
	"fmt"
	"math"

	"triad/internal/parallel"
)

// upstream draws an upstream gradient.
func (d *drawing) upstream(kind string) ([]float64, error) {
	x := zeroed(d.elements)
	if len(x) == 0 {
		return x, nil
	}
	switch kind {
	case "normal", "expanded", "transposed", "offset":
		d.normal(x)
	case "ones":
		eachElement(x, nil, func(_ *stream, _ uint64, part []float64) {
			for i := range part {
				part[i] = 1
			}
		})
	case "one_hot": // a 1 in every row
		d.eachRow(x, d.random("one-hot"), func(s *stream, r int64, row []float64) {
			row[s.below(uint64(r), uint64(len(row)))] = 1
		})
	case "zeros":
	case "huge": // an eighth of the largest number; the limits of the operator scale it down from there
		d.normal(x)
		eachElement(x, nil, func(_ *stream, _ uint64, part []float64) {
			for i, v := range part {
				part[i] = min(max(v, -8), 8) * (d.format.Max / 8)
			}
		})
	case "non_finite":
		d.special(x)
	default:
		return nil, fmt.Errorf("draw: there is no upstream gradient %q", kind)
	}
	return x, nil
}

// specialApart: a vector has a special number in each part of so many.
const specialApart = 61

// special: normal numbers, and by turns rows with one NaN, +inf, -inf, -0, a large number and none: two in a
// row would hide each other where an operator adds them up. A vector has them in parts.
func (d *drawing) special(x []float64) {
	d.normal(x)
	large := math.Ldexp(1, min(30, math.Ilogb(d.format.Max)-1))
	kinds := [6]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), large, 1}
	start, s, length := d.start(uint64(len(kinds))), d.random("special"), int(d.cols)
	if d.rows == 1 {
		length = specialApart
	}
	for r := 0; r*length < len(x); r++ {
		row := x[r*length : min((r+1)*length, len(x))]
		row[s.below(uint64(r), uint64(len(row)))] = kinds[(r+int(start))%len(kinds)]
	}
}

// parameter draws what does not follow the distribution: weights, biases, masks, tables of angles. Under
// integers they change nothing.
func (d *drawing) parameter(kind, distribution string, shape []int64) ([]float64, error) {
	x := zeroed(d.elements)
	exact := distribution == "integers"
	switch kind {
	case "weight":
		d.affine(x, exact, 1)
	case "bias":
		d.affine(x, exact, 0)
		if distribution == "balanced" {
			d.favours(x)
		}
	case "mask":
		d.mask(x)
	case "cos", "sin":
		if len(shape) != 2 {
			return nil, fmt.Errorf("table %s has shape %v: want [positions, pairs]", kind, shape)
		}
		if shape[0] > largestAngle {
			return nil, fmt.Errorf("table %s has %d positions: want at most 2^20", kind, shape[0])
		}
		d.table(x, kind, exact)
	default:
		return nil, fmt.Errorf("draw: there is no fill %q", kind)
	}
	return x, nil
}

// mask: by turns rows of which half are set, one in eight, none, and all.
func (d *drawing) mask(x []float64) {
	start := d.start(4)
	d.eachRow(x, d.random("mask"), func(s *stream, r int64, row []float64) {
		of8 := [4]int64{4, 1, 0, 8}[(r+start)%4]
		for i := range row {
			if s.below(uint64(r*d.cols+int64(i)), 8) < of8 {
				row[i] = 1
			}
		}
	})
}

// affine: centre + N(0,1)/4, or the centre alone.
func (d *drawing) affine(x []float64, exact bool, centre float64) {
	eachElement(x, d.random("normal"), func(s *stream, first uint64, part []float64) {
		for i := range part {
			part[i] = centre
			if !exact {
				part[i] += s.normal(first+uint64(i)) / 4
			}
		}
	})
}

// table fills [positions, pairs] with the cosine or sine of t * 10000^(-2i/d), d = 2 * pairs; those of
// position 0 if exact.
func (d *drawing) table(x []float64, kind string, exact bool) {
	const ln10000 = 9.21034037197618273607
	parallel.Each(d.cols, func(i int64) {
		frequency := exponential(-float64(ln10000 * (float64(2*i) / float64(2*d.cols))))
		for t := range d.rows {
			angle := float64(float64(t) * frequency)
			if exact {
				angle = 0
			}
			sine, cosine := sineCosine(angle)
			x[t*d.cols+i] = cosine
			if kind == "sin" {
				x[t*d.cols+i] = sine
			}
		}
	})
}

// limit scales the drawn values down by powers of two until every intermediate that the spec bounds stays
// within its range: first an upstream gradient that is huge, then the inputs. Of extreme inputs only what is
// larger than 1 is scaled, so that the smallest numbers remain; if numbers up to 1 exceed the bounds
// themselves, as in a product of four matrices in fp16, what is larger than a smaller power of two.
func (m *maker) limit() error {
	if m.c.DeclaresInfinity() {
		return nil
	}
	for keep := 1.0; keep >= 0x1p-64; keep /= 2 {
		m.keep(keep)
		upstream, inputs := 0, 0
		for range 4096 {
			within, err := m.within(upstream, inputs)
			if err != nil || within {
				m.shrink(upstream, inputs)
				return err
			}
			if m.c.Upstream == "huge" && m.largest(true)*math.Ldexp(1, -upstream) > 1 {
				upstream++
			} else if m.c.Distribution == "extremes" && m.largest(false)*math.Ldexp(1, -inputs) < keep {
				break // scaled values are smaller than kept ones
			} else {
				inputs++
			}
		}
		if m.c.Distribution != "extremes" {
			break
		}
	}
	return fmt.Errorf("make inputs of %s: %s data exceed its limits however small they are", m.c.Op,
		m.c.Distribution)
}

// keep sets the magnitude up to which extreme inputs are not scaled.
func (m *maker) keep(magnitude float64) {
	if m.kept = magnitude; m.c.Distribution != "extremes" {
		return
	}
	for _, s := range m.drawn {
		s.kept = 0
		for _, v := range s.values {
			if v = math.Abs(v); v <= magnitude {
				s.kept = max(s.kept, v)
			}
		}
	}
}

// largest returns the largest magnitude among upstream gradients, or among the rest.
func (m *maker) largest(upstream bool) float64 {
	largest := 0.0
	for _, s := range m.drawn {
		if s.upstream == upstream {
			largest = max(largest, s.largest)
		}
	}
	return largest
}

// within reports whether all bounds hold when upstream gradients and inputs are scaled down by these powers
// of two.
func (m *maker) within(upstream, inputs int) (bool, error) {
	bounds, err := m.spec.Bounds(m.c, m.storedLimit(), func(name string) (float64, bool) {
		s := m.drawn[name]
		switch {
		case s == nil:
			return 0, false
		case s.upstream:
			return math.Ldexp(s.largest, -upstream), true
		case s.scalable && (m.c.Distribution != "extremes" || s.largest > m.kept):
			return max(math.Ldexp(s.largest, -inputs), s.kept), true
		}
		return s.largest, true
	})
	if err != nil {
		return false, err
	}
	for _, b := range bounds {
		if !(b.Value <= b.Limit) {
			return false, nil
		}
	}
	return true, nil
}

// shrink applies the powers of two.
func (m *maker) shrink(upstream, inputs int) {
	for _, s := range m.drawn {
		by := 0
		switch {
		case s.upstream:
			by = upstream
		case s.scalable:
			by = inputs
		}
		if by == 0 {
			continue
		}
		factor := math.Ldexp(1, -by)
		eachElement(s.values, nil, func(_ *stream, _ uint64, part []float64) {
			for i, v := range part {
				if s.upstream || m.c.Distribution != "extremes" || math.Abs(v) > m.kept {
					part[i] = v * factor
				}
			}
		})
		s.largest = max(s.largest*factor, s.kept)
	}
}
