package judge

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"triad/internal/op"
	"triad/internal/tensor"
)

// grid is the dtype of an output together with what its contract says of overflow and underflow.
type grid struct {
	format   tensor.Format
	dtype    op.DType
	floating bool
	saturate bool
	flushes  bool
}

func gridOf(t Target) grid {
	f, ok := tensor.FormatOf(t.DType)
	return grid{f, t.DType, ok, t.Saturate, t.FTZ && (t.DType == op.FP32 || t.DType == op.BF16)}
}

// round is the one rounding of a value to the output's dtype.
func (g grid) round(x float64) float64 {
	if g.floating {
		return g.format.Round(x, g.saturate)
	}
	return tensor.Round(g.dtype, x, g.saturate)
}

// ulp is the distance between neighbours of the dtype at x; 1 for integers.
func (g grid) ulp(x float64) float64 {
	if g.floating && !math.IsNaN(x) {
		return g.format.ULP(x)
	}
	return 1
}

// value is y on the extended line: the NaN code of a format without infinity is its overflow where the truth is finite.
func (g grid) value(y, r float64) float64 {
	if g.floating && !g.format.Infinity && !g.saturate && math.IsNaN(y) {
		return math.Copysign(math.Inf(1), r)
	}
	return y
}

// accepts is G1 and G2 for one element: class where the truth is NaN or infinite, the rounded interval where it is finite.
func (g grid) accepts(y, r, t float64) bool {
	if math.IsNaN(r) {
		return math.IsNaN(y)
	}
	if math.IsInf(r, 0) {
		if g.saturate {
			return y == math.Copysign(g.format.Max, r)
		}
		return g.value(y, r) == r
	}
	v := g.value(y, r)
	low, high := r-t, r+t
	if low <= v && v <= high && !math.IsInf(v, 0) {
		return true // rounding is monotone: RN(low) <= RN(v) = v <= RN(high)
	}
	if g.round(low) <= v && v <= g.round(high) {
		return true
	}
	return g.flushes && math.Abs(r)-t < Tiny && v == 0
}

// tally is what a run of elements adds up to.
type tally struct {
	compared, wrong int64
	ulpMax, ulpSum  float64
	finite          int64
	headroom        float64
	ulps            Histogram
	worst           []ranked // at most 16, worst first
}

// ranked is an element by how bad it is: rejected ones first, then by (|y-R| - T)/ulp, a class mismatch being infinitely bad.
type ranked struct {
	i        int
	rejected bool
	badness  float64
}

// byBadness orders the worst first, the earlier first among equals.
func byBadness(a, b ranked) int {
	if a.rejected != b.rejected {
		if a.rejected {
			return -1
		}
		return 1
	}
	if c := cmp.Compare(b.badness, a.badness); c != 0 {
		return c
	}
	return cmp.Compare(a.i, b.i)
}

const worstKept = 16

// note keeps an element if it is among the worst so far.
func (s *tally) note(e ranked) {
	if len(s.worst) == worstKept && byBadness(e, s.worst[worstKept-1]) >= 0 {
		return
	}
	at, _ := slices.BinarySearchFunc(s.worst, e, byBadness)
	s.worst = slices.Insert(s.worst, at, e)
	if len(s.worst) > worstKept {
		s.worst = s.worst[:worstKept]
	}
}

// look judges element i and adds it up.
func (s *tally) look(g grid, i int, y, r, t float64) {
	s.compared++
	accepted := g.accepts(y, r, t)
	if !accepted {
		s.wrong++
	}
	badness := math.Inf(1)
	if math.IsNaN(r) || math.IsInf(r, 0) {
		if accepted {
			return
		}
	} else {
		v := g.value(y, r)
		err, ulp := math.Abs(v-r), g.ulp(r)
		if math.IsInf(v, 0) && accepted {
			return // the other side of the overflow threshold
		}
		if math.IsNaN(err) {
			err = math.Inf(1)
		}
		s.ulps.add(err / ulp)
		s.ulpMax = math.Max(s.ulpMax, err/ulp)
		if !math.IsInf(err, 0) {
			s.finite++
			s.ulpSum += err / ulp
			if err > 0 {
				s.headroom = math.Min(s.headroom, (t+g.ulp(v)/2)/err)
			}
			badness = (err - t) / ulp
		}
	}
	s.note(ranked{i, !accepted, badness})
}

// merge adds a later run of elements to this one.
func (s *tally) merge(o tally) {
	s.compared += o.compared
	s.wrong += o.wrong
	s.finite += o.finite
	s.ulpMax = math.Max(s.ulpMax, o.ulpMax)
	s.ulpSum += o.ulpSum
	s.headroom = math.Min(s.headroom, o.headroom)
	for i, n := range o.ulps {
		s.ulps[i] += n
	}
	for _, e := range o.worst {
		s.note(e)
	}
}

// chunk is how many elements one goroutine takes at a time; the sums are added up in the order of the chunks, so that a verdict does not
// depend on the number of cores.
const chunk = 1 << 15

// compareElements is G1, G2 and G3: it compares every judged element.
func compareElements(target Target, y []float64) Verdict {
	if len(y) != len(target.R) {
		return Verdict{Status: op.StatusFail, Gate: "G0", N: int64(len(target.R)), Compared: int64(len(y)), Sentence: target.Name + ": not every planned element came back"}
	}
	g := gridOf(target)
	parts := make([]tally, (len(y)+chunk-1)/chunk)
	inParallel(len(parts), func(p int) {
		s := &parts[p]
		s.headroom = math.Inf(1)
		for i := p * chunk; i < min((p+1)*chunk, len(y)); i++ {
			s.look(g, i, y[i], target.R[i], target.T[i])
		}
	})
	total := tally{headroom: math.Inf(1)}
	for _, p := range parts {
		total.merge(p)
	}
	return verdictOf(target, g, y, total)
}

// verdictOf turns the sums into a verdict: it passes if and only if everything planned was compared and accepted.
func verdictOf(target Target, g grid, y []float64, s tally) Verdict {
	v := Verdict{
		Output: target.Name, N: int64(len(target.R)), Compared: s.compared, Wrong: s.wrong, Headroom: s.headroom, ULPMax: s.ulpMax, ULPs: s.ulps,
	}
	if s.finite > 0 {
		v.ULPMean = s.ulpSum / float64(s.finite)
	}
	for _, e := range s.worst {
		r, t := target.R[e.i], target.T[e.i]
		v.Worst16 = append(v.Worst16, Element{
			Index: index(target.position(e.i), target.Shape), Got: y[e.i], Want: g.round(r), Low: g.round(r - t), High: g.round(r + t), R: r, T: t,
		})
	}
	if len(v.Worst16) > 0 {
		v.Worst = v.Worst16[0]
	}
	switch {
	case v.Compared > 0 && v.Compared == v.N && v.Wrong == 0:
		v.Status = op.StatusPass
	case v.Wrong == 0:
		v.Status, v.Gate, v.Sentence = op.StatusFail, "G0", target.Name+": not every planned element was compared"
	default:
		v.Status, v.Gate, v.Sentence = op.StatusFail, gateOf(target, v.Worst), rejected(v)
	}
	return v
}

// gateOf names the gate that rejects an element.
func gateOf(target Target, e Element) string {
	switch {
	case math.IsNaN(e.R) || math.IsInf(e.R, 0) || math.IsNaN(e.Got):
		return "G1"
	case target.Exact:
		return "G3"
	}
	return "G2"
}

// inParallel calls work for 0 <= i < n on all cores.
func inParallel(n int, work func(i int)) {
	cores := min(n, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for c := range cores {
		wait.Go(func() {
			for i := c; i < n; i += cores {
				work(i)
			}
		})
	}
	wait.Wait()
}
