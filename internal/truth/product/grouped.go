package product

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// grouped is the truth of a product by groups: each is a product of its own, whose rows follow those of the
// group before it in the output. A sample takes whole rows; the others no sums cover.
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
	rows := int64(0)
	for _, g := range groups {
		rows += g.a.rows
	}
	if n := rows * b.rows; n != output.Elements() {
		return judge.Target{}, fmt.Errorf("%s has shape %v: want the %d elements of the groups", p.Output,
			output.Shape, n)
	}
	chosen := k.Sample.Choose(rows)
	c := k.Target(output.Name, output.DType, output.Shape, chosen)
	if chosen == nil {
		chosen = truth.Rest(nil, rows)
	}
	exact, first, at := true, int64(0), 0
	for _, g := range groups {
		sums, err := fp32SumsOf(k, p.Epilogue, g.a, g.b)
		if err != nil {
			return judge.Target{}, err
		}
		m := &multiplication{
			a: g.a, b: g.b, sums: sums, out: output.DType, integers: k.Distribution == "integers",
		}
		end, _ := slices.BinarySearch(chosen, first+g.a.rows)
		exact = m.fillRows(c, chosen[at:end], first, int64(at)) && exact
		first, at = first+g.a.rows, end
	}
	if !sumsAreLowered(k, a) {
		c.TFP32 = c.T
	}
	if exact && k.Distribution == "integers" {
		c = truth.Exactly(c)
	}
	return c, nil
}

// sumsAreLowered says whether the contract rounds operands below fp32.
func sumsAreLowered(k *truth.Request, a operand) bool {
	return k.Rules.TF32 && a.matrix.DType == op.FP32
}

// fillRows computes chosen rows of a group whose first is row `first` of the output, into the target from row
// `at` of those it has on. It says whether every sum is exact.
func (m *multiplication) fillRows(c judge.Target, chosen []int64, first, at int64) bool {
	own := make([]int64, len(chosen))
	for i, r := range chosen {
		own[i] = r - first
	}
	a, cols, k := m.rows(m.a, own), m.b.rows, m.a.k
	exact := make([]bool, cols)
	parallel.EachWith(cols, m.newRow, func(b factors, n int64) {
		exact[n] = true
		if len(own) > 0 {
			m.row(m.b, b, n)
		}
		for i, r := range own {
			row := a.part(int64(i)*k, int64(i+1)*k)
			exact[n] = m.put(c, (at+int64(i))*cols+n, row, b, r, n) && exact[n]
		}
	})
	return !slices.Contains(exact, false)
}

// group is the operands of one group.
type group struct{ a, b operand }

// groupsOf cuts operands at the offsets: the first by its rows where the second is a batch of matrices, one
// for each group; else both along what is summed.
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

// cut is a part of a matrix without scales: some of its rows (dim 0), or of what is summed (dim 1).
func (o operand) cut(dim int, from, to int64) operand {
	t := o.matrix
	t.Shape = slices.Clone(t.Shape)
	t.Shape[dim], t.Offset = to-from, t.Offset+from*t.Stride[dim]
	return o.with(t)
}

// ofBatch is one matrix of a batch without scales.
func (o operand) ofBatch(i int64) operand {
	t := o.matrix
	t.Offset += i * t.Stride[0]
	t.Shape, t.Stride = t.Shape[1:], t.Stride[1:]
	return o.with(t)
}

func (o operand) with(t tensor.Tensor) operand {
	o.matrix, o.batch, o.rows, o.k = t, 1, t.Shape[0], t.Shape[1]
	return o
}

// groupedLoss is the sum of the elements of a product by groups, each times its weight: plain loops over
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

// reversedGroups turns the rows round and with them the groups: their matrices and where they begin.
func (o Operator) reversedGroups(p Product) func(op.Case, truth.Inputs) (op.Case, []tensor.Tensor) {
	return func(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
		var replaced []tensor.Tensor
		for _, name := range []string{p.A.Tensor, p.B.Tensor} {
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
