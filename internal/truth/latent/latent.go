// Package latent is the truth of attention in which every head of a query reads the same latent row of each
// token, whose first elements are also the value, from a paged cache.
package latent

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

// page is the number of tokens in a block of the cache.
const page = 64

// decoding is one case: q[batch, seqQ, heads, n], cache[blocks, page, n], of whose rows the first nV elements
// are the values.
type decoding struct {
	rules              truth.Contract
	d                  op.DType
	q, cache           tensor.Tensor
	table, lengths     []float64
	batch, seqQ, heads int64
	n, nV              int64
	scale, empty       float64
	causal             bool
	// the error of storing P: relative, and absolute below its normal range
	uP, eta float64
	growth  func(terms int64) float64
}

func decodingOf(k *truth.Request) (*decoding, error) {
	in, err := k.Tensors("q", "cache", "block_table", "lengths")
	if err != nil {
		return nil, err
	}
	s := in[0].Shape
	if len(s) != 4 || len(in[1].Shape) != 3 || in[1].Shape[1] != page || in[1].Shape[2] != s[3] ||
		len(in[2].Shape) != 2 || in[2].Shape[0] != s[0] || !slices.Equal(in[3].Shape, s[:1]) {
		return nil, fmt.Errorf("q has shape %v, cache %v, block_table %v, lengths %v: want "+
			"[batch, queries, heads, n], "+
			"[blocks, 64, n], [batch, pages], [batch]", s, in[1].Shape, in[2].Shape, in[3].Shape)
	}
	d := &decoding{
		rules: k.Rules, d: in[0].DType, q: in[0], cache: in[1], table: in[2].Float64s(),
		lengths: in[3].Float64s(), batch: s[0], seqQ: s[1], heads: s[2], n: s[3],
		nV: int64(k.Attrs.Number("head_dim_v")), scale: k.Attrs.Number("scale"), empty: math.Inf(1),
		causal: k.Attrs.Number("causal") != 0, uP: judge.U32, eta: judge.Tiny, growth: k.Growth,
	}
	if k.Attrs.Number("empty_lse") != 0 {
		d.empty = math.Inf(-1)
	}
	if d.rules.LowWeights {
		d.uP = truth.Unit(d.d)
		if d.d == op.FP16 {
			d.eta = truth.HalfSubnormal(op.FP16)
		}
	}
	return d, nil
}

// visible returns how many keys query i of a sequence of that length sees: causal is aligned to its end.
func (d *decoding) visible(i, length int64) int64 {
	if !d.causal {
		return length
	}
	return max(0, min(length, i+1+length-d.seqQ))
}

// The rounding errors of a row's elements are those of its weights: below fewKeys keys, or fewPairs pairs of
// a query and a key in a sequence, their root mean square is no statistic, as in flash_attention.
const (
	fewPairs = 256
	fewKeys  = 16
)

// few reports whether a sequence has too few keys or pairs for G4.
func (d *decoding) few() bool {
	return slices.ContainsFunc(d.lengths, func(length float64) bool {
		keys := int64(0)
		for i := range d.seqQ {
			keys += d.visible(i, int64(length))
		}
		return keys*d.heads < fewPairs || length < fewKeys
	})
}

// Forward returns the truth of o and lse.
func Forward(k *truth.Request) ([]judge.Target, error) {
	d, err := decodingOf(k)
	if err != nil {
		return nil, err
	}
	rows := d.batch * d.seqQ * d.heads
	chosen := k.Sample.Choose(rows)
	o := k.Target("o", d.d, []int64{d.batch, d.seqQ, d.heads, d.nV}, chosen)
	if chosen == nil {
		chosen = truth.Rest(nil, rows)
	}
	statistics := make([]int64, len(chosen)) // the places in lse of the same rows
	for x, r := range chosen {
		statistics[x] = d.statistic(r)
	}
	slices.Sort(statistics)
	lse := k.RowStatistic("lse", rows, statistics)
	if int64(len(chosen)) == rows {
		lse = k.RowStatistic("lse", rows, nil)
	}
	lse.Shape = []int64{d.batch, d.heads, d.seqQ}
	few := d.few()
	o.Independent, lse.Independent = o.Independent && !few, lse.Independent && !few
	for first := 0; first < len(chosen); {
		b := chosen[first] / (d.seqQ * d.heads)
		end, _ := slices.BinarySearch(chosen, (b+1)*d.seqQ*d.heads)
		s, err := d.sequence(b)
		if err != nil {
			return nil, err
		}
		parallel.EachWith(int64(end-first), func() *weights { return new(weights) },
			func(w *weights, x int64) {
				at := int64(first) + x
				place, _ := slices.BinarySearch(statistics, d.statistic(chosen[at]))
				s.row(w, chosen[at], truth.RowOf(o, at, d.nV), truth.RowOf(lse, int64(place), 1))
			})
		first = end
	}
	return []judge.Target{o, lse}, nil
}

// statistic returns the place in lse [batch, heads, seqQ] of a row of o [batch, seqQ, heads].
func (d *decoding) statistic(row int64) int64 {
	b, i, h := row/d.heads/d.seqQ, row/d.heads%d.seqQ, row%d.heads
	return (b*d.heads+h)*d.seqQ + i
}

// sequence is one request: its latent rows in the order of its tokens.
type sequence struct {
	*decoding
	length int64
	rows   []float64   // length rows of n elements
	sizes  [][]float64 // for each query the sum of |v| over the keys that it sees
	gN, gK float64     // growth of sums over n, and over keys
}

func (d *decoding) sequence(b int64) (*sequence, error) {
	pages := int64(len(d.table)) / max(d.batch, 1)
	s := &sequence{decoding: d, length: int64(d.lengths[b]), gN: d.growth(d.n)}
	if s.length < 0 || s.length > pages*page {
		return nil, fmt.Errorf("lengths[%d] is %d: want 0 to %d", b, s.length, pages*page)
	}
	s.gK = d.growth(s.length)
	s.rows = make([]float64, s.length*d.n)
	for j := range s.length {
		block := int64(d.table[b*pages+j/page])
		if block < 0 || block >= d.cache.Shape[0] {
			return nil, fmt.Errorf("block_table[%d, %d] is %d: want a block of %d", b, j/page, block,
				d.cache.Shape[0])
		}
		d.cache.DecodeRow(s.rows[j*d.n:(j+1)*d.n], block*page+j%page, 0)
	}
	for i := range d.seqQ {
		sizes := make([]float64, d.nV)
		for j := range d.visible(i, s.length) {
			truth.AxpyAbs(sizes, 1, s.value(j))
		}
		s.sizes = append(s.sizes, sizes)
	}
	return s, nil
}

func (s *sequence) latent(j int64) []float64 { return s.rows[j*s.n : (j+1)*s.n] }
func (s *sequence) value(j int64) []float64  { return s.rows[j*s.n : j*s.n+s.nV] }

// weights are those of one query of one head, with what decides their errors. It is working memory.
type weights struct {
	query         []float64
	s, abs, p     []float64 // scale*q.c, the same of absolute values, exp(s - max)
	max, l, shift float64   // shift: the largest error of an exponent
}

// score fills the weights of a row of q against its first keys.
func (s *sequence) score(w *weights, row, keys int64) {
	w.query = resized(w.query, s.n)
	s.q.DecodeRow(w.query, row, 0)
	w.s, w.abs, w.p = resized(w.s, keys), resized(w.abs, keys), resized(w.p, keys)
	w.max, w.shift = math.Inf(-1), 0
	for j := range keys {
		dot, abs := truth.Dots(w.query, s.latent(j))
		w.s[j], w.abs[j] = s.scale*dot, math.Abs(s.scale)*abs
		w.max = math.Max(w.max, w.s[j])
	}
	for j, v := range w.s {
		w.p[j] = math.Exp(v - w.max)
		w.shift = math.Max(w.shift, s.exponentError(v, w.abs[j], w.max))
	}
	w.l = truth.SumOf(len(w.p), func(j int) float64 { return w.p[j] })
}

func resized(x []float64, n int64) []float64 { return slices.Grow(x[:0], int(n))[:n] }

func (s *sequence) exponentError(v, abs, most float64) float64 {
	return attention.ExponentError(s.gN, v, abs, most)
}

// row fills one row of o (which is 0) and its lse. With w = P.|v| and the weights' errors eps the error bound
// is that of flash_attention,
//
//	T = u_P*w + eta*sum|v| + sum_j P_j*eps_j*|v_j| + |R|*(sum_j P_j*eps_j + u32*g(keys)) + u32*g(keys)*w
//	    + keys*2^-149
//
// storing P, its underflow (P may be stored before it is divided by l >= 1, or after), the weights in the
// numerator and in the sum l, the sum over the keys. A cut into parts adds roundings of exp(m_part - m),
// which are those of exp in eps, and shortens the sums. Never more than max_j |v_j| + |R|, as o is a
// weighted mean
// whatever the weights. For lse
//
//	T = min(sum_j P_j*eps_j + revived, max_j eps_j) + u32*(|m| + g(keys) + 8 + 2|log l|)
//
// where what a weight below fp64's range may become counts whole. Without a key both are exact.
func (s *sequence) row(w *weights, row int64, o, lse truth.Row) {
	i := row / s.heads % s.seqQ
	keys := s.visible(i, s.length)
	if keys == 0 {
		lse.R[0], lse.Sim[0] = s.empty, s.empty
		return
	}
	s.score(w, row, keys)
	whole := w.max + math.Log(w.l)
	spread, revived := 0.0, 0.0
	for j, e := range w.p {
		share, eps := e/w.l, attention.Grown(s.exponentError(w.s[j], w.abs[j], w.max))
		lost := truth.Revived(share, w.s[j]-whole, 2*w.shift)
		if lost > 0 {
			revived += attention.Grown(math.Max(w.s[j]-whole+2*w.shift, 0))
		}
		spread += truth.Weighted(share, eps) + lost
		exact := truth.Weighted(share, eps+judge.U32*s.gK) + lost
		truth.Axpy(o.R, share, s.value(int64(j)))
		truth.Axpy(o.Sim, s.stored(e)/w.l, s.value(int64(j)))
		truth.AxpyAbs(o.TFP32, exact+truth.Weighted(share, judge.U32), s.value(int64(j)))
		truth.AxpyAbs(o.T, exact+truth.Weighted(share, s.uP), s.value(int64(j)))
	}
	truth.RoundRow(o.Sim, o.Sim, s.d)
	for c, sizes := range s.sizes[i] {
		common := math.Abs(o.R[c])*(spread+judge.U32*s.gK) + truth.Subnormal*float64(keys)
		o.T[c] += s.eta*sizes + common
		o.TFP32[c] += judge.Tiny*sizes + common
	}
	if !(spread < 0.5) {
		s.limit(keys, o)
	}
	own := judge.U32 * (math.Abs(w.max) + s.gK + 8 + 2*math.Abs(math.Log(w.l)))
	truth.SetOne(judge.Target{
		DType: op.FP32, R: lse.R, T: lse.T, TFP32: lse.TFP32, Sim: lse.Sim,
	}, 0, whole, math.Min(spread+revived, w.shift)+own)
}

// stored returns an unnormalised weight as the contract stores it.
func (s *sequence) stored(e float64) float64 {
	if s.rules.LowWeights {
		return tensor.Round(s.d, e, false)
	}
	return e
}

// limit bounds the error of a row whose scores are so large that their rounding decides: a weighted mean of
// the visible values stays among them.
func (s *sequence) limit(keys int64, o truth.Row) {
	for c := range o.R {
		largest := 0.0
		for j := range keys {
			largest = math.Max(largest, math.Abs(s.value(j)[c]))
		}
		most := largest*(1+2*judge.U32*s.gK+s.uP) + math.Abs(o.R[c])
		o.T[c], o.TFP32[c] = math.Min(o.T[c], most), math.Min(o.TFP32[c], most)
	}
}
