package crossentropy

import (
	"math"
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

var suites = []truthtest.Suite{
	{
		Op: "cross_entropy", Pass: op.Forward, Right: truthtest.RowVariants, Kernel: emulated,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "no maximum subtracted"},
			{Number: 2, Name: "ignored rows are counted"},
			{Number: 4, Name: "mean over all rows", Equivalent: onlyMean},
			{Number: 6, Name: "target off by one"},
			{Number: 7, Name: "vocabulary tail not summed"},
			{Number: 9, Name: "smoothing over one class less"},
			{Number: 10, Name: "smoothing ignored"},
			{Number: 11, Name: "low-precision accumulator"},
			{Number: 12, Name: "a row twice"},
			{Number: 18, Name: "lse is NaN where -inf begins a row"},
		},
	},
	{
		Op: "cross_entropy", Pass: op.Backward, Right: truthtest.RowVariants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 3, Name: "ignored rows are counted"},
			{Number: 5, Name: "mean over all rows", Equivalent: onlyMean},
			{Number: 8, Name: "not divided", Equivalent: onlyMean},
			{Number: 13, Name: "one-hot missing"},
			{Number: 14, Name: "p in 16 bits"},
			{Number: 15, Name: "smoothing ignored"},
			{Number: 16, Name: "tail not written"},
			{Number: 17, Name: "target off by one"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func emulatedSettings(p *truthtest.Prepared) settings {
	s := settings{
		smoothing: p.Attrs.Number("label_smoothing"), reduction: p.Attrs.Text("reduction"),
		ignored: p.Attrs.Number("ignore_index"), target: p.V["target"],
	}
	for _, t := range s.target {
		if !s.ignores(t) {
			s.counted++
		}
	}
	return s
}

// class returns the target that a kernel takes; the last for an ignored row that it counts.
func class(a truthtest.Arithmetic, target float64, n int) int {
	t := int(target)
	if a.Bug == "target off by one" {
		t = (t + 1) % n
	}
	if t < 0 || t >= n {
		return n - 1
	}
	return t
}

// emulatedLSE returns the logarithm of the sum of exponentials.
func emulatedLSE(a truthtest.Arithmetic, x []float64, low op.DType) float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	if a.Bug == "no maximum subtracted" {
		m = 0
	}
	n := len(x)
	switch {
	case a.Bug == "lse is NaN where -inf begins a row" && n > truthtest.Vector && math.IsInf(x[0], -1):
		return math.NaN()
	case a.Bug == "vocabulary tail not summed":
		n = n / truthtest.Vector * truthtest.Vector
	}
	e := func(i int) float64 { return a.Exp(truthtest.F32(x[i] - m)) }
	if a.Bug == "low-precision accumulator" {
		return truthtest.F32(m + truthtest.F32(math.Log(truthtest.SumLow(low, n, e))))
	}
	return truthtest.F32(m + truthtest.F32(math.Log(a.Sum(n, e))))
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, n := p.Matrix("logits")
	s, losses, sums := emulatedSettings(p), make([]float64, rows), make([]float64, rows)
	divisor := s.counted
	for r := range rows {
		row := x[r*n : (r+1)*n]
		sums[r] = emulatedLSE(a, row, p.Low())
		if s.ignores(s.target[r]) && a.Bug != "ignored rows are counted" {
			continue
		}
		losses[r] = emulatedLoss(a, s, row, sums[r], class(a, s.target[r], n))
	}
	if a.Bug == "a row twice" && rows > 0 {
		losses[rows/2] *= 2
	}
	if s.reduction == "none" {
		return [][]float64{losses, sums}
	}
	total := a.Sum(rows, func(i int) float64 { return losses[i] })
	if a.Bug == "mean over all rows" {
		divisor = float64(rows)
	}
	divisor = math.Max(divisor, 1)
	if s.reduction == "mean" {
		total = truthtest.F32(total / divisor)
	}
	return [][]float64{{total}, sums}
}

func emulatedLoss(a truthtest.Arithmetic, s settings, x []float64, lse float64, target int) float64 {
	smoothing, n := truthtest.F32(s.smoothing), float64(len(x))
	loss := truthtest.F32(lse - x[target])
	if smoothing == 0 || a.Bug == "smoothing ignored" {
		return loss
	}
	if a.Bug == "smoothing over one class less" {
		n--
	}
	mean := truthtest.F32(a.Sum(len(x), func(i int) float64 { return x[i] }) / n)
	return truthtest.F32(truthtest.F32(truthtest.F32(1-smoothing)*loss) +
		truthtest.F32(smoothing*truthtest.F32(lse-mean)))
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, n := p.Matrix("logits")
	s, g, dy := emulatedSettings(p), make([]float64, rows*n), p.V["grad_loss"]
	smoothing := truthtest.F32(s.smoothing)
	if a.Bug == "smoothing ignored" {
		smoothing = 0
	}
	for r := range rows {
		if s.ignores(s.target[r]) && a.Bug != "ignored rows are counted" {
			continue
		}
		lse := emulatedLSE(a, x[r*n:(r+1)*n], p.Low())
		if p.Saved != "own" {
			lse = p.V["lse"][r]
		}
		w := dy[r%len(dy)]
		switch {
		case s.reduction != "mean" || a.Bug == "not divided":
		case a.Bug == "mean over all rows":
			w = truthtest.F32(w / float64(rows))
		default:
			w = truthtest.F32(w / math.Max(s.counted, 1))
		}
		for c := range n {
			y := a.Exp(truthtest.F32(x[r*n+c] - lse))
			if a.Bug == "p in 16 bits" {
				y = tensor.Round(p.Low(), y, false)
			}
			y = truthtest.F32(y - truthtest.F32(smoothing/float64(n)))
			if c == class(a, s.target[r], n) && a.Bug != "one-hot missing" {
				y = truthtest.F32(y - truthtest.F32(1-smoothing))
			}
			g[r*n+c] = truthtest.F32(w * y)
		}
	}
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(g, rows, n)
	}
	return [][]float64{g}
}
