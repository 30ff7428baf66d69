package judge

import (
	"cmp"
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// grid is the dtype of an output, with its contract's rules for overflow and underflow.
type grid struct {
	format   tensor.Format
	dtype    op.DType
	floating bool
	saturate bool
	flushes  bool
	bits     bool
	choice   bool
}

func gridOf(t Target) *grid {
	f, ok := tensor.FormatOf(t.DType)
	flushes := t.FTZ && (t.DType == op.FP32 || t.DType == op.BF16)
	return &grid{f, t.DType, ok, t.Saturate, flushes, t.Bits, t.Choice != nil}
}

// round returns the one rounding of a value to the output's dtype.
func (g *grid) round(x float64) float64 {
	if g.floating {
		return g.format.Round(x, g.saturate)
	}
	return tensor.Round(g.dtype, x, g.saturate)
}

// bounds returns the ends of the interval [RN(r-t), RN(r+t)]. A number within the range of an integer dtype
// is stored as one whatever its error bound is, so that the ends lie within the range too.
func (g *grid) bounds(r, t float64) (low, high float64) {
	low, high = g.round(r-t), g.round(r+t)
	if g.floating || t == 0 || math.IsNaN(g.round(r)) {
		return low, high
	}
	least, most := tensor.IntegerRange(g.dtype)
	return g.round(max(r-t, least)), g.round(min(r+t, most))
}

// ulp returns the distance between neighbours of the dtype at x; 1 for integers.
func (g *grid) ulp(x float64) float64 {
	if g.floating && !math.IsNaN(x) {
		return g.format.ULP(x)
	}
	return 1
}

// logULP returns the exponent of ulp, which is a power of two: scaling by it is exact.
func (g *grid) logULP(x float64) int {
	if !g.floating || math.IsNaN(x) {
		return 0
	}
	if math.Abs(x) > g.format.Max {
		x = g.format.Max
	}
	return max(int(math.Float64bits(x)>>52&0x7FF)-1023, g.format.EMin) - g.format.P + 1
}

// power returns 2^e for the exponent of a normal fp64.
func power(e int) float64 { return math.Float64frombits(uint64(e+1023) << 52) }

// value returns y on the extended real line: the NaN code of a format without infinity is its overflow where
// the truth is finite.
func (g *grid) value(y, r float64) float64 {
	if g.floating && !g.format.Infinity && !g.saturate && math.IsNaN(y) {
		return math.Copysign(math.Inf(1), r)
	}
	return y
}

// half returns the distance from a number of the dtype to the nearer midpoint with a neighbour: half an ulp,
// a quarter at a power of two.
func (g *grid) half(v float64) float64 {
	e := g.logULP(v) - 1
	if math.Float64bits(v)&(1<<52-1) == 0 {
		e--
	}
	return power(e)
}

// accepts applies G1 and G2 to one element y, a number of the dtype: class where the truth is NaN or
// infinite, the rounded interval where it is finite.
func (g *grid) accepts(y, r, t float64) bool {
	if math.IsNaN(r) {
		return math.IsNaN(y)
	}
	if g.bits {
		return math.Float64bits(y) == math.Float64bits(r)
	}
	if math.IsInf(r, 0) {
		if g.saturate {
			return y == math.Copysign(g.format.Max, r)
		}
		return g.value(y, r) == r
	}
	v := g.value(y, r)
	low, high := r-t, r+t
	if g.floating && math.Abs(v) <= g.format.Max {
		half := g.half(v)
		if high > v-half && low < v+half {
			// rounding is monotone, and a number beyond the midpoint to a neighbour rounds to v or further:
			// RN(low) <= v <= RN(high)
			return true
		}
	}
	if low, high = g.bounds(r, t); low <= v && v <= high {
		return true
	}
	return g.flushes && math.Abs(r)-t < Tiny && v == 0
}

// largest holds the largest errors of a run of elements. They are shown and decide nothing.
type largest struct {
	absolute float64 // |y-R|
	relative float64 // |y-R| / (|R| + 1e-8), as FlashInfer-Bench has it: a truth of 0 has one too
}

// see adds a finite error at the truth r.
func (l *largest) see(err, r float64) {
	if err > l.absolute {
		l.absolute = err
	}
	if size := math.Abs(r) + 1e-8; err > l.relative*size { // divided only where it may be the largest
		l.relative = err / size
	}
}

// sees adds the largest errors of others; NaN or an infinity instead of another value is an infinite one.
func (l *largest) sees(o largest) {
	l.absolute, l.relative = math.Max(l.absolute, o.absolute), math.Max(l.relative, o.relative)
}

// endless is the error of NaN or an infinity instead of another value.
var endless = largest{math.Inf(1), math.Inf(1)}

// tally accumulates the results of a run of elements.
type tally struct {
	compared, wrong int64
	ulpMax, ulpSum  float64
	finite          int64
	errorMargin     float64
	errors          largest
	ulps            Histogram
	tightest        ranked   // the element of least error margin, where error margin is finite
	worst           []ranked // at most 16, worst first
	bar             float64  // the badness that an accepted element must exceed once there are 16
}

// ranked is an element by its badness: rejected ones first, then by (|y-R| - T)/ulp; a class mismatch is
// infinitely bad.
type ranked struct {
	i        int
	rejected bool
	badness  float64
	r, t     float64
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
	if s.bar = math.Inf(1); !s.worst[len(s.worst)-1].rejected {
		s.bar = s.worst[len(s.worst)-1].badness
	}
}

// lookAll is look for a run of elements from the first on. Elements that are finite and clearly within their
// interval, nearly all in a right output, are added up here; the others are compared one by one.
func (s *tally) lookAll(g *grid, first int, y, truth, allowed []float64) {
	if g.bits {
		s.lookBits(g, first, y, truth)
		return
	}
	if !g.floating {
		for i, v := range y {
			s.look(g, first+i, v, truth[i], allowed[i])
		}
		return
	}
	truth, allowed = truth[:len(y)], allowed[:len(y)]
	most, lowest, precision := g.format.Max, uint64(g.format.EMin+1023), uint64(g.format.P)
	n, within := int64(0), int64(0) // added up here since the last look, and those of them within half an ulp
	ulpSum, ulpMax, errorMargin, bar := s.ulpSum, s.ulpMax, s.errorMargin, s.leastBad()
	errors := s.errors
	for i, v := range y {
		r, t := truth[i], allowed[i]
		bits := math.Float64bits(v)
		half := math.Float64frombits((max(bits>>52&0x7FF, lowest) - precision) << 52)
		safe := half
		if bits&(1<<52-1) == 0 {
			safe /= 2 // the neighbour below a power of two is nearer
		}
		if !(math.Abs(v) <= most && math.Abs(r) <= most && r+t > v-safe && r-t < v+safe) {
			s.ulpSum, s.ulpMax, s.errorMargin, s.errors = ulpSum, ulpMax, errorMargin, errors
			s.look(g, first+i, v, r, t)
			ulpSum, ulpMax, errorMargin, bar = s.ulpSum, s.ulpMax, s.errorMargin, s.leastBad()
			errors = s.errors
			continue
		}
		err := math.Abs(v - r)
		perULP := math.Float64frombits((2045 + precision - max(math.Float64bits(r)>>52&0x7FF, lowest)) << 52)
		ulps := err * perULP
		n++
		if ulps <= 0.5 {
			within++
		} else {
			s.ulps.add(ulps)
		}
		if ulps > ulpMax {
			ulpMax = ulps
		}
		ulpSum += ulps
		errors.see(err, r)
		if room := t + half; err > 0 && room <= errorMargin*err*(1+0x1p-40) && room/err < errorMargin {
			errorMargin, s.tightest = room/err, ranked{i: first + i, r: r, t: t}
		}
		if badness := (err - t) * perULP; badness > bar {
			s.note(ranked{first + i, false, badness, r, t})
			bar = s.leastBad()
		}
	}
	s.ulpSum, s.ulpMax, s.errorMargin, s.errors = ulpSum, ulpMax, errorMargin, errors
	s.compared += n
	s.finite += n
	s.ulps[0] += within
}

// lookBits is lookAll where bits are compared.
func (s *tally) lookBits(g *grid, first int, y, truth []float64) {
	same := int64(0)
	for i, v := range y {
		if v-v == 0 && math.Float64bits(v) == math.Float64bits(truth[i]) && s.leastBad() >= 0 {
			same++ // finite, and no worse than the kept ones
			continue
		}
		s.look(g, first+i, v, truth[i], 0)
	}
	s.compared += same
	s.finite += same
	s.ulps[0] += same
}

// leastBad returns the badness that an accepted element must exceed to be among the worst.
func (s *tally) leastBad() float64 {
	if len(s.worst) < worstKept {
		return math.Inf(-1)
	}
	return s.bar
}

// count adds a finite error in ulps to the statistics.
func (s *tally) count(ulps float64) {
	if ulps <= 0.5 {
		s.ulps[0]++
	} else {
		s.ulps.add(ulps)
	}
	if ulps > s.ulpMax {
		s.ulpMax = ulps
	}
	s.finite++
	s.ulpSum += ulps
}

// look judges element i and adds it up.
func (s *tally) look(g *grid, i int, y, r, t float64) {
	s.compared++
	accepted := g.accepts(y, r, t)
	if !accepted {
		s.wrong++
	}
	badness := math.Inf(1)
	if g.choice && !accepted { // no choice is nearer to a right one than another
		s.ulps.add(badness)
		s.ulpMax, s.errorMargin = badness, 0
		s.errors = endless
	} else if math.IsNaN(r) || math.IsInf(r, 0) {
		if accepted {
			return
		}
		s.errors = endless
	} else {
		v := g.value(y, r)
		if math.IsInf(v, 0) && accepted {
			return // the other side of the overflow threshold
		}
		badness = s.measure(g, i, v, r, t)
	}
	if accepted && len(s.worst) == worstKept && badness <= s.bar {
		return
	}
	s.note(ranked{i, !accepted, badness, r, t})
}

// measure adds the error of element i to the statistics, and returns its badness: (|y-R| - T)/ulp.
func (s *tally) measure(g *grid, i int, v, r, t float64) (badness float64) {
	err, perULP := math.Abs(v-r), power(-g.logULP(r))
	if math.IsNaN(err) {
		err = math.Inf(1)
	}
	if math.IsInf(err, 0) {
		s.ulps.add(err)
		s.ulpMax, s.errors = err, endless
		return err
	}
	s.count(err * perULP)
	s.errors.see(err, r)
	room := t + power(g.logULP(v)-1)
	// divided only where it may be the smallest
	if err > 0 && room <= s.errorMargin*err*(1+0x1p-40) && room/err < s.errorMargin {
		s.errorMargin, s.tightest = room/err, ranked{i: i, r: r, t: t}
	}
	return (err - t) * perULP
}

// merge adds a later run of elements to this one.
func (s *tally) merge(o tally) {
	s.compared += o.compared
	s.wrong += o.wrong
	s.finite += o.finite
	s.ulpMax = math.Max(s.ulpMax, o.ulpMax)
	s.errors.sees(o.errors)
	s.ulpSum += o.ulpSum
	if o.errorMargin < s.errorMargin {
		s.errorMargin, s.tightest = o.errorMargin, o.tightest
	}
	for i, n := range o.ulps {
		s.ulps[i] += n
	}
	for _, e := range o.worst {
		s.note(e)
	}
}

// chunk is the number of elements that one goroutine takes at a time; the sums are added up in the order of
// the chunks, so that a verdict does not depend on the number of cores.
const chunk = 1 << 15

// chunksOf returns the number of chunks of n elements.
func chunksOf(n int) int { return (n + chunk - 1) / chunk }

// eachChunk works on all chunks of n elements, the p-th from first up to end, on all cores.
func eachChunk(n int, work func(p, first, end int)) {
	parallel.Each(chunksOf(n), func(p int) { work(p, p*chunk, min((p+1)*chunk, n)) })
}

// strip is the number of elements decoded at once: they stay in the cache until every gate has seen them.
const strip = 1 << 11

// compareElements applies G1, G2 and G3 to every judged element of an output. In the same pass it adds up
// what G4 and G5 need.
func compareElements(target Target, data []byte) (Verdict, statistics) {
	g, n := gridOf(target), target.Judged()
	if most := target.Elements() * target.DType.Size(); int64(len(data)) != most {
		return Verdict{Status: op.StatusFail, Gate: "G0", N: int64(n), Sentence: target.Name +
			": not every planned element came back"}, statistics{}
	}
	shape, runs := blocksOf(target), piecesOf(target)
	tallies, sums := make([]tally, runs.count()), make([]chunkSums, runs.count())
	err := target.eachPiece(runs, func(p, first int, v Values) {
		s := &tallies[p]
		s.errorMargin = math.Inf(1)
		var y [strip]float64
		known := v.segments
		for at := 0; at < len(v.R); at += strip {
			end := min(at+strip, len(v.R))
			part, truth := y[:end-at], v.part(at, end)
			decodeJudged(part, target, data, first+at)
			s.lookAll(g, first+at, part, truth.R, truth.T)
			if target.Independent {
				known = sums[p].add(target, g, shape, part, truth, known, first+at)
			}
		}
	})
	if err != nil {
		return Verdict{Status: op.StatusInconclusive, N: int64(n), Sentence: err.Error()}, statistics{}
	}
	total := tally{errorMargin: math.Inf(1)}
	for _, p := range tallies {
		total.merge(p)
	}
	return verdictOf(target, g, data, total), joined(target, shape, sums)
}

// decodeJudged decodes judged elements from the first on, as many as y holds.
func decodeJudged(y []float64, target Target, data []byte, first int) {
	size := target.DType.Size()
	if target.Index == nil {
		tensor.DecodeInto(y, target.DType, data[int64(first)*size:])
		return
	}
	for i := 0; i < len(y); {
		at, n := target.Index[first+i], 1
		for i+n < len(y) && target.Index[first+i+n] == at+int64(n) {
			n++
		}
		tensor.DecodeInto(y[i:i+n], target.DType, data[at*size:])
		i += n
	}
}

// shown returns the elements that a verdict names, the worst first: where all are accepted, the one of least
// error margin.
func (s *tally) shown() []ranked {
	if s.wrong > 0 || math.IsInf(s.errorMargin, 1) {
		return s.worst
	}
	others := slices.DeleteFunc(slices.Clone(s.worst), func(e ranked) bool { return e.i == s.tightest.i })
	return append([]ranked{s.tightest}, others[:min(len(others), worstKept-1)]...)
}

// verdictOf turns the sums into a verdict: it passes if and only if everything planned was compared and
// accepted.
func verdictOf(target Target, g *grid, data []byte, s tally) Verdict {
	v := Verdict{
		Output: target.Name, N: int64(target.Judged()), Compared: s.compared, Wrong: s.wrong,
		ErrorMargin: s.errorMargin, ULPMax: s.ulpMax, ULPs: s.ulps, DType: target.DType,
		AbsoluteMax: s.errors.absolute, RelativeMax: s.errors.relative,
	}
	if s.finite > 0 {
		v.ULPMean = s.ulpSum / float64(s.finite)
	}
	got := make([]float64, 1)
	for _, e := range s.shown() {
		r, t := e.r, e.t
		decodeJudged(got, target, data, e.i)
		low, high := g.bounds(r, t)
		v.Worst16 = append(v.Worst16, Element{
			Index: index(target.position(e.i), target.Shape), Got: got[0], Want: g.round(r),
			Low: low, High: high, R: r, T: t,
		})
	}
	if len(v.Worst16) > 0 {
		v.Worst = v.Worst16[0]
	}
	switch {
	case v.Compared > 0 && v.Compared == v.N && v.Wrong == 0:
		v.Status = op.StatusPass
	case v.Wrong == 0:
		v.Status, v.Gate, v.Sentence = op.StatusFail, "G0", target.Name+
			": not every planned element was compared"
	default:
		v.Status, v.Gate, v.Sentence = op.StatusFail, gateOf(target, v.Worst), rejected(v)
		if target.Choice != nil {
			v.Sentence = target.refused(v, data)
		}
	}
	return v
}

// gateOf names the gate that rejects an element.
func gateOf(target Target, e Element) string {
	switch {
	case target.Choice != nil:
		return "G7"
	case math.IsNaN(e.R) || math.IsInf(e.R, 0) || math.IsNaN(e.Got):
		return "G1"
	case target.Exact:
		return "G3"
	}
	return "G2"
}

// decode returns the judged elements of an output in fp64.
func decode(target Target, data []byte) []float64 {
	y := make([]float64, len(target.R))
	decodeJudged(y, target, data, 0)
	return y
}
