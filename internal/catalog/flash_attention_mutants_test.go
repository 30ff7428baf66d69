package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// attentionVariants differ in the block of keys of the online softmax, in where P is stored (not at all; before or after it is normalised), in
// the order of sums and in their fast functions.
var attentionVariants = []arithmetic{
	{block: 32, order: inLanes, lowP: true},
	{block: 16, order: inSequence},
	{block: 1 << 20, order: inLanes, lowP: true, other: true},
	{block: 64, order: inLanes, noisy: true},
	{block: 128, order: inSequence, lowP: true, noisy: true},
}

func onlyCausal(g group) string {
	if g.value == "false" {
		return "nothing is masked"
	}
	return ""
}

func notInBF16(g group) string {
	if g.dtype == "bf16" {
		return "the contract stores P in bf16"
	}
	return ""
}

func sentinelBelowLogits(g group) string {
	if g.dtype == "fp16" && g.value == "false" {
		return "no key is masked, and a score, which a permitted contract stores in fp16, stays above -3.3e4"
	}
	return ""
}

var _ = scored([]suite{
	{op: "flash_attention", pass: op.Forward, right: attentionVariants, kernel: emulatedAttention, mutants: []mutant{
		{1, "no scale", nil},
		{2, "scale 1/d", nil},
		{3, "scale of a padded d", nil},
		{4, "scale off by 1 %", nil},
		{5, "scale off by 0.1 %", nil},
		{6, "causal excludes the diagonal", onlyCausal},
		{7, "causal sees one future key", onlyCausal},
		{8, "causal aligned top-left", onlyCausal},
		{9, "last block of keys dropped", nil},
		{10, "padding of logits 0", nil},
		{11, "accumulator not rescaled", nil},
		{12, "sum not rescaled", nil},
		{13, "o accumulated in bf16", nil},
		{14, "exp2 without log2(e)", nil},
		{15, "not normalised", nil},
		{16, "scores rounded", nil},
		{17, "P in e4m3", nil},
		{18, "P in bf16", notInBF16},
		{19, "q and k in e4m3", nil},
		{27, "lse without log l", nil},
		{30, "heads of a group interleaved", nil},
		{34, "lse in base 2", nil},
		{35, "-5e4 for -inf", sentinelBelowLogits},
	}},
	{op: "flash_attention", pass: op.Backward, right: attentionVariants, kernel: emulatedAttentionBackward, mutants: []mutant{
		{20, "delta missing", nil},
		{21, "delta of another row", nil},
		{22, "grad_q unscaled", nil},
		{23, "grad_q and grad_k unscaled", nil},
		{24, "last block of queries dropped for grad_k", nil},
		{25, "causal off by one in the backward", onlyCausal},
		{26, "update of grad_q lost", nil},
		{28, "bf16 accumulators", nil},
		{29, "key 0 skipped", nil},
		{31, "grad_k of one head of the group", nil},
	}},
})

// attending is one case in fp32 with the arithmetic of a kernel.
type attending struct {
	arithmetic
	p                            *prepared
	d                            op.DType
	q, k, v                      []float32
	headsQ, headsKV, seqQ, seqKV int
	n                            int // head_dim
	heads                        int // over the whole batch
	scale                        float32
	causal                       bool
}

func (a arithmetic) attending(p *prepared) attending {
	q, k := p.in["q"], p.in["k"]
	t := attending{
		arithmetic: a, p: p, d: q.DType, q: floats(p.v["q"]), k: floats(p.v["k"]), v: floats(p.v["v"]), headsQ: int(q.Shape[1]), headsKV: int(k.Shape[1]),
		seqQ: int(q.Shape[2]), seqKV: int(k.Shape[2]), n: int(q.Shape[3]), heads: int(q.Shape[0] * q.Shape[1]),
		scale: float32(p.Attrs.Number("scale")), causal: p.Attrs.Number("causal") != 0,
	}
	switch a.bug {
	case "no scale":
		t.scale = 1
	case "scale 1/d":
		t.scale = 1 / float32(t.n)
	case "scale of a padded d":
		t.scale *= float32(math.Sqrt(float64(t.n) / math.Exp2(math.Ceil(math.Log2(float64(t.n))))))
	case "scale off by 1 %":
		t.scale *= 1.01
	case "scale off by 0.1 %":
		t.scale *= 1.001
	case "q and k in e4m3":
		t.q, t.k = floats(roundedTo(op.E4M3, p.v["q"])), floats(roundedTo(op.E4M3, p.v["k"]))
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

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// sees says whether query i sees key j: causal is aligned bottom-right.
func (t *attending) sees(i, j int) bool {
	last := i + t.seqKV - t.seqQ
	switch t.bug {
	case "causal excludes the diagonal", "causal off by one in the backward":
		last--
	case "causal sees one future key":
		last++
	case "causal aligned top-left":
		last = i
	}
	return !t.causal || j <= last
}

// at gives row i of a head whose rows have head_dim elements.
func (t *attending) at(x []float32, head, i, seq int) []float32 {
	first := (head*seq + i) * t.n
	return x[first : first+t.n]
}

// kvHead is the key head that serves a query head, both over the whole batch.
func (t *attending) kvHead(head int) int {
	if t.bug == "heads of a group interleaved" {
		return head/t.headsQ*t.headsKV + head%t.headsQ%t.headsKV
	}
	return head/t.headsQ*t.headsKV + head%t.headsQ/(t.headsQ/t.headsKV)
}

// dot adds in sequence or in eight lanes.
func (t *attending) dot(x, y []float32) float32 {
	var lanes [8]float32
	mask := 7
	if t.order == inSequence {
		mask = 0
	}
	y = y[:len(x)]
	for i, v := range x {
		lanes[i&mask] += float32(v * y[i])
	}
	return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
}

// weight is e^x as the kernel computes it.
func (t *attending) weight(x float32) float32 {
	if t.bug == "exp2 without log2(e)" {
		return float32(math.Exp2(float64(x)))
	}
	return float32(t.exp(float64(x)))
}

// store is a weight as it enters the second product.
func (t *attending) store(w float32) float32 {
	switch {
	case t.bug == "P in e4m3":
		return float32(tensor.Round(op.E4M3, float64(w), true))
	case t.bug == "P in bf16":
		return float32(tensor.Round(op.BF16, float64(w), false))
	case t.lowP && t.d != op.FP32:
		return float32(tensor.Round(t.d, float64(w), false))
	}
	return w
}

// score is the scaled product of a query and a key.
func (t *attending) score(head, i, j int) float32 {
	s := t.dot(t.at(t.q, head, i, t.seqQ), t.at(t.k, t.kvHead(head), j, t.seqKV)) * t.scale
	if t.bug == "scores rounded" {
		s = float32(tensor.Round(t.p.low(), float64(s), false))
	}
	return s
}

var minusInfinity = float32(math.Inf(-1))

func emulatedAttention(a arithmetic, p *prepared) [][]float64 {
	t := a.attending(p)
	o, lse := t.forward()
	return [][]float64{wide(o), wide(lse)}
}

func (t *attending) forward() (o, lse []float32) {
	o, lse = make([]float32, 0, len(t.q)), make([]float32, 0, t.heads*t.seqQ)
	for head := range t.heads {
		for i := range t.seqQ {
			row, statistic := t.forwardRow(head, i)
			o, lse = append(o, row...), append(lse, statistic)
		}
	}
	return o, lse
}

// forwardRow is the online softmax of one query: block after block of keys, what was added before rescaled to the new maximum.
func (t *attending) forwardRow(head, i int) (o []float32, lse float32) {
	o = make([]float32, t.n)
	low, m, l := minusInfinity, minusInfinity, float32(0)
	if t.bug == "-5e4 for -inf" {
		low, m = -5e4, -5e4
	}
	keys, seen := t.seqKV, false
	switch t.bug {
	case "last block of keys dropped":
		keys = max(keys-1, 0) / warp * warp
	case "padding of logits 0":
		keys = (keys + warp - 1) / warp * warp
	}
	s := make([]float32, keys)
	for first := 0; first < keys; first += t.block {
		last := min(first+t.block, keys)
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
		rescale := t.weight(before - m)
		if t.bug != "sum not rescaled" {
			l *= rescale
		}
		if t.bug != "accumulator not rescaled" {
			for c := range o {
				o[c] *= rescale
			}
		}
		for j := first; j < last; j++ {
			e := t.weight(s[j] - m)
			l += e
			if j < t.seqKV && (t.sees(i, j) || low != minusInfinity) {
				t.accumulate(o, t.store(e), t.at(t.v, t.kvHead(head), j, t.seqKV))
			}
		}
	}
	switch {
	case m == minusInfinity && seen: // every score is -inf: there is no mean
		return filled(o, float32(math.NaN())), float32(math.NaN())
	case m == minusInfinity:
		return o, minusInfinity
	}
	if t.other && t.bug == "" {
		t.normalizedFirst(o, s, m, l, head, i)
	} else if t.bug != "not normalised" {
		for c := range o {
			o[c] = float32(t.fast(float64(o[c]) / float64(l)))
		}
	}
	switch t.bug {
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

// normalizedFirst is the row with P divided by its sum before it is stored.
func (t *attending) normalizedFirst(o, s []float32, m, l float32, head, i int) {
	filled(o, 0)
	for j, v := range s {
		if t.sees(i, j) {
			t.accumulate(o, t.store(t.weight(v-m)/l), t.at(t.v, t.kvHead(head), j, t.seqKV))
		}
	}
}

// accumulate adds w*x.
func (t *attending) accumulate(to []float32, w float32, x []float32) {
	x = x[:len(to)]
	if t.bug == "o accumulated in bf16" || t.bug == "bf16 accumulators" {
		for c := range to {
			to[c] = float32(tensor.Round(op.BF16, float64(to[c]+float32(w*x[c])), false))
		}
		return
	}
	for c := range to {
		to[c] += float32(w * x[c])
	}
}

// emulatedAttentionBackward takes o and lse as they are given, or from its own forward.
func emulatedAttentionBackward(a arithmetic, p *prepared) [][]float64 {
	right := a
	right.bug = ""
	o, lse := floats(p.v["o"]), floats(p.v["lse"])
	if p.Saved == "own" {
		forward := right.attending(p)
		o, lse = forward.forward()
		o = floats(roundedTo(forward.d, wide(o)))
	}
	t := a.attending(p)
	do := floats(p.v["grad_o"])
	dq, dk, dv := make([]float32, len(t.q)), make([]float32, len(t.k)), make([]float32, len(t.v))
	for head := range t.heads {
		for i := range t.seqQ {
			t.backwardRow(head, i, o, do, lse[head*t.seqQ+i], dq, dk, dv)
		}
	}
	scaleQ, scaleK := t.scale, t.scale
	switch a.bug {
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
	return [][]float64{wide(dq), wide(dk), wide(dv)}
}

// backwardRow adds what one query gives to the gradients, before they are scaled.
func (t *attending) backwardRow(head, i int, o, do []float32, lse float32, dq, dk, dv []float32) {
	g := t.at(do, head, i, t.seqQ)
	row := i
	if t.bug == "delta of another row" {
		row = (i + 1) % t.seqQ
	}
	delta := t.dot(t.at(do, head, row, t.seqQ), t.at(o, head, row, t.seqQ))
	if t.bug == "delta missing" {
		delta = 0
	}
	if lse == minusInfinity {
		return
	}
	group := t.headsQ / t.headsKV
	for j := range t.seqKV {
		if !t.sees(i, j) || t.bug == "key 0 skipped" && j == 0 {
			continue
		}
		kv := t.kvHead(head)
		p := t.weight(t.score(head, i, j) - lse)
		ds := t.store(p * (t.dot(g, t.at(t.v, kv, j, t.seqKV)) - delta))
		if lost := t.bug == "update of grad_q lost" && i == t.seqQ-1 && j >= (t.seqKV-1)/vector*vector; !lost {
			t.accumulate(t.at(dq, head, i, t.seqQ), ds, t.at(t.k, kv, j, t.seqKV))
		}
		switch {
		case t.bug == "last block of queries dropped for grad_k" && i >= (t.seqQ-1)/vector*vector:
		case t.bug == "grad_k of one head of the group" && head%group != group-1:
		default:
			t.accumulate(t.at(dk, kv, j, t.seqKV), ds, t.at(t.q, head, i, t.seqQ))
		}
		t.accumulate(t.at(dv, kv, j, t.seqKV), t.store(p), g)
	}
}
