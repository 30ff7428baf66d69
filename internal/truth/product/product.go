// Package product is the family of operators that multiply matrices: every element of an output is a sum
// sum_k A[i,k]*B[j,k], of row i of one operand and row j of the other. An operator states its operands, their
// layout, their scales and the epilogue of a product; truth, error bound, simulated contract, samples covered
// by Freivalds' sums, the proof of the gradients and relations follow. Package producttest derives mutants
// and right variants.
package product

import (
	"fmt"
	"slices"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Operator describes an operator of this family.
type Operator struct {
	// Forward and Backward are the products of a pass under the attributes of a case, one for each of its
	// outputs, in the order of the spec. Which operands they take does not depend on the attributes.
	Forward, Backward func(attributes op.Attrs) []Product
	// Operands makes the tensors that are multiplied where they are not the inputs of the pass, as codes and
	// scales are. nil: the inputs.
	Operands func(k *truth.Request) ([]tensor.Tensor, error)
	Permits  []string // the contracts: fp32, tf32, and of scaled operands promoted, fast
	Scaling  Scaling
	// Upstream are the operands that the upstream gradient is in.
	Upstream []string
}

// Product is one output: Alpha * A B^T + Beta * Added, for each matrix of a batch, or of each group of rows.
type Product struct {
	Output string
	A, B   Factor
	Epilogue
	// Groups is the input with the start of each group, and the end: of the rows of A, where B is a batch of
	// one matrix for each group; otherwise along the summed dim, and each group has a matrix of the output.
	Groups string
}

// Factor is an operand, a vector, a matrix or a batch of them: products are summed along its rows. A vector
// is one row; a product with one is a vector too.
type Factor struct {
	Tensor     string // an input of the pass: [k], [rows, k] or [batch, rows, k]
	Transposed bool   // the layout is [k, rows]
	Scale      string // the fp32 multipliers of its values; "" for none
	// SharedRows is the number of its rows that share a multiplier under block scaling.
	SharedRows int64
}

// Scaling assigns multipliers to values: one for all, one for each row, or one for Block values of a row,
// which SharedRows rows may share.
type Scaling struct{ Block int64 }

// Epilogue is applied to a product before it is rounded. The zero value leaves it unchanged.
type Epilogue struct {
	Scaled      bool    // by Alpha, and added to
	Alpha, Beta float64 // fp32 numbers
	Added       string  // an input of the output's shape, or without elements; with Beta = 0 it is not read
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth and relations, and the proof of the gradients where its backward
// takes the operands of its forward: var _ = Register(NAME, Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	definition := truth.Definition{Forward: o.compute(o.Forward), Permits: o.Permits}
	if o.Backward != nil {
		definition.Backward = o.compute(o.Backward)
		if o.Scaling.Block == 0 {
			truth.RegisterLosses(name, o.losses)
		}
	}
	truth.Register(name, definition)
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Products returns the products of a pass under the attributes of a case.
func (o Operator) Products(pass op.Pass, attributes op.Attrs) []Product {
	if pass == op.Backward {
		return o.Backward(attributes)
	}
	return o.Forward(attributes)
}

// Truth returns the truth of the products of a pass, for an operator that registers more than these.
func (o Operator) Truth(pass op.Pass) truth.Function {
	return o.compute(func(a op.Attrs) []Product { return o.Products(pass, a) })
}

// compute returns the truth of the outputs of a pass.
func (o Operator) compute(products func(op.Attrs) []Product) truth.Function {
	return func(k *truth.Request) ([]judge.Target, error) {
		spec, err := catalog.Get(k.Op)
		if err != nil {
			return nil, err
		}
		outputs, err := spec.Spec.Outputs(k.Case)
		if err != nil {
			return nil, err
		}
		if o.Operands != nil {
			made := *k
			if made.In, err = o.Operands(k); err != nil {
				return nil, err
			}
			k = &made
		}
		var targets []judge.Target
		for _, p := range products(k.Attrs) {
			at := slices.IndexFunc(outputs, func(t op.TensorType) bool { return t.Name == p.Output })
			if at < 0 {
				return nil, fmt.Errorf("a product gives %s: want an output of the pass", p.Output)
			}
			if p.Groups != "" {
				target, err := o.grouped(k, p, outputs[at])
				if err != nil {
					return nil, err
				}
				targets = append(targets, target)
				continue
			}
			m, err := o.multiplicationOf(k, p, outputs[at].DType)
			if err != nil {
				return nil, err
			}
			if n := m.a.all() * m.b.rows; n != outputs[at].Elements() {
				return nil, fmt.Errorf("%s has shape %v: want the %d elements of the product", p.Output,
					outputs[at].Shape, n)
			}
			targets = append(targets, m.target(k, outputs[at]))
		}
		return targets, nil
	}
}

// multiplication is one product under a contract.
type multiplication struct {
	a, b     operand
	sums     sums
	out      op.DType
	integers bool // every sum may be exact
}

// sums are the arithmetic of a contract. Rows of the operands are counted through the batch.
type sums interface {
	// see fills in what the arithmetic needs of an operand in addition to its values.
	see(o operand, f factors)
	// seesMore reports whether see does anything.
	seesMore() bool
	// element computes the element of rows r and n of the operands, decoded into a and b.
	element(a, b factors, r, n int64) element
	// exact reports whether every sum of an element of integers is exactly representable, in any order.
	exact(a, b factors, r, n int64) bool
	// freivalds makes the sums that cover rows and columns of the product.
	freivalds(m *multiplication, seed uint64, rows, cols []int64) *judge.Freivalds
	// lowered reports whether the contract rounds anything below fp32 before the output.
	lowered() bool
	// unread lists rows of the output whose elements no sum of random signs can cover, in addition to those
	// of the operands.
	unread() []int64
}

// element is the truth of one element. sim is not rounded to the output yet.
type element struct{ r, t, tFP32, sim float64 }

func (o Operator) multiplicationOf(k *truth.Request, p Product, out op.DType) (*multiplication, error) {
	a, err := operandOf(k, o.Scaling, p.A)
	if err != nil {
		return nil, err
	}
	b, err := operandOf(k, o.Scaling, p.B)
	if err != nil {
		return nil, err
	}
	if a.k != b.k || a.batch != b.batch {
		return nil, fmt.Errorf("%s is %d matrices with %d columns and %s is %d with %d: want as many",
			p.A.Tensor, a.batch, a.k, p.B.Tensor, b.batch, b.k)
	}
	return o.multiply(k, p, out, a, b)
}

// multiply returns the product of two operands, of p or of one of its groups.
func (o Operator) multiply(k *truth.Request, p Product, out op.DType, a, b operand) (*multiplication, error) {
	m := &multiplication{a: a, b: b, out: out, integers: k.Distribution == "integers"}
	if k.Rules.Kappa > 0 && (a.scales != nil || b.scales != nil) {
		m.sums = tensorCoreOf(k, o.Scaling, a, b)
		return m, nil
	}
	sums, err := fp32SumsOf(k, p.Epilogue, a, b)
	m.sums = sums
	return m, err
}

// target returns the truth of the product, whole or by sample.
func (m *multiplication) target(k *truth.Request, output op.TensorType) judge.Target {
	chosen := m.choosePart(k)
	c := k.TargetAt(output.Name, m.out, output.Shape, chosen.index)
	if !m.sums.lowered() {
		c.TFP32 = c.T // nothing is stored low
	}
	if exact := m.fill(c, chosen); exact && m.integers {
		c = truth.Exactly(c)
	}
	if chosen.index == nil {
		return c
	}
	rows, cols := truth.Rest(chosen.rows, m.a.all()), truth.Rest(chosen.cols, m.b.rows)
	if len(rows) > 0 && len(cols) > 0 { // else every element is compared, as where nothing is finite
		c.Freivalds = m.sums.freivalds(m, chosen.seed, rows, cols)
	}
	return c
}
