package flashattention

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants differ in the block of keys of the online softmax, in where P is stored (not at all; before or
// after it is normalised), in the order of sums and in their fast functions.
var variants = []truthtest.Arithmetic{
	{Block: 32, Order: truthtest.InLanes, LowP: true},
	{Block: 16, Order: truthtest.InSequence},
	{Block: 1 << 20, Order: truthtest.InLanes, LowP: true, Other: true},
	{Block: 64, Order: truthtest.InLanes, Noisy: true},
	{Block: 128, Order: truthtest.InSequence, LowP: true, Noisy: true},
}

func onlyCausal(g truthtest.Group) string {
	if g.Value == "false" {
		return "nothing is masked"
	}
	return ""
}

func notInBF16(g truthtest.Group) string {
	if g.Dtype == "bf16" {
		return "the contract stores P in bf16"
	}
	return ""
}

var suites = []truthtest.Suite{
	{Op: "flash_attention", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "no scale"},
		{Number: 2, Name: "scale 1/d"},
		{Number: 3, Name: "scale of a padded d"},
		{Number: 4, Name: "scale off by 1 %"},
		{Number: 5, Name: "scale off by 0.1 %"},
		{Number: 6, Name: "causal excludes the diagonal", Equivalent: onlyCausal},
		{Number: 7, Name: "causal sees one future key", Equivalent: onlyCausal},
		{Number: 8, Name: "causal aligned top-left", Equivalent: onlyCausal},
		{Number: 9, Name: "last block of keys dropped"},
		{Number: 10, Name: "padding of logits 0"},
		{Number: 11, Name: "accumulator not rescaled"},
		{Number: 12, Name: "sum not rescaled"},
		{Number: 13, Name: "o accumulated in bf16"},
		{Number: 14, Name: "exp2 without log2(e)"},
		{Number: 15, Name: "not normalised"},
		{Number: 16, Name: "scores rounded"},
		{Number: 17, Name: "P in e4m3"},
		{Number: 18, Name: "P in bf16", Equivalent: notInBF16},
		{Number: 19, Name: "q and k in e4m3"},
		{Number: 27, Name: "lse without log l"},
		{Number: 30, Name: "heads of a group interleaved"},
		{Number: 34, Name: "lse in base 2"},
		{Number: 35, Name: "-5e4 for -inf"},
		{Number: 36, Name: "rows of v as long as those of k"},
		{Number: 37, Name: "rows of o as long as those of q"},
		{Number: 38, Name: "scale of the size of v"},
	}},
	{
		Op: "flash_attention", Pass: op.Backward, Right: variants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 20, Name: "delta missing"},
			{Number: 21, Name: "delta of another row"},
			{Number: 22, Name: "grad_q unscaled"},
			{Number: 23, Name: "grad_q and grad_k unscaled"},
			{Number: 24, Name: "last block of queries dropped for grad_k"},
			{Number: 25, Name: "causal off by one in the backward", Equivalent: onlyCausal},
			{Number: 26, Name: "update of grad_q lost"},
			{Number: 28, Name: "bf16 accumulators"},
			{Number: 29, Name: "key 0 skipped"},
			{Number: 31, Name: "grad_k of one head of the group"},
			{Number: 39, Name: "rows of grad_v as long as those of k"},
			{Number: 40, Name: "delta over the size of q"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// attending is one case in fp32 with the arithmetic of a kernel.
type attending struct {
	truthtest.Arithmetic
	p                            *truthtest.Prepared
	d                            op.DType
	q, k, v                      []float32
	headsQ, headsKV, seqQ, seqKV int
	n, nV                        int // head_dim, head_dim_v
	heads                        int // over the whole batch
	scale                        float32
	causal                       bool
}

func newAttending(a truthtest.Arithmetic, p *truthtest.Prepared) attending {
	q, k := p.In["q"], p.In["k"]
	t := attending{
		Arithmetic: a, p: p, d: q.DType, q: floats(p.V["q"]), k: floats(p.V["k"]), v: floats(p.V["v"]),
		headsQ: int(q.Shape[1]), headsKV: int(k.Shape[1]),
		seqQ: int(q.Shape[2]), seqKV: int(k.Shape[2]), n: int(q.Shape[3]), nV: int(p.In["v"].Shape[3]),
		heads: int(q.Shape[0] * q.Shape[1]),
		scale: float32(p.Attrs.Number("scale")), causal: p.Attrs.Number("causal") != 0,
	}
	switch a.Bug {
	case "no scale":
		t.scale = 1
	case "scale 1/d":
		t.scale = 1 / float32(t.n)
	case "scale of a padded d":
		t.scale *= float32(math.Sqrt(float64(t.n) / math.Exp2(math.Ceil(math.Log2(float64(t.n))))))
	case "scale of the size of v":
		t.scale *= float32(math.Sqrt(float64(t.n) / float64(t.nV)))
	case "scale off by 1 %":
		t.scale *= 1.01
	case "scale off by 0.1 %":
		t.scale *= 1.001
	case "q and k in e4m3":
		t.q, t.k = floats(truthtest.RoundedTo(op.E4M3, p.V["q"])),
			floats(truthtest.RoundedTo(op.E4M3, p.V["k"]))
	}
	return t
}

func floats(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// sees reports whether query i sees key j: causal is aligned bottom-right.
func (t *attending) sees(i, j int) bool {
	last := i + t.seqKV - t.seqQ
	switch t.Bug {
	case "causal excludes the diagonal", "causal off by one in the backward":
		last--
	case "causal sees one future key":
		last++
	case "causal aligned top-left":
		last = i
	}
	return !t.causal || j <= last
}

// at returns row i of a head whose rows have head_dim elements, and valueAt of one with head_dim_v.
func (t *attending) at(x []float32, head, i, seq int) []float32 {
	first := (head*seq + i) * t.n
	return x[first : first+t.n]
}

func (t *attending) valueAt(x []float32, head, i, seq int) []float32 {
	first := (head*seq + i) * t.nV
	return x[first : first+t.nV]
}

// value returns the value of a key.
func (t *attending) value(head, j int) []float32 {
	if t.Bug == "rows of v as long as those of k" {
		first := (head*t.seqKV + j) * t.n % (len(t.v) - t.nV + 1)
		return t.v[first : first+t.nV]
	}
	return t.valueAt(t.v, head, j, t.seqKV)
}

// spaced returns rows of head_dim_v as a kernel stores them that takes them to have head_dim.
func (t *attending) spaced(x []float32) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		if at := i/t.nV*t.n + i%t.nV; at < len(y) {
			y[at] = v
		}
	}
	return y
}

// kvHead returns the key head that serves a query head, both over the whole batch.
func (t *attending) kvHead(head int) int {
	if t.Bug == "heads of a group interleaved" {
		return head/t.headsQ*t.headsKV + head%t.headsQ%t.headsKV
	}
	return head/t.headsQ*t.headsKV + head%t.headsQ/(t.headsQ/t.headsKV)
}

// dot adds in sequence or in eight lanes.
func (t *attending) dot(x, y []float32) float32 {
	var lanes [8]float32
	mask := 7
	if t.Order == truthtest.InSequence {
		mask = 0
	}
	y = y[:len(x)]
	for i, v := range x {
		lanes[i&mask] += float32(v * y[i])
	}
	return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

// score returns the scaled product of a query and a key.
func (t *attending) score(head, i, j int) float32 {
	s := t.dot(t.at(t.q, head, i, t.seqQ), t.at(t.k, t.kvHead(head), j, t.seqKV)) * t.scale
	if t.Bug == "scores rounded" {
		s = float32(tensor.Round(t.p.Low(), float64(s), false))
	}
	return s
}

var minusInfinity = float32(math.Inf(-1))

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	t := newAttending(a, p)
	o, lse := t.forward()
	if t.Bug == "rows of o as long as those of q" {
		o = t.spaced(o)
	}
	return [][]float64{truthtest.Wide(o), truthtest.Wide(lse)}
}

func (t *attending) forward() (o, lse []float32) {
	o, lse = make([]float32, 0, t.heads*t.seqQ*t.nV), make([]float32, 0, t.heads*t.seqQ)
	for head := range t.heads {
		for i := range t.seqQ {
			row, statistic := t.forwardRow(head, i)
			o, lse = append(o, row...), append(lse, statistic)
		}
	}
	return o, lse
}

// forwardRow computes the online softmax of one query: block after block of keys, with earlier sums rescaled
// to the new maximum.
func (t *attending) forwardRow(head, i int) (o []float32, lse float32) {
	o = make([]float32, t.nV)
	low, m, l := minusInfinity, minusInfinity, float32(0)
	if t.Bug == "-5e4 for -inf" {
		low, m = -5e4, -5e4
	}
	keys, seen := t.seqKV, false
	switch t.Bug {
	case "last block of keys dropped":
		keys = max(keys-1, 0) / truthtest.Warp * truthtest.Warp
	case "padding of logits 0":
		keys = (keys + truthtest.Warp - 1) / truthtest.Warp * truthtest.Warp
	}
	s := make([]float32, keys)
	for first := 0; first < keys; first += t.Block {
		last := min(first+t.Block, keys)
		before := m
		for j := first; j < last; j++ {
			s[j] = low
			switch {
			case j >= t.seqKV:
				s[j] = 0
			case t.sees(i, j):
				s[j], seen = t.score(head, i, j), true
			}
			m = max(m, s[j])
		}
		if m == minusInfinity {
			continue
		}
		rescale := t.Weight(before - m)
		if t.Bug != "sum not rescaled" {
			l *= rescale
		}
		if t.Bug != "accumulator not rescaled" {
			for c := range o {
				o[c] *= rescale
			}
		}
		for j := first; j < last; j++ {
			e := t.Weight(s[j] - m)
			l += e
			if j < t.seqKV && (t.sees(i, j) || low != minusInfinity) {
				t.accumulate(o, t.StoredWeight(t.d, e), t.value(t.kvHead(head), j))
			}
		}
	}
	return t.finish(o, s, m, l, head, i, seen)
}

// finish divides the weighted sum o of row i by the weights' sum l, and returns the row's lse. seen: it has a
// key.
func (t *attending) finish(o, s []float32, m, l float32, head, i int, seen bool) ([]float32, float32) {
	switch {
	case m == minusInfinity && seen: // every score is -inf: there is no mean
		return filled(o, float32(math.NaN())), float32(math.NaN())
	case m == minusInfinity:
		return o, minusInfinity
	}
	if t.Other && t.Bug == "" {
		t.normalizedFirst(o, s, m, l, head, i)
	} else if t.Bug != "not normalised" {
		for c := range o {
			o[c] = float32(t.Fast(float64(o[c]) / float64(l)))
		}
	}
	switch t.Bug {
	case "lse without log l":
		return o, m
	case "lse in base 2":
		return o, (m + float32(math.Log(float64(l)))) * float32(math.Log2E)
	}
	return o, m + float32(math.Log(float64(l)))
}

func filled(x []float32, v float32) []float32 {
	for i := range x {
		x[i] = v
	}
	return x
}

// normalizedFirst computes the row with P divided by its sum before it is stored.
func (t *attending) normalizedFirst(o, s []float32, m, l float32, head, i int) {
	filled(o, 0)
	for j, v := range s {
		if t.sees(i, j) {
			t.accumulate(o, t.StoredWeight(t.d, t.Weight(v-m)/l), t.value(t.kvHead(head), j))
		}
	}
}

// accumulate adds w*x.
func (t *attending) accumulate(to []float32, w float32, x []float32) {
	x = x[:len(to)]
	if t.Bug == "o accumulated in bf16" || t.Bug == "bf16 accumulators" {
		for c := range to {
			to[c] = float32(tensor.Round(op.BF16, float64(to[c]+float32(w*x[c])), false))
		}
		return
	}
	for c := range to {
		to[c] += float32(w * x[c])
	}
}

// emulatedBackward uses o and lse as they are given, or from its own forward.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	right := a
	right.Bug = ""
	o, lse := floats(p.V["o"]), floats(p.V["lse"])
	if p.Saved == "own" {
		forward := newAttending(right, p)
		o, lse = forward.forward()
		o = floats(truthtest.RoundedTo(forward.d, truthtest.Wide(o)))
	}
	t := newAttending(a, p)
	do := floats(p.V["grad_o"])
	dq, dk, dv := make([]float32, len(t.q)), make([]float32, len(t.k)), make([]float32, len(t.v))
	for head := range t.heads {
		for i := range t.seqQ {
			t.backwardRow(head, i, o, do, lse[head*t.seqQ+i], dq, dk, dv)
		}
	}
	scaleQ, scaleK := t.scale, t.scale
	switch a.Bug {
	case "grad_q unscaled":
		scaleQ = 1
	case "grad_q and grad_k unscaled":
		scaleQ, scaleK = 1, 1
	}
	for i := range dq {
		dq[i] *= scaleQ
	}
	for i := range dk {
		dk[i] *= scaleK
	}
	if a.Bug == "rows of grad_v as long as those of k" {
		dv = t.spaced(dv)
	}
	return [][]float64{truthtest.Wide(dq), truthtest.Wide(dk), truthtest.Wide(dv)}
}

// backwardRow adds the contribution of one query to the gradients, before they are scaled.
func (t *attending) backwardRow(head, i int, o, do []float32, lse float32, dq, dk, dv []float32) {
	g := t.valueAt(do, head, i, t.seqQ)
	row := i
	if t.Bug == "delta of another row" {
		row = (i + 1) % t.seqQ
	}
	delta := t.dot(t.valueAt(do, head, row, t.seqQ), t.valueAt(o, head, row, t.seqQ))
	switch t.Bug {
	case "delta missing":
		delta = 0
	case "delta over the size of q":
		first := (head*t.seqQ + row) * t.nV
		last := min(first+t.n, len(o))
		delta = t.dot(do[first:last], o[first:last])
	}
	if lse == minusInfinity {
		return
	}
	group := t.headsQ / t.headsKV
	for j := range t.seqKV {
		if !t.sees(i, j) || t.Bug == "key 0 skipped" && j == 0 {
			continue
		}
		kv := t.kvHead(head)
		p := t.Weight(t.score(head, i, j) - lse)
		ds := t.StoredWeight(t.d, p*(t.dot(g, t.value(kv, j))-delta))
		if lost := t.Bug == "update of grad_q lost" && i == t.seqQ-1 &&
			j >= (t.seqKV-1)/truthtest.Vector*truthtest.Vector; !lost {
			t.accumulate(t.at(dq, head, i, t.seqQ), ds, t.at(t.k, kv, j, t.seqKV))
		}
		switch {
		case t.Bug == "last block of queries dropped for grad_k" &&
			i >= (t.seqQ-1)/truthtest.Vector*truthtest.Vector:
		case t.Bug == "grad_k of one head of the group" && head%group != group-1:
		default:
			t.accumulate(t.at(dk, kv, j, t.seqKV), ds, t.at(t.q, head, i, t.seqQ))
		}
		t.accumulate(t.valueAt(dv, kv, j, t.seqKV), t.StoredWeight(t.d, p), g)
	}
}
