package latent

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// tokens finds the tokens of a case among its latent rows.
type tokens struct {
	seqQ           int64
	causal         bool
	table, lengths []float64 // nil: every row of kv[batch, keys, n] is there, in the order of the tokens
	pages, keys    int64
}

func tokensOf(c op.Case, table, lengths []float64) tokens {
	return tokens{
		seqQ: c.Dims.Get("seq_q"), causal: c.Attrs.Number("causal") != 0, table: table, lengths: lengths,
		pages: int64(len(table)) / max(int64(len(lengths)), 1), keys: c.Dims.Get("seq_kv"),
	}
}

// answered returns the tokens of a call, and the name of its latent rows.
func answered(c *truth.Answered) (tokens, string) {
	if _, paged := c.Dims.Lookup("blocks"); !paged {
		return tokensOf(c.Case, nil, nil), "kv"
	}
	return tokensOf(c.Case, c.In("block_table"), c.In("lengths")), "cache"
}

// row returns the latent row that holds token j of a sequence.
func (t tokens) row(b, j int64) int64 {
	if t.table == nil {
		return b*t.keys + j
	}
	return int64(t.table[b*t.pages+j/page])*page + j%page
}

// visible returns how many tokens query i of sequence b sees.
func (t tokens) visible(b, i int64) int64 {
	d, length := decoding{causal: t.causal, seqQ: t.seqQ}, t.keys
	if t.lengths != nil {
		length = int64(t.lengths[b])
	}
	return d.visible(i, length)
}

func tokensIn(c op.Case, in truth.Inputs) tokens {
	return tokensOf(c, in.Get("block_table").Float64s(), in.Get("lengths").Float64s())
}

// NothingPastLengths makes all of the cache that no sequence has NaN, and the rest of the table no block.
func NothingPastLengths(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	t, has := tokensIn(c, first), map[int64]bool{}
	for b, length := range t.lengths {
		for j := range int64(length) {
			has[t.row(int64(b), j)] = true
		}
	}
	n := c.Dims.Get("head_dim")
	cache := truth.Changed(first.Get("cache"), func(i int64, v float64) float64 {
		if has[i/n] {
			return v
		}
		return math.NaN()
	})
	table := truth.Changed(first.Get("block_table"), func(i int64, v float64) float64 {
		if float64(i%t.pages*page) < t.lengths[i/t.pages] {
			return v
		}
		return -1
	})
	return c, []tensor.Tensor{cache, table}
}

// TurnedBlocks moves every block one further in the cache, the last to the front.
func TurnedBlocks(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	cache, blocks := first.Get("cache"), c.Dims.Get("blocks")
	size := page * c.Dims.Get("head_dim")
	table := truth.Changed(first.Get("block_table"), func(_ int64, v float64) float64 {
		return math.Mod(v+1, float64(blocks))
	})
	moved := truth.Moved(cache, cache.Shape, func(i int64) int64 {
		return (i/size+blocks-1)%blocks*size + i%size
	})
	return c, []tensor.Tensor{moved, table}
}

// ZeroQueries makes every query 0.
func ZeroQueries(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	return c, []tensor.Tensor{truth.Changed(first.Get("q"), func(int64, float64) float64 { return 0 })}
}

// CountsTokens: scores are 0, so that lse is the logarithm of the number of tokens that a query sees.
func CountsTokens(a *truth.Related, output string) judge.Statement {
	y, target, c := a.Second.Out(output), a.Second.Target(output), a.Second.Case
	t, _ := answered(a.Second)
	if a.Failed() {
		return judge.Statement{}
	}
	at := []int64{}
	heads := c.Dims.Get("heads")
	for i := range target.Elements() {
		if t.visible(i/t.seqQ/heads, i%t.seqQ) > 0 {
			at = append(at, i)
		}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(at)), At: func(n int64) judge.Claim {
		i := at[n]
		want := math.Log(float64(t.visible(i/t.seqQ/heads, i%t.seqQ)))
		low, high := target.Interval(want, target.T[i])
		return judge.Claim{Position: i, Got: y[i], Low: low, High: high}
	}}
}

// BetweenValues: weights are not negative and add up to 1, so that an output lies within its values, up to
// its error.
func BetweenValues(a *truth.Related, output string) judge.Statement {
	y, target, c := a.First.Out(output), a.First.Target(output), a.First.Case
	t, rows := answered(a.First)
	cache := a.First.In(rows)
	if a.Failed() {
		return judge.Statement{}
	}
	n, nV, heads := c.Dims.Get("head_dim"), target.Shape[3], c.Dims.Get("heads")
	bounds := map[int64][2][]float64{} // by query, the smallest and the largest value of each column
	judged := []int64{}
	for k := range int64(len(target.T)) {
		query := truth.PlaceOf(target.Index, k) / nV / heads
		keys := t.visible(query/t.seqQ, query%t.seqQ)
		if keys == 0 {
			continue
		}
		judged = append(judged, k)
		if _, ok := bounds[query]; ok {
			continue
		}
		low, high := make([]float64, nV), make([]float64, nV)
		for x := range low {
			low[x], high[x] = math.Inf(1), math.Inf(-1)
		}
		for j := range keys {
			for x, v := range cache[t.row(query/t.seqQ, j)*n:][:nV] {
				low[x], high[x] = math.Min(low[x], v), math.Max(high[x], v)
			}
		}
		bounds[query] = [2][]float64{low, high}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(judged)), At: func(x int64) judge.Claim {
		i, allowed := truth.PlaceOf(target.Index, judged[x]), target.T[judged[x]]
		of := bounds[i/nV/heads]
		least, _ := target.Interval(of[0][i%nV], allowed)
		_, most := target.Interval(of[1][i%nV], allowed)
		return judge.Claim{Position: i, Got: y[i], Low: least, High: most}
	}}
}
