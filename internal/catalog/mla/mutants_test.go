package mla

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants differ in the tokens of a step, in the order of sums, in whether P and dS are stored low, in
// whether both parts of a latent row's gradient are one sum, and in their fast functions.
var variants = []truthtest.Arithmetic{
	{Block: 32, Order: truthtest.InLanes, LowP: true, Other: true},
	{Block: 16, Order: truthtest.InSequence, Other: true},
	{Block: 64, Order: truthtest.InLanes, Noisy: true},
	{Block: 1 << 20, Order: truthtest.InSequence, LowP: true, Noisy: true},
}

var suites = []truthtest.Suite{
	{Op: "mla", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: forwardMutants()},
	{Op: "mla", Pass: op.Backward, Right: variants, Kernel: emulatedBackward, Mutants: backwardMutants()},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func forwardMutants() (all truthtest.Mutants) {
	all.Add(nil,
		"no scale", "scale of the size of v", "scale off by 1 %", "scale off by 0.1 %",
		"last block of keys dropped", "padding of scores 0", "score over the values alone",
		"last columns as values", "rows as long as values", "rows of the next sequence",
		"sum not rescaled", "total not rescaled", "maximum begins at 0", "exp2 without log2(e)",
		"-5e4 for -inf", "not normalised", "lse without log l", "lse in base 2", "lse as o lies",
		"o by heads first",
		"head 0 for all heads", "scores rounded", "P in e4m3", "sums in bf16")
	all.Add(truthtest.Only("causal", "true"), "causal ignored", "causal excludes the last token",
		"causal from the first token")
	all.Add(truthtest.Only("causal", "false"), "always causal")
	return all
}

func backwardMutants() (all truthtest.Mutants) {
	all.Add(nil,
		"no delta", "delta of another row", "grad_q unscaled", "gradients unscaled", "values' part missing",
		"keys' part missing", "values' part in the last columns", "values' part scaled",
		"values' part of one head", "keys' part of one head", "last queries left out of grad_kv",
		"key 0 skipped", "last keys left out of grad_q", "score over the values alone",
		"last columns as values", "lse as o lies", "o by heads first", "grad_q by heads first",
		"rows of the next sequence", "exp2 without log2(e)", "sums in bf16", "scale off by 1 %")
	all.Add(truthtest.Only("causal", "true"), "causal ignored", "causal excludes the last token",
		"causal from the first token")
	all.Add(truthtest.Only("causal", "false"), "always causal")
	return all
}

// attending is one case in fp32 with the arithmetic of a kernel.
type attending struct {
	truthtest.Arithmetic
	p                                  *truthtest.Prepared
	d                                  op.DType
	q, kv                              []float64
	batch, queries, heads, keys, n, nV int
	scale                              float32
	causal                             bool
}

func attendingOf(a truthtest.Arithmetic, p *truthtest.Prepared) attending {
	q := p.In["q"]
	t := attending{
		Arithmetic: a, p: p, d: q.DType, q: p.V["q"], kv: p.V["kv"], batch: int(q.Shape[0]),
		queries: int(q.Shape[1]), heads: int(q.Shape[2]), keys: int(p.In["kv"].Shape[1]), n: int(q.Shape[3]),
		nV: int(p.Attrs.Number("head_dim_v")), scale: float32(p.Attrs.Number("scale")),
		causal: p.Attrs.Number("causal") != 0,
	}
	switch a.Bug {
	case "no scale":
		t.scale = 1
	case "scale of the size of v":
		t.scale *= float32(math.Sqrt(float64(t.n) / float64(t.nV)))
	case "scale off by 1 %":
		t.scale *= 1.01
	case "scale off by 0.1 %":
		t.scale *= 1.001
	case "causal ignored":
		t.causal = false
	case "always causal":
		t.causal = true
	}
	return t
}

// visible returns the number of keys that query i sees.
func (t *attending) visible(i int) int {
	if !t.causal {
		return t.keys
	}
	last := i + 1 + t.keys - t.queries
	switch t.Bug {
	case "causal excludes the last token":
		last--
	case "causal from the first token":
		last = i + 1
	}
	return max(0, min(t.keys, last))
}

// latent returns a latent row, and value its first elements.
func (t *attending) latent(b, j int) []float64 {
	if t.Bug == "rows of the next sequence" {
		b = (b + 1) % t.batch
	}
	if t.Bug == "rows as long as values" {
		return t.kv[b*t.keys*t.n+j*t.nV:][:t.n]
	}
	return t.kv[(b*t.keys+j)*t.n:][:t.n]
}

func (t *attending) value(b, j int) []float64 {
	if t.Bug == "last columns as values" {
		return t.latent(b, j)[t.n-t.nV:]
	}
	return t.latent(b, j)[:t.nV]
}

// row returns the place of a query of a head in q, and statistic in lse.
func (t *attending) row(b, i, h int) int { return (b*t.queries+i)*t.heads + h }

func (t *attending) statistic(b, i, h int) int {
	if t.Bug == "lse as o lies" {
		return t.row(b, i, h)
	}
	return (b*t.heads+h)*t.queries + i
}

// byHeads returns the place of a row of an output that a kernel may write by heads first.
func (t *attending) byHeads(b, i, h int, bug string) int {
	if t.Bug == bug {
		return (b*t.heads+h)*t.queries + i
	}
	return t.row(b, i, h)
}

func (t *attending) dot(n int, x, y []float64) float32 {
	return float32(t.Sum(n, func(c int) float64 { return truthtest.F32(x[c] * y[c]) }))
}

func (t *attending) score(b, i, h, j int) float32 {
	if t.Bug == "head 0 for all heads" {
		h = 0
	}
	n := t.n
	if t.Bug == "score over the values alone" {
		n = t.nV
	}
	s := t.dot(n, t.q[t.row(b, i, h)*t.n:], t.latent(b, j)) * t.scale
	if t.Bug == "scores rounded" {
		s = float32(tensor.Round(t.p.Low(), float64(s), false))
	}
	return s
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	t := attendingOf(a, p)
	o, lse := t.forward()
	return [][]float64{truthtest.Wide(o), truthtest.Wide(lse)}
}

func (t *attending) forward() (o, lse []float32) {
	rows := t.batch * t.queries * t.heads
	o, lse = make([]float32, rows*t.nV), make([]float32, rows)
	for row := range rows {
		b, i, h := row/t.heads/t.queries, row/t.heads%t.queries, row%t.heads
		at := t.byHeads(b, i, h, "o by heads first")
		lse[t.statistic(b, i, h)] = t.forwardRow(b, i, h, o[at*t.nV:][:t.nV])
	}
	return o, lse
}

// forwardRow fills a row of o and returns its lse, Block keys in a step.
func (t *attending) forwardRow(b, i, h int, o []float32) float32 {
	keys := t.visible(i)
	if keys == 0 {
		return truthtest.NoScore
	}
	if t.Bug == "last block of keys dropped" {
		keys = max((keys-1)/truthtest.Warp*truthtest.Warp, 1)
	}
	sum := t.Online(t.d, truthtest.Warp, o)
	for first := 0; first < keys; first += t.Block {
		var scores []float32
		for j := first; j < min(first+t.Block, keys); j++ {
			scores = append(scores, t.score(b, i, h, j))
		}
		sum.Step(scores, func(x int) []float64 { return t.value(b, first+x) })
	}
	sum.Normalise()
	return sum.LSE()
}

// gradients are the sums of one case. keys and values are the parts of grad_kv, of rows of n elements; one
// sum where the kernel has one, whose scores' gradients are scaled before they are stored.
type gradients struct {
	q, keys, values []float32
	o, do           []float64
	lse             []float64
}

// emulatedBackward uses o and lse as they are given, or from its own forward.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	right := a
	right.Bug = ""
	t := attendingOf(a, p)
	g := gradients{
		q: make([]float32, len(t.q)), keys: make([]float32, len(t.kv)), values: make([]float32, len(t.kv)),
		o: p.V["o"], lse: p.V["lse"], do: p.V["grad_o"],
	}
	if p.Saved == "own" {
		forward := attendingOf(right, p)
		o, lse := forward.forward()
		g.o, g.lse = truthtest.RoundedTo(t.d, truthtest.Wide(o)), truthtest.Wide(lse)
	}
	if t.Other {
		g.values = g.keys
	}
	for row := range t.batch * t.queries * t.heads {
		t.backwardRow(&g, row/t.heads/t.queries, row/t.heads%t.queries, row%t.heads)
	}
	scaleQ, scaleK := t.scale, t.scale
	if t.Other {
		scaleQ, scaleK = 1, 1
	}
	if a.Bug == "grad_q unscaled" || a.Bug == "gradients unscaled" {
		scaleQ /= t.scale
	}
	if a.Bug == "gradients unscaled" && !t.Other {
		scaleK = 1
	}
	for i := range g.q {
		g.q[i] *= scaleQ
	}
	for i := range g.keys {
		g.keys[i] *= scaleK
		if !t.Other {
			g.keys[i] += g.values[i]
		}
	}
	return [][]float64{truthtest.Wide(g.q), truthtest.Wide(g.keys)}
}

// backwardRow adds what one query of one head adds.
func (t *attending) backwardRow(g *gradients, b, i, h int) {
	row := t.row(b, i, h)
	do := g.do[row*t.nV:][:t.nV]
	at := t.byHeads(b, i, h, "o by heads first")
	if t.Bug == "delta of another row" {
		at = t.row(b, (i+1)%t.queries, h)
	}
	delta := t.dot(t.nV, do, g.o[at*t.nV:])
	if t.Bug == "no delta" {
		delta = 0
	}
	lse := float32(g.lse[t.statistic(b, i, h)])
	if lse == truthtest.NoScore {
		return
	}
	last := func(x, n int) bool { return x >= (n-1)/truthtest.Vector*truthtest.Vector }
	for j := range t.visible(i) {
		if t.Bug == "key 0 skipped" && j == 0 {
			continue
		}
		p := t.Weight(t.score(b, i, h, j) - lse)
		ds := p * (t.dot(t.nV, do, t.value(b, j)) - delta)
		if t.Other && t.Bug != "gradients unscaled" {
			ds *= t.scale
		}
		ds = t.StoredWeight(t.d, ds)
		if t.Bug != "last keys left out of grad_q" || !last(j, t.keys) {
			to := t.byHeads(b, i, h, "grad_q by heads first")
			t.Accumulate(g.q[to*t.n:][:t.n], ds, t.latent(b, j))
		}
		t.addToRow(g, b, i, h, j, ds, t.StoredWeight(t.d, p), last(i, t.queries))
	}
}

// addToRow adds to the gradient of a latent row.
func (t *attending) addToRow(g *gradients, b, i, h, j int, ds, p float32, last bool) {
	row, at := t.row(b, i, h), (b*t.keys+j)*t.n
	if t.Bug == "last queries left out of grad_kv" && last {
		return
	}
	if t.Bug != "keys' part missing" && (t.Bug != "keys' part of one head" || h == t.heads-1) {
		t.Accumulate(g.keys[at:][:t.n], ds, t.q[row*t.n:])
	}
	switch {
	case t.Bug == "values' part missing", t.Bug == "values' part of one head" && h < t.heads-1:
		return
	case t.Bug == "values' part in the last columns":
		at += t.n - t.nV
	case t.Bug == "values' part scaled":
		p *= t.scale
	}
	t.Accumulate(g.values[at:][:t.nV], p, g.do[row*t.nV:])
}
