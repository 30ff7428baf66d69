package nsa_selected

import (
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants differ in the keys of a step, in the order of sums, in whether P and dS are stored low, and in
// their fast functions.
var variants = []truthtest.Arithmetic{
	{Block: 16, Order: truthtest.InLanes, LowP: true, Other: true},
	{Block: 32, Order: truthtest.InSequence, Other: true},
	{Block: 64, Order: truthtest.InLanes, Noisy: true},
	{Block: 1 << 20, Order: truthtest.InSequence, LowP: true, Noisy: true},
}

var suites = []truthtest.Suite{
	{Op: "nsa_selected", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: forwardMutants()},
	{
		Op: "nsa_selected", Pass: op.Backward, Right: variants, Kernel: emulatedBackward,
		Mutants: backwardMutants(),
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// selecting are the mutants of what a query sees.
var selecting = []string{
	"blocks see the future", "own token hidden", "-1 is block 0", "last block of a row dropped",
	"first block of a row dropped", "block one earlier", "blocks one token short", "indices of another head",
	"indices of the token before", "window one longer", "window one shorter", "window of nothing is all",
	"window sees the future", "keys of another head", "keys of the next sequence",
	"a key in both counts once",
}

func forwardMutants() (all truthtest.Mutants) {
	all.Add(nil, selecting...)
	all.Add(nil,
		"no scale", "scale off by 1 %", "one softmax over both", "selected gate missing",
		"window gate missing", "gates swapped", "gates by heads first", "sum not rescaled",
		"total not rescaled", "maximum begins at 0", "exp2 without log2(e)", "not normalised",
		"o by heads first", "scores rounded", "P in e4m3", "sums in bf16", "no key is NaN")
	return all
}

func backwardMutants() (all truthtest.Mutants) {
	all.Add(nil, selecting...)
	all.Add(nil,
		"scale off by 1 %", "gates swapped", "selected gate missing", "window gate missing", "no delta",
		"delta of the other sum", "gradient of a gate times the gate", "grad_q unscaled", "grad_k unscaled",
		"grad_v without gate", "grad_q of blocks alone", "grad_k of the window alone", "grad_v of one head",
		"grad_k of one head", "last queries left out", "key 0 skipped", "exp2 without log2(e)",
		"grad_k by heads first", "sums in bf16")
	return all
}

// selected is one case in fp32 with the arithmetic of a kernel.
type selected struct {
	truthtest.Arithmetic
	d, low                                    op.DType
	q, k, v, indices                          []float64
	gates                                     [2][]float64
	batch, seq, heads, headsKV, group, blocks int
	n, nV, size, window                       int
	scale                                     float32
}

func selectedOf(a truthtest.Arithmetic, p *truthtest.Prepared) *selected {
	q := p.In["q"]
	t := &selected{
		Arithmetic: a, d: q.DType, low: p.Low(), q: p.V["q"], k: p.V["k"], v: p.V["v"],
		indices: p.V["indices"],
		gates:   [2][]float64{p.V["g_slc"], p.V["g_swa"]}, batch: int(q.Shape[0]), seq: int(q.Shape[1]),
		heads: int(q.Shape[2]), headsKV: int(p.In["k"].Shape[2]), blocks: int(p.In["indices"].Shape[3]),
		n: int(q.Shape[3]), nV: int(p.In["v"].Shape[3]), size: int(p.Attrs.Number("block_size")),
		window: int(p.Attrs.Number("window")), scale: float32(p.Attrs.Number("scale")),
	}
	t.group = t.heads / t.headsKV
	switch a.Bug {
	case "no scale":
		t.scale = 1
	case "scale off by 1 %":
		t.scale *= 1.01
	case "gates swapped":
		slices.Reverse(t.gates[:])
	case "window one longer":
		t.window++
	case "window one shorter":
		t.window--
	case "window of nothing is all":
		if t.window == 0 {
			t.window = t.seq
		}
	}
	return t
}

// row is a head of a query.
type row struct{ b, t, h int }

func (t *selected) rowOf(r int) row {
	return row{r / t.heads / t.seq, r / t.heads % t.seq, r % t.heads}
}

func (t *selected) at(r row) int { return (r.b*t.seq+r.t)*t.heads + r.h }

// byHeads returns the place of a row of so many heads, which a kernel with the bug takes to lie by heads.
func (t *selected) byHeads(b, i, h, heads int, bug string) int {
	if t.Bug == bug {
		return (b*heads+h)*t.seq + i
	}
	return (b*t.seq+i)*heads + h
}

// keyHead returns the head of keys and values of a row.
func (t *selected) keyHead(r row) int {
	if t.Bug == "keys of another head" {
		return (r.h/t.group + 1) % t.headsKV
	}
	return r.h / t.group
}

// seen returns the keys of a branch in the order of the indices.
func (t *selected) seen(r row, branch int) (keys []int) {
	end := r.t + 1
	switch {
	case t.Bug == "own token hidden":
		end--
	case t.Bug == "blocks see the future" && branch == 0, t.Bug == "window sees the future" && branch == 1:
		end = t.seq
	}
	if branch == 1 {
		for j := max(0, r.t+1-t.window); j < end && t.window > 0; j++ {
			if t.Bug != "a key in both counts once" || !slices.Contains(t.seen(r, 0), j) {
				keys = append(keys, j)
			}
		}
		return keys
	}
	at, h := r.b*t.seq+r.t, r.h/t.group
	switch {
	case t.Bug == "indices of another head":
		h = (h + 1) % t.headsKV
	case t.Bug == "indices of the token before" && r.t > 0:
		at--
	}
	list := slices.Clone(t.indices[(at*t.headsKV+h)*t.blocks:][:t.blocks])
	switch t.Bug {
	case "last block of a row dropped":
		list = list[:len(list)-1]
	case "first block of a row dropped":
		list = list[1:]
	}
	for _, block := range list {
		first := int(block) * t.size
		switch {
		case block < 0 && t.Bug != "-1 is block 0":
			continue
		case block < 0:
			first = 0
		case t.Bug == "block one earlier":
			first = max(0, first-t.size)
		}
		last := first + t.size
		if t.Bug == "blocks one token short" {
			last--
		}
		for j := first; j < min(last, end); j++ {
			keys = append(keys, j)
		}
	}
	return keys
}

func (t *selected) key(x []float64, n int, r row, j int) []float64 {
	b := r.b
	if t.Bug == "keys of the next sequence" {
		b = (b + 1) % t.batch
	}
	return x[((b*t.seq+j)*t.headsKV+t.keyHead(r))*n:][:n]
}

func (t *selected) gate(r row, branch int) float32 {
	if t.Bug == "selected gate missing" && branch == 0 || t.Bug == "window gate missing" && branch == 1 {
		return 1
	}
	return float32(t.gates[branch][t.byHeads(r.b, r.t, r.h, t.heads, "gates by heads first")])
}

func (t *selected) dot(n int, x, y []float64) float32 {
	return float32(t.Sum(n, func(c int) float64 { return truthtest.F32(x[c] * y[c]) }))
}

func (t *selected) score(r row, j int) float32 {
	s := t.dot(t.n, t.q[t.at(r)*t.n:], t.key(t.k, t.n, r, j)) * t.scale
	if t.Bug == "scores rounded" {
		s = float32(tensor.Round(t.low, float64(s), false))
	}
	return s
}

// mean returns softmax(scores) v over some keys, Block keys in a step, and lse.
func (t *selected) mean(r row, keys []int) (o []float32, lse float32) {
	o = make([]float32, t.nV)
	sum := t.Online(t.d, truthtest.Warp, o)
	for first := 0; first < len(keys); first += t.Block {
		part := keys[first:min(first+t.Block, len(keys))]
		scores := make([]float32, len(part))
		for x, j := range part {
			scores[x] = t.score(r, j)
		}
		sum.Step(scores, func(x int) []float64 { return t.key(t.v, t.nV, r, part[x]) })
	}
	if len(keys) > 0 || t.Bug == "no key is NaN" {
		sum.Normalise()
	}
	return o, sum.LSE()
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	t := selectedOf(a, p)
	o := make([]float32, t.batch*t.seq*t.heads*t.nV)
	for number := range t.batch * t.seq * t.heads {
		r := t.rowOf(number)
		to := o[t.byHeads(r.b, r.t, r.h, t.heads, "o by heads first")*t.nV:][:t.nV]
		if t.Bug == "one softmax over both" {
			mean, _ := t.mean(r, append(t.seen(r, 0), t.seen(r, 1)...))
			t.Accumulate(to, t.gate(r, 0), truthtest.Wide(mean))
			continue
		}
		for branch := range 2 {
			mean, _ := t.mean(r, t.seen(r, branch))
			t.Accumulate(to, t.gate(r, branch), truthtest.Wide(mean))
		}
	}
	return [][]float64{truthtest.Wide(o)}
}

// gradients are the sums of one case.
type gradients struct {
	q, k, v []float32
	gates   [2][]float32
	do      []float64
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	t := selectedOf(a, p)
	rows := t.batch * t.seq * t.heads
	g := gradients{
		q: make([]float32, len(t.q)), k: make([]float32, len(t.k)), v: make([]float32, len(t.v)),
		gates: [2][]float32{make([]float32, rows), make([]float32, rows)}, do: p.V["grad_o"],
	}
	for number := range rows {
		t.backwardRow(&g, t.rowOf(number))
	}
	return [][]float64{
		truthtest.Wide(g.q), truthtest.Wide(g.k), truthtest.Wide(g.v), truthtest.Wide(g.gates[0]),
		truthtest.Wide(g.gates[1]),
	}
}

// backwardRow adds what one head of one query adds.
func (t *selected) backwardRow(g *gradients, r row) {
	do := g.do[t.at(r)*t.nV:][:t.nV]
	var lse, delta [2]float32
	for branch := range 2 {
		keys := t.seen(r, branch)
		var o []float32
		if o, lse[branch] = t.mean(r, keys); len(keys) == 0 {
			continue
		}
		delta[branch] = t.dot(t.nV, do, truthtest.Wide(o))
		g.gates[branch][t.at(r)] = delta[branch]
		if t.Bug == "gradient of a gate times the gate" {
			g.gates[branch][t.at(r)] *= t.gate(r, branch)
		}
	}
	switch t.Bug {
	case "no delta":
		delta = [2]float32{}
	case "delta of the other sum":
		delta[0], delta[1] = delta[1], delta[0]
	}
	for branch := range 2 {
		for _, j := range t.seen(r, branch) {
			if t.Bug != "key 0 skipped" || j > 0 {
				t.backwardPair(g, r, branch, j, lse[branch], delta[branch], do)
			}
		}
	}
}

func (t *selected) backwardPair(g *gradients, r row, branch, j int, lse, delta float32, do []float64) {
	gate, p := t.gate(r, branch), t.Weight(t.score(r, j)-lse)
	ds := p * (t.dot(t.nV, do, t.key(t.v, t.nV, r, j)) - delta)
	scaleQ, scaleK := t.scale*gate, t.scale*gate
	if t.Other {
		ds, scaleQ, scaleK = ds*t.scale*gate, 1, 1
	}
	ds = t.StoredWeight(t.d, ds)
	if t.Bug == "grad_q unscaled" {
		scaleQ /= t.scale
	}
	if t.Bug == "grad_k unscaled" {
		scaleK /= t.scale
	}
	if t.Bug != "grad_q of blocks alone" || branch == 0 {
		t.Accumulate(g.q[t.at(r)*t.n:][:t.n], ds*scaleQ, t.key(t.k, t.n, r, j))
	}
	if t.Bug == "last queries left out" && r.t >= (t.seq-1)/truthtest.Vector*truthtest.Vector {
		return
	}
	b := r.b
	if t.Bug == "keys of the next sequence" {
		b = (b + 1) % t.batch
	}
	h, last := t.keyHead(r), r.h%t.group == t.group-1
	at := t.byHeads(b, j, h, t.headsKV, "grad_k by heads first")
	if (t.Bug != "grad_k of the window alone" || branch == 1) && (t.Bug != "grad_k of one head" || last) {
		t.Accumulate(g.k[at*t.n:][:t.n], ds*scaleK, t.q[t.at(r)*t.n:])
	}
	if t.Bug == "grad_v without gate" {
		gate = 1
	}
	if t.Bug != "grad_v of one head" || last {
		w := gate * t.StoredWeight(t.d, p)
		if t.Other {
			w = t.StoredWeight(t.d, gate*p)
		}
		t.Accumulate(g.v[((b*t.seq+j)*t.headsKV+h)*t.nV:][:t.nV], w, do)
	}
}
