// Package quantize_fp8 is the truth of numbers made fp8 with the scales that belong to them. A recipe states
// every rounding, so each bit of every output is known.
package quantize_fp8

import (
	"math"
	"slices"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
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
	groups, recipe := groupsOf(k.Case, x), recipeOf(k.Case)
	stored, factors := make([]float64, len(groups.amax)), make([]float64, len(groups.amax))
	for i, amax := range groups.amax {
		stored[i], factors[i] = recipe.scale(amax)
	}
	codes := k.Exact(q, func() func(at []int64) float64 {
		read := truth.ElementReader(x)
		return func(at []int64) float64 {
			return recipe.code(read(at), factors[groups.of(at)])
		}
	})
	scales := k.Exact(scale, func() func(at []int64) float64 {
		return func(at []int64) float64 { return stored[truth.PositionOf(at, scale.Shape)] }
	})
	// one scale, or one power of two for all groups
	scales.Uniform = len(scales.R) > 0 && slices.Min(scales.R) == slices.Max(scales.R)
	return []judge.Target{codes, scales}
}

// side is the number of neighbours in a row that share a scale of a block, and the side of a tile.
const side = 128

// groups are the parts of a matrix that share a scale, row-major.
type groups struct {
	height, width int64 // of one
	across        int64 // in a row of groups
	amax          []float64
}

func (g groups) of(at []int64) int64 { return at[0]/g.height*g.across + at[1]/g.width }

// groupsOf returns the groups of a matrix with the largest magnitude in each: NaN where there is one, 0 in a
// group of nothing.
func groupsOf(c op.Case, x tensor.Tensor) groups {
	rows, cols := x.Shape[0], x.Shape[1]
	g := groups{height: 1, width: max(cols, 1), across: 1}
	down := rows
	switch c.Attrs.Text("per") {
	case "tensor":
		g.height, down = max(rows, 1), 1
	case "block":
		g.width, g.across = side, (cols+side-1)/side
	case "tile":
		g.height, down = side, (rows+side-1)/side
		g.width, g.across = side, (cols+side-1)/side
	}
	g.amax = make([]float64, down*g.across)
	parallel.Runs(int(down), func(first, end int) {
		row := make([]float64, cols)
		for r := int64(first) * g.height; r < min(int64(end)*g.height, rows); r++ {
			x.DecodeRow(row, r, 0)
			for col, v := range row {
				of := &g.amax[g.of([]int64{r, int64(col)})]
				*of = max(*of, math.Abs(v))
			}
		}
	})
	return g
}

// recipe makes scales and codes as a library does.
type recipe struct {
	format           op.DType
	most             float32 // the format's largest number
	deepseek, powers bool
}

func recipeOf(c op.Case) recipe {
	r := recipe{
		format: op.E4M3, most: 448,
		deepseek: c.Attrs.Text("recipe") == "deepseek", powers: c.Attrs.Number("powers") != 0,
	}
	if c.Attrs.Text("format") == "e5m2" {
		r.format, r.most = op.E5M2, 57344
	}
	return r
}

// scale returns what is stored for a group, and the factor of its numbers. torchao stores the factor, and
// divides in fp64; DeepSeek stores its inverse, and divides in fp32.
func (r recipe) scale(amax float64) (stored, factor float64) {
	if !r.deepseek {
		s := float32(float64(r.most) / max(amax, 1e-12))
		if r.powers {
			s = powerBelow(s)
		}
		return float64(s), float64(s)
	}
	a := max(float32(amax), 1e-4)
	s, f := a/r.most, r.most/a
	if r.powers {
		if below := powerBelow(s); below < s {
			s = 2 * below
		}
		f = 1 / s
	}
	return float64(s), float64(f)
}

// powerBelow returns the largest power of two that is at most s, which is normal or no number above 0.
func powerBelow(s float32) float32 {
	const mantissa = 1<<23 - 1
	if !(s > 0) || math.IsInf(float64(s), 1) {
		return s
	}
	return math.Float32frombits(math.Float32bits(s) &^ mantissa)
}

// code returns the fp8 number of x.
func (r recipe) code(x, factor float64) float64 {
	product := float64(float32(x) * float32(factor))
	return tensor.Round(r.format, max(-float64(r.most), min(product, float64(r.most))), false)
}
