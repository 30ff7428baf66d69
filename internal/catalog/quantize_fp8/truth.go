// Package quantize_fp8 is the truth of numbers made fp8 with the scales that belong to them. A recipe states
// every rounding, so each bit of every output is known.
package quantize_fp8

import (
	"slices"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/fp8"
)

var _ = truth.Register("quantize_fp8", truth.Definition{Forward: forward, Permits: []string{"exact"}})

// forward returns q and scale, and the same of the transpose where a case wants it.
func forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank("x", 2)
	if err != nil {
		return nil, err
	}
	o, err := catalog.Get(k.Op)
	if err != nil {
		return nil, err
	}
	types, err := o.Spec.Outputs(k.Case)
	if err != nil {
		return nil, err
	}
	targets := quantized(k, x, types[0], types[1])
	turned := x
	turned.Shape, turned.Stride = []int64{x.Shape[1], x.Shape[0]}, []int64{x.Stride[1], x.Stride[0]}
	if k.Attrs.Number("both") == 0 {
		turned.Shape = []int64{0, 0}
	}
	return append(targets, quantized(k, turned, types[2], types[3])...), nil
}

// quantized returns the codes and the scales of a matrix.
func quantized(k *truth.Request, x tensor.Tensor, q, scale op.TensorType) []judge.Target {
	groups, recipe := fp8.GroupsOf(x, k.Attrs.Text("per")), recipeOf(k.Case)
	stored, factors := make([]float64, len(groups.Amax)), make([]float64, len(groups.Amax))
	for i, amax := range groups.Amax {
		stored[i], factors[i] = recipe.Scale(amax)
	}
	codes := k.Exact(q, func() func(at []int64) float64 {
		read := truth.ElementReader(x)
		return func(at []int64) float64 {
			return recipe.Code(read(at), factors[groups.Of(at)])
		}
	})
	scales := k.Exact(scale, func() func(at []int64) float64 {
		return func(at []int64) float64 { return stored[truth.PositionOf(at, scale.Shape)] }
	})
	// one scale, or one power of two for all groups
	scales.Uniform = len(scales.R) > 0 && slices.Min(scales.R) == slices.Max(scales.R)
	return []judge.Target{codes, scales}
}

func recipeOf(c op.Case) fp8.Recipe {
	r := fp8.Recipe{
		Format: op.E4M3, DeepSeek: c.Attrs.Text("recipe") == "deepseek",
		Powers: c.Attrs.Number("powers") != 0,
	}
	if c.Attrs.Text("format") == "e5m2" {
		r.Format = op.E5M2
	}
	return r
}
