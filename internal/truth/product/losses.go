package product

import (
	"slices"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/truth"
)

// losses returns the forward's products, each times its upstream gradient, as a function of each operand that
// has a gradient: plain loops over complex numbers that prove the stated gradients. An addend has none.
func (o Operator) losses(k *truth.Request) ([]truth.Loss, error) {
	spec, err := catalog.Get(k.Op)
	if err != nil {
		return nil, err
	}
	c := k.Case
	c.Pass = op.Forward
	types, err := spec.Spec.Inputs(c)
	if err != nil {
		return nil, err
	}
	var names []string
	var values [][]float64
	shapes := map[string][]int64{}
	for _, t := range types {
		if t.Differentiable {
			x, err := k.Values(t.Name)
			if err != nil {
				return nil, err
			}
			names, values, shapes[t.Name] = append(names, t.Name), append(values, x[0]), t.Shape
		}
	}
	products := o.Forward(k.Attrs)
	upstream, offsets := make([][]float64, len(products)), make([][]float64, len(products))
	for i, p := range products {
		if p.Groups != "" {
			values, err := k.Values(p.Groups)
			if err != nil {
				return nil, err
			}
			offsets[i] = values[0]
		}
		dy, err := k.Values("grad_" + p.Output)
		if err != nil {
			return nil, err
		}
		upstream[i] = dy[0]
	}
	return truth.Partial(names, values, func(z [][]complex128) complex128 {
		total := complex128(0)
		of := func(f Factor) elements {
			return elementsOf(f, shapes[f.Tensor], z[slices.Index(names, f.Tensor)])
		}
		for i, p := range products {
			if p.Groups != "" {
				total += p.alpha() * groupedLoss(of(p.A), of(p.B), offsets[i], upstream[i])
				continue
			}
			total += p.alpha() * weighted(of(p.A), of(p.B), upstream[i])
		}
		return total
	}), nil
}

// alpha returns the factor of the product.
func (e Epilogue) alpha() complex128 {
	if !e.Scaled {
		return 1
	}
	return complex(e.Alpha, 0)
}

// elements holds the elements of an operand in the order of its tensor.
type elements struct {
	values         []complex128
	batch, rows, k int
	transposed     bool
}

func elementsOf(f Factor, shape []int64, values []complex128) elements {
	n := len(shape)
	x := elements{
		values: values, batch: 1, rows: int(shape[n-2]), k: int(shape[n-1]), transposed: f.Transposed,
	}
	if n == 3 {
		x.batch = int(shape[0])
	}
	if f.Transposed {
		x.rows, x.k = x.k, x.rows
	}
	return x
}

func (x elements) at(matrix, row, k int) complex128 {
	if x.transposed {
		return x.values[(matrix*x.k+k)*x.rows+row]
	}
	return x.values[(matrix*x.rows+row)*x.k+k]
}

// weighted returns the sum of the elements of A B^T, each times its weight.
func weighted(a, b elements, weight []float64) complex128 {
	total := complex128(0)
	for matrix := range a.batch {
		for i := range a.rows {
			for j := range b.rows {
				c := complex128(0)
				for k := range a.k {
					c += a.at(matrix, i, k) * b.at(matrix, j, k)
				}
				total += c * complex(weight[(matrix*a.rows+i)*b.rows+j], 0)
			}
		}
	}
	return total
}
