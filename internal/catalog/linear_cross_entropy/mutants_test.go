package linearcrossentropy

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// onlyMean returns why a bug in the division shows nothing in a group.
func onlyMean(g truthtest.Group) string {
	if g.Value == "mean" {
		return ""
	}
	return "nothing is divided"
}

// onlyFP32 returns why a bug that the contract of 16 bits allows shows nothing in a group.
func onlyFP32(g truthtest.Group) string {
	if g.Dtype == "fp32" {
		return ""
	}
	return "the contract stores logits, whose rounding errors are larger"
}

// right are kernels that keep logits in fp32, and that store them and their gradients.
var right = append(slices.Clone(truthtest.RowVariants),
	truthtest.Arithmetic{Order: truthtest.InLanes, LowP: true},
	truthtest.Arithmetic{Order: truthtest.InSequence, LowP: true, Noisy: true})

var suites = []truthtest.Suite{
	{
		Op: "linear_cross_entropy", Pass: op.Forward, Right: right, Kernel: emulated,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "no maximum subtracted"},
			{Number: 2, Name: "ignored tokens are counted"},
			{Number: 3, Name: "maximum begins at 0"},
			{Number: 4, Name: "mean over all tokens", Equivalent: onlyMean},
			{Number: 6, Name: "target off by one"},
			{Number: 7, Name: "vocabulary tail not summed"},
			{Number: 11, Name: "lse in a low-precision accumulator"},
			{Number: 12, Name: "a token twice"},
			{Number: 15, Name: "chunk boundary lost"},
			{Number: 20, Name: "last of dim dropped"},
			{Number: 21, Name: "logits in 16 bits", Equivalent: onlyFP32},
			{Number: 22, Name: "weight of the class before"},
			{Number: 23, Name: "last chunk alone"},
		},
	},
	{
		Op: "linear_cross_entropy", Pass: op.Backward, Right: right, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 3, Name: "ignored tokens are counted"},
			{Number: 5, Name: "mean over all tokens", Equivalent: onlyMean},
			{Number: 8, Name: "not divided", Equivalent: onlyMean},
			{Number: 13, Name: "one-hot missing"},
			{Number: 14, Name: "p in 16 bits", Equivalent: onlyFP32},
			{Number: 16, Name: "grad_weight added up in 16 bits"},
			{Number: 18, Name: "tail not written"},
			{Number: 20, Name: "last of dim dropped"},
			{Number: 24, Name: "target off by one"},
			{Number: 25, Name: "chunk boundary lost"},
			{Number: 26, Name: "last chunk alone"},
			{Number: 27, Name: "vocabulary tail not summed"},
			{Number: 28, Name: "lse of the token before"},
			{Number: 29, Name: "weight of the class before"},
			{Number: 30, Name: "logits in 16 bits", Equivalent: onlyFP32},
			{Number: 19, Name: "logits added up in 16 bits"},
			{Number: 31, Name: "divided by the tokens of the last chunk", Equivalent: onlyMean},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// chunk is the number of tokens that an emulated kernel takes at once.
const chunk = 24

// emulation is a kernel with its bug.
type emulation struct {
	a                    truthtest.Arithmetic
	d                    op.DType
	low                  op.DType
	x, w, target, lse    []float64
	tokens, dim, classes int
	ignored, divisor     float64
	reduction            string
}

func emulationOf(a truthtest.Arithmetic, p *truthtest.Prepared) *emulation {
	e := &emulation{
		a: a, d: op.FP32, low: p.Low(), target: p.V["target"], lse: p.V["lse"],
		ignored: p.Attrs.Number("ignore_index"), reduction: p.Attrs.Text("reduction"),
	}
	e.x, e.tokens, e.dim = p.Matrix("hidden")
	e.w, e.classes, _ = p.Matrix("weight")
	if p.DType != "fp32" && a.LowP {
		e.d = p.Low()
	}
	for i := range e.tokens {
		last := i >= (e.tokens-1)/chunk*chunk || a.Bug != "divided by the tokens of the last chunk"
		if !e.ignores(i) && last || a.Bug == "mean over all tokens" {
			e.divisor++
		}
	}
	if e.divisor == 0 || e.reduction != "mean" || a.Bug == "not divided" {
		e.divisor = max(1, e.divisor*0)
	}
	return e
}

func (e *emulation) ignores(i int) bool { return e.target[i] == e.ignored }

// leftOut reports whether the token adds nothing.
func (e *emulation) leftOut(i int) bool {
	lost := e.a.Bug == "chunk boundary lost" && i%chunk == chunk-1 ||
		e.a.Bug == "last chunk alone" && i < (e.tokens-1)/chunk*chunk
	return lost || e.ignores(i) && e.a.Bug != "ignored tokens are counted"
}

// class returns the target that a kernel takes; the last for an ignored token that it counts.
func (e *emulation) class(i int) int {
	t := int(e.target[i])
	if e.a.Bug == "target off by one" {
		t = (t + 1) % e.classes
	}
	if t < 0 || t >= e.classes || e.ignores(i) {
		return e.classes - 1
	}
	return t
}

// summed returns how many of n terms a kernel that loses a tail adds up.
func (e *emulation) summed(n int) int {
	if e.a.Bug == "vocabulary tail not summed" {
		return n / truthtest.Vector * truthtest.Vector
	}
	return n
}

// logits returns the logits of a token.
func (e *emulation) logits(i int) []float64 {
	z, dim := make([]float64, e.classes), e.dim
	if e.a.Bug == "last of dim dropped" {
		dim--
	}
	for j := range z {
		row := j
		if e.a.Bug == "weight of the class before" {
			row = (j + e.classes - 1) % e.classes
		}
		term := func(k int) float64 { return truthtest.F32(e.x[i*e.dim+k] * e.w[row*e.dim+k]) }
		switch e.a.Bug {
		case "logits added up in 16 bits":
			z[j] = truthtest.SumLow(e.low, dim, term)
		case "logits in 16 bits":
			z[j] = tensor.Round(e.low, e.a.Sum(dim, term), false)
		default:
			z[j] = tensor.Round(e.d, e.a.Sum(dim, term), false)
		}
	}
	return z
}

// statistics returns maximum and logarithm, whose sum is lse.
func (e *emulation) statistics(z []float64) (m, log float64) {
	m = math.Inf(-1)
	for _, v := range z {
		m = math.Max(m, v)
	}
	switch e.a.Bug {
	case "no maximum subtracted":
		m = 0
	case "maximum begins at 0":
		m = math.Max(m, 0)
	}
	n, term := e.summed(len(z)), func(j int) float64 { return e.a.Exp(truthtest.F32(z[j] - m)) }
	if e.a.Bug == "lse in a low-precision accumulator" {
		return m, truthtest.F32(math.Log(truthtest.SumLow(e.low, n, term)))
	}
	return m, truthtest.F32(math.Log(e.a.Sum(n, term)))
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e := emulationOf(a, p)
	losses, lse := make([]float64, e.tokens), make([]float64, e.tokens)
	for i := range e.tokens {
		z := e.logits(i)
		m, log := e.statistics(z)
		lse[i] = truthtest.F32(m + log)
		if !e.leftOut(i) {
			losses[i] = truthtest.F32(truthtest.F32(m-z[e.class(i)]) + log)
		}
	}
	if a.Bug == "a token twice" && e.tokens > 0 {
		losses[e.tokens/2] *= 2
	}
	if e.reduction == "none" {
		return [][]float64{losses, lse}
	}
	total := e.a.Sum(e.tokens, func(i int) float64 { return losses[i] })
	return [][]float64{{truthtest.F32(total / e.divisor)}, lse}
}

// gradients returns the gradients of the logits of a token.
func (e *emulation) gradients(p *truthtest.Prepared, i int) []float64 {
	if e.leftOut(i) {
		return make([]float64, e.classes)
	}
	z := e.logits(i)
	of := i
	if e.a.Bug == "lse of the token before" {
		of = (i + e.tokens - 1) % e.tokens
	}
	var lse float64
	if p.Saved == "own" {
		m, log := e.statistics(e.logits(of))
		lse = truthtest.F32(m + log)
	} else {
		lse = e.lse[of]
	}
	dy := p.V["grad_loss"]
	w := truthtest.F32(dy[i%len(dy)] / e.divisor)
	for j := range z {
		y := e.a.Exp(truthtest.F32(z[j] - lse))
		if e.a.Bug == "p in 16 bits" {
			y = tensor.Round(e.low, y, false)
		}
		if j == e.class(i) && e.a.Bug != "one-hot missing" {
			y = truthtest.F32(y - 1)
		}
		z[j] = tensor.Round(e.d, truthtest.F32(w*y), false)
	}
	return z
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	e := emulationOf(a, p)
	gradHidden, gradWeight := make([]float64, len(e.x)), make([]float64, len(e.w))
	dz := make([][]float64, e.tokens)
	for i := range dz {
		dz[i] = e.gradients(p, i)
		if e.leftOut(i) {
			continue
		}
		for k := range e.dim {
			gradHidden[i*e.dim+k] = e.a.Sum(e.summed(e.classes),
				func(j int) float64 { return truthtest.F32(dz[i][j] * e.w[j*e.dim+k]) })
		}
	}
	for at := range gradWeight {
		j, k := at/e.dim, at%e.dim
		term := func(i int) float64 {
			if e.leftOut(i) {
				return 0
			}
			return truthtest.F32(dz[i][j] * e.x[i*e.dim+k])
		}
		if a.Bug == "grad_weight added up in 16 bits" {
			gradWeight[at] = truthtest.SumLow(e.low, e.tokens, term)
			continue
		}
		for first := 0; first < e.tokens; first += chunk {
			own := e.a.Sum(min(chunk, e.tokens-first), func(i int) float64 { return term(first + i) })
			gradWeight[at] = truthtest.F32(gradWeight[at] + own)
		}
	}
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(gradHidden, e.tokens, e.dim)
	}
	return [][]float64{gradHidden, gradWeight}
}
