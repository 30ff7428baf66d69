// Package fp8_linear is the truth of a linear layer that is trained in fp8: products of operands that a
// recipe has quantised, rounding by rounding. The codes are exact, so the error bound is that of the
// products.
package fp8_linear

import (
	"fmt"
	"slices"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/fp8"
	"triad/internal/truth/product"
)

const name = "fp8_linear"

var operator = product.Operator{
	Operands: operands,
	Forward: func(op.Attrs) []product.Product {
		return []product.Product{{Output: "y", A: first("x"), B: second("w", fp8.Side)}}
	},
	Backward: func(a op.Attrs) []product.Product {
		ofX := product.Product{Output: "grad_x", A: first("grad_y"), B: second("w", fp8.Side)}
		if a.Text("recipe") == "rowwise_with_gw_hp" {
			return []product.Product{ofX, {
				Output: "grad_w", A: product.Factor{Tensor: "grad_y of its columns"},
				B: product.Factor{Tensor: "x of its columns"},
			}}
		}
		return []product.Product{
			ofX, {Output: "grad_w", A: first("grad_y of its columns"), B: second("x of its columns", 1)},
		}
	},
	Permits: []string{"promoted", "fast"},
	Scaling: product.Scaling{Block: fp8.Side},
}

// The products come with relations of their own; the scales that the forward returns are exact.
var _ = truth.Register(name, truth.Definition{
	Forward: forward, Backward: operator.Truth(op.Backward), Permits: operator.Permits,
})

var _ = truth.RegisterLosses(name, operator.QuantizedLosses("x", "w"))

func first(of string) product.Factor {
	return product.Factor{Tensor: of, Scale: "scales of " + of, SharedRows: 1}
}

func second(of string, sharedRows int64) product.Factor {
	return product.Factor{Tensor: of, Scale: "scales of " + of, SharedRows: sharedRows}
}

func forward(k *truth.Request) ([]judge.Target, error) {
	o, err := catalog.Get(k.Op)
	if err != nil {
		return nil, err
	}
	types, err := o.Spec.Outputs(k.Case)
	if err != nil {
		return nil, err
	}
	targets, err := operator.Truth(op.Forward)(k)
	if err != nil {
		return nil, err
	}
	of := recipes[k.Attrs.Text("recipe")]
	for i, side := range []quantity{of.x, of.w} {
		t, err := k.Tensor([]string{"x", "w"}[i])
		if err != nil {
			return nil, err
		}
		stored := side.stored(t)
		scales := k.Exact(types[1+i], func() func(at []int64) float64 {
			return func(at []int64) float64 { return stored[truth.PositionOf(at, types[1+i].Shape)] }
		})
		// one scale, or one power of two for all groups
		scales.Uniform = len(scales.R) > 0 && slices.Min(scales.R) == slices.Max(scales.R)
		targets = append(targets, scales)
	}
	return targets, nil
}

// quantity names the format, the scale and the groups of one operand of a product.
type quantity struct {
	fp8.Recipe
	per string // tensor, row, block or tile: the groups that share a scale, along the dim that is summed
}

// stored returns the scales as an implementation returns them, row-major.
func (q quantity) stored(t tensor.Tensor) []float64 {
	groups := fp8.GroupsOf(t, q.per)
	for i, amax := range groups.Amax {
		groups.Amax[i], _ = q.Scale(amax)
	}
	return groups.Amax
}

// recipe holds the quantities of the operands of the three products. A tensor of two products is quantised
// for each along the dim that the product sums.
type recipe struct {
	x, w          quantity // y = x w^T
	grad, wOfX    quantity // grad_x = grad_y w
	gradT, xOfW   quantity // grad_w = grad_y^T x
	highPrecision bool     // of grad_w: its operands stay as they are
}

var (
	torchao = fp8.Recipe{Format: op.E4M3}
	powers  = fp8.Recipe{Format: op.E4M3, Powers: true}
	deep    = fp8.Recipe{Format: op.E4M3, DeepSeek: true}
	wide    = fp8.Recipe{Format: op.E5M2}
)

// all quantises every operand alike.
func all(q quantity) recipe { return recipe{x: q, w: q, grad: q, wOfX: q, gradT: q, xOfW: q} }

var recipes = func() map[string]recipe {
	tensorwise, rowwise := all(quantity{torchao, "tensor"}), all(quantity{powers, "row"})
	block := all(quantity{deep, "block"})
	tensorwise.grad.Recipe, tensorwise.gradT.Recipe = wide, wide
	highPrecision := rowwise
	highPrecision.wOfX.per, highPrecision.highPrecision = "tensor", true
	block.w.per, block.wOfX.per = "tile", "tile"
	return map[string]recipe{
		"tensorwise": tensorwise, "rowwise": rowwise, "rowwise_with_gw_hp": highPrecision, "block": block,
	}
}()

// operands quantises what the products of a pass multiply.
func operands(k *truth.Request) ([]tensor.Tensor, error) {
	of, ok := recipes[k.Attrs.Text("recipe")]
	if !ok {
		return nil, fmt.Errorf("fp8_linear: recipe %q: want tensorwise, rowwise, rowwise_with_gw_hp or block",
			k.Attrs.Text("recipe"))
	}
	var made []tensor.Tensor
	add := func(q quantity, name string, t tensor.Tensor) {
		t.Name = name
		codes, scales := q.Quantized(t, q.per)
		made = append(made, codes, scales)
	}
	if k.Pass == op.Forward {
		in, err := k.Tensors("x", "w")
		if err != nil {
			return nil, err
		}
		add(of.x, "x", in[0])
		add(of.w, "w", in[1])
		return made, nil
	}
	in, err := k.Tensors("x", "w", "grad_y")
	if err != nil {
		return nil, err
	}
	x, w, grad := in[0], in[1], in[2]
	add(of.grad, "grad_y", grad)
	add(of.wOfX, "w", turned(w))
	gradT, xT := turned(grad), turned(x)
	gradT.Name, xT.Name = "grad_y of its columns", "x of its columns"
	if of.highPrecision {
		return append(made, gradT, xT), nil
	}
	add(of.gradT, gradT.Name, gradT)
	add(of.xOfW, xT.Name, xT)
	return made, nil
}

// turned returns the transpose, of the same memory.
func turned(t tensor.Tensor) tensor.Tensor {
	t.Shape, t.Stride = []int64{t.Shape[1], t.Shape[0]}, []int64{t.Stride[1], t.Stride[0]}
	return t
}
