package sparse

import (
	"cmp"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/attention"
)

// ranking is one case of the choice of blocks: q[batch, tokens, heads, n] and of each block one key, k[batch,
// all, headsKV, n].
type ranking struct {
	places
	q, k       tensor.Tensor
	n, all     int64
	scale      float64
	near       bool    // the first block and the one before the own are forced too
	gN, gC, gG float64 // growth of sums over n, blocks and heads
}

func rankingOf(k *truth.Request) (*ranking, error) {
	in, err := k.Tensors("q", "k")
	if err != nil {
		return nil, err
	}
	r := &ranking{
		places: placesOf(k.Case, nil), q: in[0], k: in[1], n: k.Dims.Get("head_dim"),
		scale: k.Attrs.Number("scale"), near: k.Attrs.Text("forced") != "own",
	}
	r.all = (r.tokens + r.size - 1) / r.size
	r.gN, r.gC, r.gG = k.Growth(r.n), k.Growth(r.all), k.Growth(r.heads/r.headsKV)
	return r, truth.FirstError(k.Shaped("q", r.batch, r.tokens, r.heads, r.n),
		k.Shaped("k", r.batch, r.all, r.headsKV, r.n))
}

// scored are the scores of the blocks that a query may choose, 0 to its own, with the lowest and the highest
// that a kernel may have computed. It is working memory.
type scored struct {
	R, low, high []float64
	q, k, s, eps []float64
}

// forced reports whether a query whose own block is own has a block whatever its score is.
func (r *ranking) forced(block, own int64) bool {
	return block == own || r.near && (block == 0 || block == own-1)
}

// score fills the scores of a row [batch, tokens, headsKV]: the mean over the heads of a group of P =
// softmax(scale * q k^T) over the blocks that have ended, and 1 of a forced block. A score is off by what its
// weights are, as those of attention:
//
//	P*(exp(eps + sum_j P_j*eps_j + u32*(g(blocks) + g(heads) + 10)) - 1) + 2^-126
//
// eps being the error of an exponent. Where a score of q and k is no number, a weight may be anything.
func (r *ranking) score(x *scored, row int64) {
	b, t, h := row/r.headsKV/r.tokens, row/r.headsKV%r.tokens, row%r.headsKV
	own, seen, group := t/r.size, (t+1)/r.size, r.heads/r.headsKV
	x.R, x.low, x.high = resized(x.R, own+1), resized(x.low, own+1), resized(x.high, own+1)
	x.q, x.k = resized(x.q, r.n), resized(x.k, r.n)
	x.s, x.eps = resized(x.s, seen), resized(x.eps, seen)
	for g := range group {
		r.q.DecodeRow(x.q, (b*r.tokens+t)*r.heads+h*group+g, 0)
		most := math.Inf(-1)
		for c := range seen {
			r.k.DecodeRow(x.k, (b*r.all+c)*r.headsKV+h, 0)
			dot, abs := truth.Dots(x.q, x.k)
			x.s[c], x.eps[c] = r.scale*dot, math.Abs(r.scale)*abs
			most = math.Max(most, x.s[c]) // NaN wins
		}
		total, spread := 0.0, 0.0
		for c, s := range x.s {
			x.eps[c] = attention.ExponentError(r.gN, s, x.eps[c], most)
			total += math.Exp(s - most)
		}
		for c, s := range x.s {
			spread = math.Max(spread, x.eps[c])
			x.s[c] = s - most - math.Log(total)
		}
		common := spread + judge.U32*(r.gC+r.gG+10)
		for c, log := range x.s {
			off := x.eps[c] + common
			x.R[c] += math.Exp(log)
			x.low[c] += math.Max(math.Exp(log-off)-judge.Tiny, 0)
			x.high[c] += math.Exp(math.Min(log+off, 0)) + judge.Tiny
			if !truth.IsFinite(log) && !math.IsInf(log, -1) {
				x.R[c], x.low[c], x.high[c] = 0, 0, math.Inf(1)
			}
		}
	}
	for c := range x.R {
		x.R[c] /= float64(group)
		x.low[c] /= float64(group)
		x.high[c] /= float64(group)
		if r.forced(int64(c), own) {
			x.R[c], x.low[c], x.high[c] = 1, 1, 1
		}
	}
}

// best returns the blocks with the largest scores, falling, of equal ones the first, and -1 in places beyond
// them.
func (x *scored) best(places int64) []float64 {
	order := make([]int, len(x.R))
	for c := range order {
		order[c] = c
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(x.R[b], x.R[a]) })
	best := slices.Repeat([]float64{-1}, int(places))
	for p := range min(len(order), len(best)) {
		best[p] = float64(order[p])
	}
	return best
}

// TopBlocks returns the truth of indices [batch, tokens, headsKV, selected], a choice: the blocks with the
// largest scores, the best first, and -1 in the places beyond those that a query may choose.
func TopBlocks(k *truth.Request) ([]judge.Target, error) {
	r, err := rankingOf(k)
	if err != nil {
		return nil, err
	}
	rows := r.batch * r.tokens * r.headsKV
	chosen := k.Sample.Choose(rows)
	t := k.Target("indices", op.I32, []int64{r.batch, r.tokens, r.headsKV, r.blocks}, chosen)
	t.Independent = false
	truth.EachRowWith(chosen, rows, func() *scored { return new(scored) }, func(x *scored, i, row int64) {
		r.score(x, row)
		out := truth.RowOf(t, i, r.blocks)
		copy(out.R, x.best(r.blocks))
		copy(out.Sim, out.R)
	})
	at := func(row int64) *scored {
		x := new(scored)
		r.score(x, row)
		return x
	}
	t.Choice = &judge.Choice{
		Candidates: r.all, Best: t.R,
		Places: func(row int64) int64 { return row/r.headsKV%r.tokens/r.size + 1 },
		Scores: func(row int64) func(int64) float64 {
			x := at(row)
			return func(c int64) float64 {
				if c >= int64(len(x.R)) {
					return -1
				}
				return x.R[c]
			}
		},
		Bounds: func(row int64) func(int64) (float64, float64) {
			x := at(row)
			return func(c int64) (float64, float64) {
				if c >= int64(len(x.R)) {
					return -1, -1 // a block that has not begun
				}
				return x.low[c], x.high[c]
			}
		},
	}
	return []judge.Target{t}, nil
}
