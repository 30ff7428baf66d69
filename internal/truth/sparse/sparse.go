// Package sparse is the truth of the parts of native sparse attention: that in which each query sees blocks
// of keys that it is given, and the keys of a window before it, the sum of two softmaxes, each times its
// gate; and that over blocks which one key and one value stand for.
package sparse

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/attention"
)

// branches are the softmaxes: over the selected blocks, and over the window.
const branches = 2

// sparse is one case: q[batch, tokens, heads, n], k[batch, tokens, headsKV, n], v[batch, tokens, headsKV,
// nV].
type sparse struct {
	places
	rules   truth.Contract
	d       op.DType
	q, k, v tensor.Tensor
	gates   [branches][]float64 // [batch, tokens, heads]
	n, nV   int64
	scale   float64
	// the error of storing P: relative, and absolute below its normal range
	uP, eta    float64
	gN, gV, gK float64 // growth of sums over n, nV and keys
}

// places holds the sizes and the choice that decide which keys a query sees.
type places struct {
	batch, tokens, heads, headsKV, blocks, size, window int64
	indices                                             []float64 // [batch, tokens, headsKV, blocks]
}

func placesOf(c op.Case, indices []float64) places {
	selected, given := c.Dims.Lookup("selected")
	if !given {
		selected = int64(c.Attrs.Number("selected")) // 0 where there are no indices
	}
	return places{
		batch: c.Dims.Get("batch"), tokens: c.Dims.Get("seq"), heads: c.Dims.Get("heads"),
		headsKV: c.Dims.Get("heads_kv"), blocks: selected,
		size: int64(c.Attrs.Number("block_size")), window: int64(c.Attrs.Number("window")), indices: indices,
	}
}

// row splits the number of a row [batch, tokens, heads] into token and key head; at is the number of both.
func (p places) row(r int64) (b, t, h, at int64) {
	b, t, h = r/p.heads/p.tokens, r/p.heads%p.tokens, r%p.heads/(p.heads/p.headsKV)
	return b, t, h, (b*p.tokens+t)*p.headsKV + h
}

// seen returns, in each branch, the keys that a row sees, rising.
func (p places) seen(row int64) (keys [branches][]int64) {
	_, t, _, at := p.row(row)
	for _, block := range p.indices[at*p.blocks : (at+1)*p.blocks] {
		if block < 0 {
			continue
		}
		for j := int64(block) * p.size; j < min(int64(block+1)*p.size, t+1); j++ {
			keys[0] = append(keys[0], j)
		}
	}
	slices.Sort(keys[0])
	for j := max(0, t+1-p.window); j <= t && p.window > 0; j++ {
		keys[1] = append(keys[1], j)
	}
	return keys
}

func sparseOf(k *truth.Request) (*sparse, error) {
	in, err := k.Tensors("q", "k", "v", "indices", "g_slc", "g_swa")
	if err != nil {
		return nil, err
	}
	q, key, v := in[0], in[1], in[2]
	s := &sparse{
		places: placesOf(k.Case, in[3].Float64s()), rules: k.Rules, d: q.DType, q: q, k: key, v: v,
		gates: [branches][]float64{in[4].Float64s(), in[5].Float64s()}, n: k.Dims.Get("head_dim"),
		nV: k.Dims.Get("head_dim_v"), scale: k.Attrs.Number("scale"), uP: judge.U32, eta: judge.Tiny,
	}
	b, t, kv := s.batch, s.tokens, s.headsKV
	err = truth.FirstError(k.Shaped("q", b, t, s.heads, s.n), k.Shaped("k", b, t, kv, s.n),
		k.Shaped("v", b, t, kv, s.nV), k.Shaped("indices", b, t, kv, s.blocks),
		k.Shaped("g_slc", b, t, s.heads), k.Shaped("g_swa", b, t, s.heads))
	if err != nil {
		return nil, err
	}
	for i, block := range s.indices {
		if block != -1 && !(block >= 0 && int64(block)*s.size < t) {
			return nil, fmt.Errorf("indices has %v at element %d: want -1 or a block of %d tokens", block,
				i, t)
		}
	}
	s.gN, s.gV, s.gK = k.Growth(s.n), k.Growth(s.nV), k.Growth(min(s.blocks*s.size, t)+min(s.window, t))
	if s.rules.LowWeights {
		s.uP = truth.Unit(s.d)
		if s.d == op.FP16 {
			s.eta = truth.HalfSubnormal(op.FP16)
		}
	}
	return s, nil
}

// fewPairs and fewTokens are the least pairs and tokens of a head for G4, as in flash_attention: the rounding
// errors of a row are those of its weights. fewRows are the rows that a key's gradient needs.
const (
	fewPairs  = 256
	fewTokens = 16
	fewRows   = 16
)

// few reports whether a key's head is seen by too few pairs for G4.
func (s *sparse) few() bool {
	pairs := make([]int64, s.batch*s.headsKV)
	group := s.heads / s.headsKV
	for row := int64(0); row < s.batch*s.tokens*s.heads; row += group {
		b, _, h, _ := s.row(row)
		keys := s.seen(row)
		pairs[b*s.headsKV+h] += int64(len(keys[0])+len(keys[1])) * group
	}
	return s.tokens < fewTokens || len(pairs) > 0 && slices.Min(pairs) < fewPairs
}

// statistics counts the independent errors for G4: of the first token, which sees a single key, there is one
// in each head.
func (s *sparse) statistics(t *judge.Target, few bool) {
	t.Independent = t.Independent && !few
	t.Errors = float64(s.heads)
}

// keyHead is a head of keys and values, over the whole batch, in fp64.
type keyHead struct{ k, v []float64 }

func (s *sparse) keyHead(b, h int64) keyHead {
	x := keyHead{make([]float64, s.tokens*s.n), make([]float64, s.tokens*s.nV)}
	for j := range s.tokens {
		s.k.DecodeRow(x.k[j*s.n:(j+1)*s.n], (b*s.tokens+j)*s.headsKV+h, 0)
		s.v.DecodeRow(x.v[j*s.nV:(j+1)*s.nV], (b*s.tokens+j)*s.headsKV+h, 0)
	}
	return x
}

// branch is one softmax of a row. It is working memory.
type branch struct {
	gate      float64
	keys      []int64
	s, abs, p []float64 // scale*q.k, the same of absolute values, P
	sim       []float64 // P as the contract stores it
	max, lse  float64
	shift     float64   // the largest error of an exponent
	spread    float64   // sum_j P_j*eps_j
	w         []float64 // sum_j P_j*|v_j|
	o         truth.Row
}

func resized(x []float64, n int64) []float64 {
	x = slices.Grow(x[:0], int(n))[:n]
	clear(x)
	return x
}

// fill fills the branch of a query. With w = P.|v| and the weights' errors eps the error bound of its o is
// that of flash_attention,
//
//	T = u_P*w + eta*sum|v| + sum_j P_j*eps_j*|v_j| + |R|*(sum_j P_j*eps_j + u32*g(keys)) + u32*g(keys)*w
//	    + keys*2^-149
//
// and never more than max_j |v_j| + |R|.
func (s *sparse) fill(x *branch, head keyHead, query []float64) {
	n, nV := int64(len(x.keys)), s.nV
	x.s, x.abs, x.p, x.sim = resized(x.s, n), resized(x.abs, n), resized(x.p, n), resized(x.sim, n)
	x.w = resized(x.w, nV)
	backing := resized(x.o.R, 4*nV)
	x.o = truth.Row{R: backing[:nV], T: backing[nV : 2*nV], TFP32: backing[2*nV : 3*nV], Sim: backing[3*nV:]}
	x.max, x.shift, x.spread = math.Inf(-1), 0, 0
	if n == 0 {
		return
	}
	for i, j := range x.keys {
		dot, abs := truth.Dots(query, head.k[j*s.n:(j+1)*s.n])
		x.s[i], x.abs[i] = s.scale*dot, math.Abs(s.scale)*abs
		x.max = math.Max(x.max, x.s[i])
	}
	for i, v := range x.s {
		x.p[i] = math.Exp(v - x.max)
		x.shift = math.Max(x.shift, s.exponentError(x, i))
	}
	l := truth.SumOf(len(x.p), func(i int) float64 { return x.p[i] })
	x.lse = x.max + math.Log(l)
	sizes := make([]float64, nV)
	for i, j := range x.keys {
		v := head.v[j*nV : (j+1)*nV]
		x.sim[i] = s.stored(x.p[i]) / l
		x.p[i] /= l
		eps, lost := attention.Grown(s.exponentError(x, i)), truth.Revived(x.p[i], x.s[i]-x.lse, 2*x.shift)
		x.spread += truth.Weighted(x.p[i], eps) + lost
		exact := truth.Weighted(x.p[i], eps+judge.U32*s.gK) + lost
		truth.Axpy(x.o.R, x.p[i], v)
		truth.Axpy(x.o.Sim, x.sim[i], v)
		truth.AxpyAbs(x.o.TFP32, exact+truth.Weighted(x.p[i], judge.U32), v)
		truth.AxpyAbs(x.o.T, exact+truth.Weighted(x.p[i], s.uP), v)
		truth.AxpyAbs(x.w, x.p[i], v)
		truth.AxpyAbs(sizes, 1, v)
	}
	for c, size := range sizes {
		common := math.Abs(x.o.R[c])*(x.spread+judge.U32*s.gK) + truth.Subnormal*float64(n)
		x.o.T[c] += s.eta*size + common
		x.o.TFP32[c] += judge.Tiny*size + common
	}
	if !(x.spread < 0.5) {
		s.limit(x, head)
	}
}

// exponentError returns the error of the exponent of the branch's i-th key.
func (s *sparse) exponentError(x *branch, i int) float64 {
	return attention.ExponentError(s.gN, x.s[i], x.abs[i], x.max)
}

// stored returns a weight as the contract stores it.
func (s *sparse) stored(e float64) float64 {
	if s.rules.LowWeights {
		return tensor.Round(s.d, e, false)
	}
	return e
}

// limit bounds the error of a row whose scores are so large that their rounding decides: a weighted mean of
// the visible values stays among them.
func (s *sparse) limit(x *branch, head keyHead) {
	for c := range x.o.R {
		largest := 0.0
		for _, j := range x.keys {
			largest = math.Max(largest, math.Abs(head.v[j*s.nV+int64(c)]))
		}
		most := largest*(1+2*judge.U32*s.gK+s.uP) + math.Abs(x.o.R[c])
		x.o.T[c], x.o.TFP32[c] = math.Min(x.o.T[c], most), math.Min(x.o.TFP32[c], most)
	}
}

// query is the working memory of one row.
type query struct {
	q, do []float64
	of    [branches]branch
}

// weigh fills both branches of a row.
func (s *sparse) weigh(m *query, head keyHead, row int64) {
	m.q = resized(m.q, s.n)
	s.q.DecodeRow(m.q, row, 0)
	for i, keys := range s.seen(row) {
		m.of[i].keys, m.of[i].gate = keys, s.gates[i][row]
		s.fill(&m.of[i], head, m.q)
	}
}

// eachHead calls work with the judged rows of each key head: their numbers among all judged, and their rows.
func (s *sparse) eachHead(rows []int64, work func(b, h int64, at, rows []int64)) {
	all := rows
	if all == nil {
		all = truth.Rest(nil, s.batch*s.tokens*s.heads)
	}
	at, of := make([][]int64, s.batch*s.headsKV), make([][]int64, s.batch*s.headsKV)
	for i, row := range all {
		b, _, h, _ := s.row(row)
		at[b*s.headsKV+h] = append(at[b*s.headsKV+h], int64(i))
		of[b*s.headsKV+h] = append(of[b*s.headsKV+h], row)
	}
	for head := range int64(len(of)) {
		work(head/s.headsKV, head%s.headsKV, at[head], of[head])
	}
}

// Selected returns the truth of o [batch, tokens, heads, nV], the sum of the branches' o_i times their gates
// g_i:
//
//	T = sum_i |g_i|*T_i + 3*u32*|g_i|*(|R_i| + T_i)
//
// the product, which may be part of the normalisation, and the sum. Over no key at all o is 0, exactly.
func Selected(k *truth.Request) ([]judge.Target, error) {
	s, err := sparseOf(k)
	if err != nil {
		return nil, err
	}
	rows := k.Sample.Choose(s.batch * s.tokens * s.heads)
	out := k.Target("o", s.d, []int64{s.batch, s.tokens, s.heads, s.nV}, rows)
	s.statistics(&out, s.few())
	s.eachHead(rows, func(b, h int64, at, rows []int64) {
		if len(rows) == 0 {
			return
		}
		head := s.keyHead(b, h)
		parallel.EachWith(int64(len(rows)), func() *query { return new(query) }, func(m *query, i int64) {
			s.weigh(m, head, rows[i])
			o := truth.RowOf(out, at[i], s.nV)
			for x := range m.of {
				addGated(o, &m.of[x])
			}
			truth.RoundRow(o.Sim, o.Sim, s.d)
		})
	})
	return []judge.Target{out}, nil
}

func addGated(to truth.Row, x *branch) {
	if len(x.keys) == 0 {
		return
	}
	size := math.Abs(x.gate)
	for c, r := range x.o.R {
		own := 3*judge.U32*size*(math.Abs(r)+x.o.T[c]) + 2*truth.Subnormal
		to.R[c] += float64(x.gate * r)
		to.T[c] += size*x.o.T[c] + own
		to.TFP32[c] += size*x.o.TFP32[c] + own
		to.Sim[c] += float64(x.gate * x.o.Sim[c])
	}
}
