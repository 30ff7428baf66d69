package mla_decode

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants differ in the tokens of a step, in whether a sequence is cut into parts, in the order of sums, in
// whether P is stored low, and in their fast functions.
var variants = []truthtest.Arithmetic{
	{Block: 32, Order: truthtest.InLanes, LowP: true, Other: true},
	{Block: 16, Order: truthtest.InSequence, Other: true},
	{Block: 64, Order: truthtest.InLanes, Noisy: true},
	{Block: 1 << 20, Order: truthtest.InSequence, LowP: true, Noisy: true},
}

const page = 64

var suites = []truthtest.Suite{{
	Op: "mla_decode", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: mutants(),
}}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func mutants() (all truthtest.Mutants) {
	all.Add(nil,
		"no scale", "scale of the size of v", "scale off by 1 %", "scale off by 0.1 %",
		"table not read", "table of the next sequence", "pages of 32 tokens", "last page that of the first",
		"length not read", "length of the next sequence", "one token too many", "last token left out",
		"last page left out", "padding of scores 0", "score over the values alone", "last columns as values",
		"sum not rescaled", "total not rescaled", "maximum begins at 0", "exp2 without log2(e)",
		"-5e4 for -inf",
		"not normalised", "parts joined without their maxima", "mean of the parts", "last part lost",
		"lse without log l", "lse in base 2", "lse of the last part", "lse as o lies", "o by heads first",
		"head 0 for all heads", "nothing to see is NaN", "scores rounded", "P in e4m3",
		"o accumulated in bf16")
	all.Add(truthtest.Only("causal", "true"), "causal ignored", "causal excludes the last token",
		"causal from the first token")
	all.Add(truthtest.Only("causal", "false"), "always causal")
	all.Add(truthtest.Only("empty_lse", "neg_inf"), "lse of nothing always inf")
	all.Add(truthtest.Only("empty_lse", "inf"), "lse of nothing always -inf")
	return all
}

// decoder is one case in fp32 with the arithmetic of a kernel.
type decoder struct {
	truthtest.Arithmetic
	p                         *truthtest.Prepared
	d                         op.DType
	q, cache                  []float64
	table, lengths            []float64
	batch, seqQ, heads, n, nV int
	pages                     int
	scale, empty              float32
	causal                    bool
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	q := p.In["q"]
	t := decoder{
		Arithmetic: a, p: p, d: q.DType, q: p.V["q"], cache: p.V["cache"], table: p.V["block_table"],
		lengths: p.V["lengths"], batch: int(q.Shape[0]), seqQ: int(q.Shape[1]), heads: int(q.Shape[2]),
		n: int(q.Shape[3]), nV: int(p.Attrs.Number("head_dim_v")), pages: int(p.In["block_table"].Shape[1]),
		scale: float32(p.Attrs.Number("scale")), empty: float32(math.Inf(1)),
		causal: p.Attrs.Number("causal") != 0,
	}
	if p.Attrs.Number("empty_lse") != 0 {
		t.empty = -t.empty
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
	case "lse of nothing always inf":
		t.empty = float32(math.Inf(1))
	case "lse of nothing always -inf":
		t.empty = float32(math.Inf(-1))
	case "causal ignored":
		t.causal = false
	case "always causal":
		t.causal = true
	}
	rows := t.batch * t.seqQ * t.heads
	o, lse := make([]float64, rows*t.nV), make([]float64, rows)
	for row := range rows {
		b, i, h := row/t.heads/t.seqQ, row/t.heads%t.seqQ, row%t.heads
		to := row
		if a.Bug == "o by heads first" {
			to = (b*t.heads+h)*t.seqQ + i
		}
		at := (b*t.heads+h)*t.seqQ + i
		if a.Bug == "lse as o lies" {
			at = row
		}
		lse[at] = float64(t.row(b, i, h, o[to*t.nV:(to+1)*t.nV]))
	}
	return [][]float64{o, lse}
}

// visible returns the number of tokens that query i of sequence b sees.
func (t *decoder) visible(b, i int) int {
	if t.Bug == "length of the next sequence" {
		b = (b + 1) % t.batch
	}
	length := int(t.lengths[b])
	switch t.Bug {
	case "length not read":
		length = int(t.p.Dims.Get("seq_kv"))
	case "one token too many":
		length = min(length+1, t.pages*page)
	case "last token left out":
		length = max(length-1, 0)
	case "last page left out":
		length = length / page * page
	}
	if !t.causal {
		return length
	}
	last := i + 1 + length - t.seqQ
	switch t.Bug {
	case "causal excludes the last token":
		last--
	case "causal from the first token":
		last = i + 1
	}
	return max(0, min(length, last))
}

// latent returns the row of token j of a sequence.
func (t *decoder) latent(b, j int) []float64 {
	number, within := j/page, j%page
	switch t.Bug {
	case "table of the next sequence":
		b = (b + 1) % t.batch
	case "pages of 32 tokens":
		number, within = min(j/32, t.pages-1), j%32
	case "last page that of the first":
		if number == t.pages-1 {
			number = 0
		}
	}
	block := int(t.table[b*t.pages+number])
	if t.Bug == "table not read" {
		block = b*t.pages + number
	}
	return t.cache[(block*page+within)*t.n:][:t.n]
}

func (t *decoder) value(b, j int) []float64 {
	if t.Bug == "last columns as values" {
		return t.latent(b, j)[t.n-t.nV:]
	}
	return t.latent(b, j)[:t.nV]
}

func (t *decoder) score(b, i, h, j int) float32 {
	if t.Bug == "head 0 for all heads" {
		h = 0
	}
	x, y, n := t.q[((b*t.seqQ+i)*t.heads+h)*t.n:], t.latent(b, j), t.n
	if t.Bug == "score over the values alone" {
		n = t.nV
	}
	s := float32(t.Sum(n, func(c int) float64 { return truthtest.F32(x[c] * y[c]) })) * t.scale
	if t.Bug == "scores rounded" {
		s = float32(tensor.Round(t.p.Low(), float64(s), false))
	}
	return s
}

// row fills a row of o and returns its lse.
func (t *decoder) row(b, i, h int, o []float64) float32 {
	keys := t.visible(b, i)
	if keys == 0 && t.Bug != "nothing to see is NaN" {
		return t.empty
	}
	each := keys
	if t.Other { // two parts of whole pages
		each = ((keys+page-1)/page + 1) / 2 * page
	}
	var parts []truthtest.Online
	for first := 0; first < keys; first += each {
		parts = append(parts, t.part(b, i, h, first, min(first+each, keys)))
	}
	if t.Bug == "last part lost" && len(parts) > 1 {
		parts = parts[:len(parts)-1]
	}
	whole := t.joined(parts)
	for c := range o {
		o[c] = float64(whole.O[c])
		if t.Bug != "not normalised" {
			o[c] = t.Fast(float64(whole.O[c] / whole.Total))
		}
	}
	if t.Bug == "lse of the last part" && whole.Most != truthtest.NoScore {
		return parts[len(parts)-1].LSE()
	}
	return whole.LSE()
}

func (t *decoder) joined(parts []truthtest.Online) truthtest.Online {
	whole := truthtest.Online{Arithmetic: t.Arithmetic, O: make([]float32, t.nV), Most: truthtest.NoScore}
	for _, p := range parts {
		whole.Most = max(whole.Most, p.Most)
	}
	for _, p := range parts {
		w := t.Weight(p.Most - truthtest.Base(whole.Most))
		switch t.Bug {
		case "parts joined without their maxima":
			w = 1
		case "mean of the parts":
			w = 1 / p.Total
		}
		whole.Total += w * p.Total
		for c, v := range p.O {
			whole.O[c] += w * v
		}
	}
	return whole
}

// part takes the tokens from first to end, Block of them in a step.
func (t *decoder) part(b, i, h, first, end int) truthtest.Online {
	p := t.Online(t.d, truthtest.Warp, make([]float32, t.nV))
	for from := first; from < end; from += t.Block {
		var scores []float32
		for j := from; j < min(from+t.Block, end); j++ {
			scores = append(scores, t.score(b, i, h, j))
		}
		p.Step(scores, func(x int) []float64 { return t.value(b, from+x) })
	}
	return p
}
