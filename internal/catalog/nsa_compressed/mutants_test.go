package nsa_compressed

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants differ in the blocks of a step, in the order of sums, in whether P and dS are stored low, in where
// dS is scaled, and in their fast functions.
var variants = []truthtest.Arithmetic{
	{Block: 4, Order: truthtest.InLanes, LowP: true, Other: true},
	{Block: 16, Order: truthtest.InSequence, Other: true},
	{Block: 32, Order: truthtest.InLanes, Noisy: true},
	{Block: 1 << 20, Order: truthtest.InSequence, LowP: true, Noisy: true},
}

var suites = []truthtest.Suite{
	{Op: "nsa_compressed", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: forwardMutants()},
	{
		Op: "nsa_compressed", Pass: op.Backward, Right: variants, Kernel: emulatedBackward,
		Mutants: backwardMutants(),
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// seeing are the mutants of what a query sees.
var seeing = []string{
	"the own block is seen", "a block is seen a token early", "a block is seen a token late",
	"every block is seen", "the last whole block is not seen", "a key of a token for each block",
	"keys of another head", "heads take turns", "keys of the next sequence", "scale off by 1 %",
	"exp2 without log2(e)", "o by heads first", "lse by heads first", "sums in bf16",
}

func forwardMutants() (all truthtest.Mutants) {
	all.Add(nil, seeing...)
	all.Add(nil,
		"no scale", "scale of the size of v", "first block dropped", "last part of a tile dropped",
		"padding of scores 0", "sum not rescaled", "total not rescaled", "maximum begins at 0",
		"-5e4 for -inf", "not normalised", "no block is NaN", "no block is the first", "lse without log l",
		"lse in base 2", "scores rounded", "P in e4m3")
	all.Add(truthtest.Only("empty_lse", "neg_inf"), "lse of nothing always 0")
	all.Add(truthtest.Only("empty_lse", "zero"), "lse of nothing always -inf")
	return all
}

func backwardMutants() (all truthtest.Mutants) {
	all.Add(nil, seeing...)
	all.Add(nil,
		"no delta", "delta of another row", "grad_q unscaled", "grad_k unscaled", "grad_q by heads first",
		"grad_k by heads first", "grad_k of one head", "grad_v of one head", "last queries left out",
		"block 0 skipped", "last blocks left out of grad_q", "grad_k of the mean's tokens")
	return all
}

// compressed is one case in fp32 with the arithmetic of a kernel.
type compressed struct {
	truthtest.Arithmetic
	d, low                                    op.DType
	q, k, v                                   []float64
	batch, seq, heads, headsKV, group, blocks int
	n, nV, size                               int
	scale, empty                              float32
}

func compressedOf(a truthtest.Arithmetic, p *truthtest.Prepared) *compressed {
	q, k := p.In["q"], p.In["k"]
	t := &compressed{
		Arithmetic: a, d: q.DType, low: p.Low(), q: p.V["q"], k: p.V["k"], v: p.V["v"],
		batch: int(q.Shape[0]), seq: int(q.Shape[1]), heads: int(q.Shape[2]), headsKV: int(k.Shape[2]),
		blocks: int(k.Shape[1]), n: int(q.Shape[3]), nV: int(p.In["v"].Shape[3]),
		size: int(p.Attrs.Number("block_size")), scale: float32(p.Attrs.Number("scale")),
		empty: truthtest.NoScore,
	}
	t.group = t.heads / t.headsKV
	zero := p.Attrs.Text("empty_lse") == "zero"
	switch a.Bug {
	case "no scale":
		t.scale = 1
	case "scale of the size of v":
		t.scale *= float32(math.Sqrt(float64(t.n) / float64(t.nV)))
	case "scale off by 1 %":
		t.scale *= 1.01
	case "lse of nothing always 0":
		zero = true
	case "lse of nothing always -inf":
		zero = false
	}
	if zero {
		t.empty = 0
	}
	return t
}

// row is a head of a query.
type row struct{ b, t, h int }

func (t *compressed) rowOf(r int) row {
	return row{r / t.heads / t.seq, r / t.heads % t.seq, r % t.heads}
}

func (t *compressed) at(r row) int { return (r.b*t.seq+r.t)*t.heads + r.h }

// byHeads returns the place of a row of so many heads and tokens, which a kernel with the bug takes to lie by
// heads.
func (t *compressed) byHeads(b, i, h, tokens, heads int, bug string) int {
	if t.Bug == bug {
		return (b*heads+h)*tokens + i
	}
	return (b*tokens+i)*heads + h
}

func (t *compressed) place(r row, bug string) int {
	return t.byHeads(r.b, r.t, r.h, t.seq, t.heads, bug)
}

// visible returns the number of blocks that a row sees.
func (t *compressed) visible(r row) int {
	seen := (r.t + 1) / t.size
	switch t.Bug {
	case "the own block is seen":
		seen = r.t/t.size + 1
	case "a block is seen a token early":
		seen = (r.t + 2) / t.size
	case "a block is seen a token late":
		seen = r.t / t.size
	case "every block is seen":
		seen = t.blocks
	case "the last whole block is not seen":
		seen = min(seen, t.seq/t.size-1)
	}
	return max(0, min(seen, t.blocks))
}

// keyHead returns the head of keys and values of a row.
func (t *compressed) keyHead(r row) int {
	switch t.Bug {
	case "keys of another head":
		return (r.h/t.group + 1) % t.headsKV
	case "heads take turns":
		return r.h % t.headsKV
	}
	return r.h / t.group
}

// key returns a row of keys or values, of n elements.
func (t *compressed) key(x []float64, n int, r row, c int) []float64 {
	b := r.b
	switch t.Bug {
	case "keys of the next sequence":
		b = (b + 1) % t.batch
	case "a key of a token for each block": // as if k had a row a token
		c = c * t.size % t.blocks
	}
	return x[((b*t.blocks+c)*t.headsKV+t.keyHead(r))*n:][:n]
}

func (t *compressed) dot(n int, x, y []float64) float32 {
	return float32(t.Sum(n, func(c int) float64 { return truthtest.F32(x[c] * y[c]) }))
}

func (t *compressed) score(r row, c int) float32 {
	s := t.dot(t.n, t.q[t.at(r)*t.n:], t.key(t.k, t.n, r, c)) * t.scale
	if t.Bug == "scores rounded" {
		s = float32(tensor.Round(t.low, float64(s), false))
	}
	return s
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	o, lse := compressedOf(a, p).forward()
	return [][]float64{truthtest.Wide(o), truthtest.Wide(lse)}
}

func (t *compressed) forward() (o, lse []float32) {
	rows := t.batch * t.seq * t.heads
	o, lse = make([]float32, rows*t.nV), make([]float32, rows)
	for number := range rows {
		r := t.rowOf(number)
		to := o[t.place(r, "o by heads first")*t.nV:][:t.nV]
		lse[t.place(r, "lse by heads first")] = t.forwardRow(r, to)
	}
	return o, lse
}

// forwardRow fills a row of o and returns its lse, Block blocks in a step.
func (t *compressed) forwardRow(r row, o []float32) float32 {
	begin, end := 0, t.visible(r)
	switch t.Bug {
	case "last part of a tile dropped":
		end = max((end-1)/truthtest.Vector*truthtest.Vector, min(end, 1))
	case "first block dropped":
		begin = min(1, max(end-1, 0))
	case "no block is the first":
		end = max(end, min(1, t.blocks))
	}
	if begin == end {
		if t.Bug == "no block is NaN" {
			for c := range o {
				o[c] = float32(math.NaN())
			}
		}
		return t.empty
	}
	sum := t.Online(t.d, truthtest.Vector, o)
	for first := begin; first < end; first += t.Block {
		var scores []float32
		for c := first; c < min(first+t.Block, end); c++ {
			scores = append(scores, t.score(r, c))
		}
		sum.Step(scores, func(x int) []float64 { return t.key(t.v, t.nV, r, first+x) })
	}
	sum.Normalise()
	return sum.LSE()
}

// gradients are the sums of one case.
type gradients struct {
	q, k, v    []float32
	o, lse, do []float64
}

// emulatedBackward uses o and lse as they are given, or from its own forward.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	right := a
	right.Bug = ""
	t := compressedOf(a, p)
	g := gradients{
		q: make([]float32, len(t.q)), k: make([]float32, len(t.k)), v: make([]float32, len(t.v)),
		o: p.V["o"], lse: p.V["lse"], do: p.V["grad_o"],
	}
	if p.Saved == "own" {
		o, lse := compressedOf(right, p).forward()
		g.o, g.lse = truthtest.RoundedTo(t.d, truthtest.Wide(o)), truthtest.Wide(lse)
	}
	for number := range t.batch * t.seq * t.heads {
		t.backwardRow(&g, t.rowOf(number))
	}
	return [][]float64{truthtest.Wide(g.q), truthtest.Wide(g.k), truthtest.Wide(g.v)}
}

// backwardRow adds what one head of one query adds.
func (t *compressed) backwardRow(g *gradients, r row) {
	do := g.do[t.at(r)*t.nV:][:t.nV]
	of := t.place(r, "o by heads first")
	if t.Bug == "delta of another row" {
		of = t.at(row{r.b, (r.t + 1) % t.seq, r.h})
	}
	delta := t.dot(t.nV, do, g.o[of*t.nV:])
	if t.Bug == "no delta" {
		delta = 0
	}
	lse, seen := float32(g.lse[t.place(r, "lse by heads first")]), t.visible(r)
	if t.Bug == "last blocks left out of grad_q" {
		seen = seen / truthtest.Vector * truthtest.Vector
	}
	for c := range t.visible(r) {
		if t.Bug != "block 0 skipped" || c > 0 {
			t.backwardPair(g, r, c, lse, delta, do, c < seen)
		}
	}
}

// backwardPair adds what one block adds.
func (t *compressed) backwardPair(g *gradients, r row, c int, lse, delta float32, do []float64, toQ bool) {
	p := t.Weight(t.score(r, c) - lse)
	ds := p * (t.dot(t.nV, do, t.key(t.v, t.nV, r, c)) - delta)
	scaleQ, scaleK := t.scale, t.scale
	if t.Other {
		ds, scaleQ, scaleK = ds*t.scale, 1, 1
	}
	ds = t.StoredWeight(t.d, ds)
	switch t.Bug {
	case "grad_q unscaled":
		scaleQ /= t.scale
	case "grad_k unscaled":
		scaleK /= t.scale
	case "grad_k of the mean's tokens": // the gradient of k's mean, not that of k
		scaleK /= float32(t.size)
	}
	if toQ {
		to := t.place(r, "grad_q by heads first")
		t.Accumulate(g.q[to*t.n:][:t.n], ds*scaleQ, t.key(t.k, t.n, r, c))
	}
	if t.Bug == "last queries left out" && r.t >= (t.seq-1)/truthtest.Vector*truthtest.Vector {
		return
	}
	b := r.b
	if t.Bug == "keys of the next sequence" {
		b = (b + 1) % t.batch
	}
	h, last := t.keyHead(r), r.h%t.group == t.group-1
	if t.Bug != "grad_k of one head" || last {
		at := t.byHeads(b, c, h, t.blocks, t.headsKV, "grad_k by heads first")
		t.Accumulate(g.k[at*t.n:][:t.n], ds*scaleK, t.q[t.at(r)*t.n:])
	}
	if t.Bug != "grad_v of one head" || last {
		t.Accumulate(g.v[((b*t.blocks+c)*t.headsKV+h)*t.nV:][:t.nV], t.StoredWeight(t.d, p), do)
	}
}
