// Package ranks has what the truths of expert parallelism share: which rank gets which token, in which row,
// and the copies and sums that follow. A rank is a place of a leading dim, as the GPUs of a group are.
package ranks

import (
	"fmt"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Routes maps tokens to the ranks and rows that they are sent to. Tokens are counted through all ranks, rank
// r's from r*Tokens on. A rank gets each token that chose one of its experts once, in that order, as rows 0,
// 1, 2, ...
type Routes struct {
	Ranks, Tokens, Top int64
	Experts            int64   // of each rank; expert e belongs to rank e / Experts
	choice             []int64 // [Ranks*Tokens, Top]
	row                []int64 // [Ranks, Ranks*Tokens]: where a rank has a token, -1 if it does not
	token              [][]int64
}

// Of reads the routes of a case from its input choice.
func Of(k *truth.Request) (*Routes, error) {
	t, err := k.Tensor("choice")
	if err != nil {
		return nil, err
	}
	return FromChoice(k.Case, t)
}

// FromChoice returns the routes of a case with the experts [ranks, tokens, top] that its tokens chose. A
// number that is no expert's stands for none.
func FromChoice(c op.Case, t tensor.Tensor) (*Routes, error) {
	r := &Routes{Ranks: c.Dims.Get("ranks"), Tokens: c.Dims.Get("tokens"), Top: c.Dims.Get("top")}
	r.Experts = int64(c.Attrs.Number("experts")) / r.Ranks
	values := t.Float64s()
	if int64(len(values)) != r.Room()*r.Top {
		return nil, fmt.Errorf("choice has %d elements: want %d", len(values), r.Room()*r.Top)
	}
	r.choice, r.row = make([]int64, len(values)), make([]int64, r.Ranks*r.Room())
	for i, v := range values {
		r.choice[i] = int64(v)
	}
	r.token = make([][]int64, r.Ranks)
	for i := range r.row {
		r.row[i] = -1
	}
	for token := range r.Room() {
		for place := range r.Top {
			rank, _ := r.Expert(token, place)
			if rank >= 0 && r.Row(rank, token) < 0 {
				r.row[rank*r.Room()+token] = int64(len(r.token[rank]))
				r.token[rank] = append(r.token[rank], token)
			}
		}
	}
	return r, nil
}

// Room returns the number of rows that a rank has room for: the tokens of all ranks.
func (r *Routes) Room() int64 { return r.Ranks * r.Tokens }

// Count returns the number of rows that a rank gets.
func (r *Routes) Count(rank int64) int64 { return int64(len(r.token[rank])) }

// Expert returns the rank of a choice of a token, and the expert's number there; -1 of both for none.
func (r *Routes) Expert(token, place int64) (rank, expert int64) {
	e := r.choice[token*r.Top+place]
	if e < 0 || e >= r.Ranks*r.Experts {
		return -1, -1
	}
	return e / r.Experts, e % r.Experts
}

// Row returns the row in which a rank has a token; -1 if it does not get it.
func (r *Routes) Row(rank, token int64) int64 { return r.row[rank*r.Room()+token] }

// Token returns the token in a row of a rank; -1 past its rows.
func (r *Routes) Token(rank, row int64) int64 {
	if row >= r.Count(rank) {
		return -1
	}
	return r.token[rank][row]
}

// Copies returns the truth of an output [ranks, ranks*tokens, dim]: each row is that of its token in the
// input from [ranks, tokens, dim], and 0 past the rows that the rank gets.
func (r *Routes) Copies(k *truth.Request, output op.TensorType, from tensor.Tensor) judge.Target {
	return k.Exact(output, func() func(at []int64) float64 {
		read, place := truth.ElementReader(from), make([]int64, 3)
		return func(at []int64) float64 {
			token := r.Token(at[0], at[1])
			if token < 0 {
				return 0
			}
			place[0], place[1], place[2] = token/r.Tokens, token%r.Tokens, at[2]
			return read(place)
		}
	})
}

// Sums returns the truth of an output [ranks, tokens, dim]: for each token the sum of its rows in the input
// from [ranks, ranks*tokens, dim], added to 0 in fp32 in the order of the ranks, and rounded once.
func (r *Routes) Sums(k *truth.Request, output op.TensorType, from tensor.Tensor) judge.Target {
	return k.Exact(output, func() func(at []int64) float64 {
		read, place := truth.ElementReader(from), make([]int64, 3)
		return func(at []int64) float64 {
			sum, wide := float32(0), 0.0
			for rank := range r.Ranks {
				row := r.Row(rank, at[0]*r.Tokens+at[1])
				if row < 0 {
					continue
				}
				place[0], place[1], place[2] = rank, row, at[2]
				v := read(place)
				sum, wide = sum+float32(v), wide+v
			}
			if k.Unrounded {
				return wide
			}
			return tensor.Round(output.DType, float64(sum), false)
		}
	})
}

// Outputs returns the types of the outputs of a case's pass, with the routes; an error if an input is missing
// or has another shape.
func Outputs(k *truth.Request) (*Routes, []op.TensorType, error) {
	o, err := catalog.Get(k.Op)
	if err != nil {
		return nil, nil, err
	}
	inputs, err := o.Spec.Inputs(k.Case)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range inputs {
		if err := k.Shaped(t.Name, t.Shape...); err != nil {
			return nil, nil, err
		}
	}
	types, err := o.Spec.Outputs(k.Case)
	if err != nil {
		return nil, nil, err
	}
	r, err := Of(k)
	return r, types, err
}
