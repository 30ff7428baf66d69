// Package planted emulates kernels that compute a formula in fp32: right ones, which round and approximate as
// GPUs do, and wrong ones, with bugs that follow from the formula. It is for tests of the judge: nothing that
// judges imports it.
package planted

import (
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/formula"
)

// Kernel selects the arithmetic of an emulated kernel.
type Kernel struct {
	Fused bool     // a*b + c is rounded once, as compilers contract it
	Noisy bool     // functions and quotients are off by up to 2 ulp, and e^x is 2^(x*log2(e))
	Low   op.DType // the dtype of Stored nodes
}

// Kernels are the right kernels.
var Kernels = []Kernel{{}, {Fused: true}, {Noisy: true}, {Fused: true, Noisy: true}}

// Prepared computes one formula, element by element.
type Prepared struct {
	kernel Kernel
	nodes  []*formula.Node
	from   [][]int
	values []float64
	inputs []int // which of the inputs a node is; -1 for the others
	fused  []int // where a sum is fused, the place of the product among its operands; else -1
}

// Prepare makes an emulated kernel of a formula of the named inputs.
func (k Kernel) Prepare(n *formula.Node, inputs ...string) *Prepared {
	p := &Prepared{kernel: k, nodes: formula.Operations(n)}
	at := map[*formula.Node]int{}
	for i, m := range p.nodes {
		at[m] = i
		var from []int
		fused := -1
		for j, operand := range m.Operands {
			from = append(from, at[operand])
			if k.Fused && fused < 0 && (m.Kind == formula.Add || m.Kind == formula.Sub) &&
				operand.Kind == formula.Mul {
				fused = j
			}
		}
		p.from, p.fused, p.inputs = append(p.from, from), append(p.fused, fused),
			append(p.inputs, slices.Index(inputs, m.Name))
	}
	p.values = make([]float64, len(p.nodes))
	return p
}

// Element returns the result in fp32 for the values of the inputs, in the order of their names.
func (p *Prepared) Element(in []float64) float64 {
	for i, m := range p.nodes {
		var x, y float64
		if len(p.from[i]) > 0 {
			x = p.values[p.from[i][0]]
		}
		if len(p.from[i]) > 1 {
			y = p.values[p.from[i][1]]
		}
		switch {
		case m.Kind == formula.Input:
			p.values[i] = in[p.inputs[i]]
		case m.Chooses():
			p.values[i] = p.values[p.from[i][m.Chosen(x, y)]]
		case p.fused[i] >= 0:
			p.values[i] = p.fusedSum(i, x, y)
		default:
			p.values[i] = p.kernel.operation(m, x, y)
		}
	}
	return p.values[len(p.nodes)-1]
}

// Elements computes a formula of the named inputs for every element of their values.
func (k Kernel) Elements(n *formula.Node, inputs []string, values map[string][]float64) []float64 {
	p := k.Prepare(n, inputs...)
	y, element := make([]float64, len(values[inputs[0]])), make([]float64, len(inputs))
	for i := range y {
		for j, name := range inputs {
			element[j] = values[name][i]
		}
		y[i] = p.Element(element)
	}
	return y
}

// fusedSum returns x + y or x - y, one of which is an unrounded product.
func (p *Prepared) fusedSum(i int, x, y float64) float64 {
	factors := p.from[p.from[i][p.fused[i]]]
	a, b := p.values[factors[0]], p.values[factors[1]]
	sign := 1.0
	if p.nodes[i].Kind == formula.Sub {
		sign = -1
	}
	if p.fused[i] == 0 {
		return f32(math.FMA(a, b, sign*y))
	}
	return f32(math.FMA(sign*a, b, x))
}

// operation returns one operation in fp32.
func (k Kernel) operation(m *formula.Node, x, y float64) float64 {
	switch m.Kind {
	case formula.Constant:
		return f32(m.Value)
	case formula.Add:
		return f32(x + y)
	case formula.Sub:
		return f32(x - y)
	case formula.Mul:
		return f32(x * y)
	case formula.Div:
		return k.approximate(x / y)
	case formula.Neg:
		return -x
	case formula.Exp:
		if !k.Noisy {
			return f32(math.Exp(x))
		}
		v := k.approximate(math.Exp2(f32(x * math.Log2E)))
		if v < 0x1p-126 {
			return 0 // fast forms flush
		}
		return v
	case formula.Erf:
		return math.Max(-1, math.Min(1, k.approximate(math.Erf(x))))
	case formula.Tanh:
		if math.Abs(x) > 10 {
			return math.Copysign(1, x)
		}
		return math.Max(-1, math.Min(1, k.approximate(math.Tanh(x))))
	case formula.Stored:
		return tensor.Round(k.Low, x, false)
	}
	return math.NaN()
}

// approximate returns a result that is off by up to 2 ulp, determined by the value.
func (k Kernel) approximate(v float64) float64 {
	if k.Noisy && v != math.Trunc(v) && math.Abs(v) >= 0x1p-126 {
		h := math.Float64bits(v) * 0x9E3779B97F4A7C15
		f, _ := tensor.FormatOf(op.FP32)
		v += (float64(h>>11)*0x1p-52 - 1) * 1.5 * f.ULP(v)
	}
	return f32(v)
}

// f32 returns x rounded to fp32.
func f32(x float64) float64 { return float64(float32(x)) }
