package product

import (
	"errors"
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// grouped returns the truth of a product by groups: each is a product of its own, whose rows follow those of
// the group before it in the output.
func (o Operator) grouped(k *truth.Request, p Product, output op.TensorType) (judge.Target, error) {
	a, errA := operandOf(k, o.Scaling, p.A)
	b, errB := operandOf(k, o.Scaling, p.B)
	offsets, errOffsets := k.Values(p.Groups)
	if err := truth.FirstError(errA, errB, errOffsets); err != nil {
		return judge.Target{}, err
	}
	groups, err := groupsOf(a, b, offsets[0])
	if err != nil {
		return judge.Target{}, fmt.Errorf("%s: %w", p.Output, err)
	}
	s := stack{cols: b.rows, starts: []int64{0}}
	for _, g := range groups {
		m, err := o.multiply(k, p, output.DType, g.a, g.b)
		if err != nil {
			return judge.Target{}, err
		}
		s.add(m)
	}
	if n := s.rows() * s.cols; n != output.Elements() {
		return judge.Target{}, fmt.Errorf("%s has shape %v: want the %d elements of the groups", p.Output,
			output.Shape, n)
	}
	return s.target(k, output), nil
}

// stack is products whose rows follow each other in one output.
type stack struct {
	products []*multiplication
	starts   []int64 // the first row of each, and the end
	cols     int64
}

func (s *stack) add(m *multiplication) {
	s.products = append(s.products, m)
	s.starts = append(s.starts, s.rows()+m.a.rows)
}

func (s *stack) rows() int64 { return s.starts[len(s.starts)-1] }

// target returns the truth of all of them, whole or by sample.
func (s *stack) target(k *truth.Request, output op.TensorType) judge.Target {
	chosen := partOf(k.Sample, s.rows(), s.cols, func() (rows, cols []int64) {
		if !k.DeclaresInfinity() {
			return nil, nil
		}
		return s.unfit()
	})
	c := k.TargetAt(output.Name, output.DType, output.Shape, chosen.index)
	exact, lowered := true, false
	for i, m := range s.products {
		lowered = lowered || m.sums.lowered()
		exact = m.fill(c, chosen.within(s.starts[i], s.starts[i+1])) && exact
	}
	if !lowered {
		c.TFP32 = c.T
	}
	if exact && k.Distribution == "integers" {
		c = truth.Exactly(c)
	}
	if chosen.index != nil {
		c.Freivalds = s.freivalds(chosen)
	}
	return c
}

// unfit lists the rows of the output, and the columns of any product, that no sum of random signs can cover.
func (s *stack) unfit() (rows, cols []int64) {
	for i, m := range s.products {
		ofRows, ofCols := m.unfit()
		for j := range ofRows {
			ofRows[j] += s.starts[i]
		}
		rows, cols = append(rows, ofRows...), truth.Union(cols, ofCols)
	}
	return rows, cols
}

// freivalds joins the sums of the products: the remaining rows of each, and the same columns of all.
func (s *stack) freivalds(chosen part) *judge.Freivalds {
	all := &judge.Freivalds{
		Cols: truth.Rest(chosen.cols, s.cols), Seed: chosen.seed,
		Element: func(row, col int64) (r, t float64) {
			i, _ := slices.BinarySearch(s.starts[1:], row+1) // the first that ends after the row
			return s.products[i].elementAt(row-s.starts[i], col)
		},
	}
	for i, m := range s.products {
		own := chosen.within(s.starts[i], s.starts[i+1])
		f := m.sums.freivalds(m, chosen.seed, truth.Rest(own.rows, m.a.rows), all.Cols)
		for _, r := range f.Rows {
			all.Rows = append(all.Rows, s.starts[i]+r)
		}
		all.Sums, all.ErrorBound = append(all.Sums, f.Sums...), append(all.ErrorBound, f.ErrorBound...)
	}
	return all
}

// group is the operands of one group.
type group struct{ a, b operand }

// groupsOf cuts operands at the offsets: the first by its rows where the second is a batch of matrices, one
// for each group; otherwise both along the summed dim.
func groupsOf(a, b operand, offsets []float64) ([]group, error) {
	byRows := len(b.matrix.Shape) == 3
	if len(a.matrix.Shape) != 2 || len(offsets) == 0 || byRows && b.batch != int64(len(offsets)-1) {
		return nil, fmt.Errorf("operands of shapes %v and %v with %d offsets: want a matrix, and one for "+
			"each group or one cut like it", a.matrix.Shape, b.matrix.Shape, len(offsets))
	}
	all := a.k
	if byRows {
		all = a.rows
	}
	if a.k != b.k || offsets[0] != 0 || offsets[len(offsets)-1] != float64(all) || !slices.IsSorted(offsets) {
		return nil, fmt.Errorf("operands of %d and %d columns, offsets %v: want as many columns, and "+
			"offsets that rise from 0 to %d", a.k, b.k, offsets, all)
	}
	if !byRows && (a.scales != nil || b.scales != nil) {
		return nil, errors.New("the groups cut the sum of operands with scales: want groups of rows")
	}
	groups := make([]group, len(offsets)-1)
	for i := range groups {
		from, to := int64(offsets[i]), int64(offsets[i+1])
		if byRows {
			groups[i] = group{a: a.cut(0, from, to), b: b.ofBatch(int64(i))}
		} else {
			groups[i] = group{a: a.cut(1, from, to), b: b.cut(1, from, to)}
		}
	}
	return groups, nil
}

// cut returns a part of a matrix: some of its rows (dim 0), which share no scale with others, or of the
// summed dim (dim 1) of one without scales.
func (o operand) cut(dim int, from, to int64) operand {
	t := o.matrix
	t.Shape = slices.Clone(t.Shape)
	t.Shape[dim], t.Offset = to-from, t.Offset+from*t.Stride[dim]
	if o.rowsPerScale == 1 && o.scales != nil {
		o.scales = o.scales[from*o.perRow : to*o.perRow]
	}
	return o.with(t)
}

// ofBatch returns one matrix of a batch.
func (o operand) ofBatch(i int64) operand {
	t := o.matrix
	t.Offset += i * t.Stride[0]
	t.Shape, t.Stride = t.Shape[1:], t.Stride[1:]
	if o.scales != nil {
		o.scales = o.scales[i*o.perMatrix*o.perRow:]
	}
	return o.with(t)
}

func (o operand) with(t tensor.Tensor) operand {
	o.matrix, o.batch, o.rows, o.k = t, 1, t.Shape[0], t.Shape[1]
	return o
}

// groupedLoss returns the sum of the elements of a product by groups, each times its weight: plain loops over
// complex numbers. The second operand is a matrix for each group.
func groupedLoss(a, b elements, offsets, weight []float64) complex128 {
	total := complex128(0)
	for g := range len(offsets) - 1 {
		for i := int(offsets[g]); i < int(offsets[g+1]); i++ {
			for j := range b.rows {
				c := complex128(0)
				for k := range a.k {
					c += a.at(0, i, k) * b.at(g, j, k)
				}
				total += c * complex(weight[i*b.rows+j], 0)
			}
		}
	}
	return total
}

// reversedGroups reverses the rows and with them the groups: their matrices and their starts.
func (o Operator) reversedGroups(p Product) func(op.Case, truth.Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		var replaced []tensor.Tensor
		for _, name := range []string{p.A.Tensor, p.A.Scale, p.B.Tensor, p.B.Scale} {
			if name == "" {
				continue
			}
			t := first.Get(name)
			replaced = append(replaced, truth.Moved(t, t.Shape, reversal(t.Shape, 2)))
		}
		offsets := first.Get(p.Groups)
		last := offsets.Shape[0] - 1
		values := offsets.Float64s()
		return c, append(replaced, truth.Changed(offsets, func(i int64, _ float64) float64 {
			return values[last] - values[last-i]
		}))
	}
}
