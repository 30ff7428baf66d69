// Package moe_dispatch is the truth of tokens that are sent to the ranks of their experts. Nothing but the
// sum of the backward is computed, and its order is stated, so each bit of every output is known.
package moe_dispatch

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/ranks"
)

var _ = truth.Register("moe_dispatch", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"exact"},
})

func forward(k *truth.Request) ([]judge.Target, error) {
	r, types, err := ranks.Outputs(k)
	if err != nil {
		return nil, err
	}
	in, err := k.Tensors("x", "weight")
	if err != nil {
		return nil, err
	}
	counts := expertCounts(r, int64(k.Attrs.Number("align")))
	// element makes an output of which an element follows from its index alone.
	element := func(output int, value func(at []int64) float64) judge.Target {
		return k.Exact(types[output], func() func(at []int64) float64 { return value })
	}
	weights := k.Exact(types[1], func() func(at []int64) float64 {
		read := truth.ElementReader(in[1])
		return func(at []int64) float64 {
			token, expert := chosen(r, at)
			if expert < 0 {
				return 0
			}
			return read([]int64{token / r.Tokens, token % r.Tokens, at[2]})
		}
	})
	all := []judge.Target{
		r.Copies(k, types[0], in[0]),
		weights,
		element(2, func(at []int64) float64 { _, expert := chosen(r, at); return float64(expert) }),
		element(3, func(at []int64) float64 { return float64(r.Token(at[0], at[1])) }),
		element(4, func(at []int64) float64 { return float64(r.Count(at[0])) }),
		element(5, func(at []int64) float64 { return float64(counts[at[0]*r.Experts+at[1]]) }),
	}
	for _, i := range []int{2, 3, 4, 5} {
		all[i].Uniform = true // of few tokens every count is 0 or 1, and every number the same
	}
	return all, nil
}

// chosen returns the token in a row of a rank, and which of the rank's experts a place of its choice is; -1
// for none of them.
func chosen(r *ranks.Routes, at []int64) (token, expert int64) {
	if token = r.Token(at[0], at[1]); token < 0 {
		return token, -1
	}
	rank, expert := r.Expert(token, at[2])
	if rank != at[0] {
		return token, -1
	}
	return token, expert
}

// expertCounts returns how often each expert of each rank is chosen, rounded up to a multiple of align.
func expertCounts(r *ranks.Routes, align int64) []int64 {
	counts := make([]int64, r.Ranks*r.Experts)
	for token := range r.Room() {
		for place := range r.Top {
			if rank, expert := r.Expert(token, place); rank >= 0 {
				counts[rank*r.Experts+expert]++
			}
		}
	}
	for i, n := range counts {
		counts[i] = (n + align - 1) / align * align
	}
	return counts
}

func backward(k *truth.Request) ([]judge.Target, error) {
	r, types, err := ranks.Outputs(k)
	if err != nil {
		return nil, err
	}
	in, err := k.Tensors("grad_rows", "grad_row_weight")
	if err != nil {
		return nil, err
	}
	return []judge.Target{r.Sums(k, types[0], in[0]), weightGradients(k, r, types[1])}, nil
}

// weightGradients returns the truth of grad_weight: each place of a token has the gradient of the row that
// its expert's rank has, and 0 where there is no expert.
func weightGradients(k *truth.Request, r *ranks.Routes, output op.TensorType) judge.Target {
	return k.Exact(output, func() func(at []int64) float64 {
		upstream, _ := k.Tensor("grad_row_weight")
		read := truth.ElementReader(upstream)
		return func(at []int64) float64 {
			token := at[0]*r.Tokens + at[1]
			rank, _ := r.Expert(token, at[2])
			if rank < 0 {
				return 0
			}
			return read([]int64{rank, r.Row(rank, token), at[2]})
		}
	})
}
