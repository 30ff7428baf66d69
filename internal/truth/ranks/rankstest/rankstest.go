// Package rankstest emulates the kernels of expert parallelism, and plants what they get wrong: in the order
// and number of rows that a rank gets, in the copies of rows, and in the sums of the way back.
package rankstest

import (
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// Sent returns the mutants of what ranks get, numbered from first on.
func Sent(first int) truthtest.Mutants {
	return numbered(first, slices.Concat(routing, []string{
		"rows past the count not written", "rows past the count keep a token", "a row more",
		"tail of a row not written", "-0 becomes 0", "rows of either half of the ranks from 0",
		"tokens of the other half of the ranks lost",
	}))
}

// Added returns the mutants of sums over ranks, numbered from first on.
func Added(first int) truthtest.Mutants {
	return numbered(first, slices.Concat(routing, []string{
		"ranks from the last to the first", "ranks in pairs", "sum in 16 bits", "begins with the first row",
		"last rank left out", "once for each choice", "mean of the rows", "tail of a row not written",
		"tokens without a row not written", "first rank alone", "its own half of the ranks first",
		"sums of the halves of the ranks",
	}))
}

// routing are bugs in which rank gets which token.
var routing = []string{
	"a token twice on a rank", "first row of a rank skipped", "by token before rank",
	"ranks of experts in turn", "none is the first expert", "last place not looked at",
	"last token of a rank lost",
}

func numbered(first int, names []string) truthtest.Mutants {
	var all truthtest.Mutants
	for i, name := range names {
		all = append(all, truthtest.Mutant{Number: first + i, Name: name})
	}
	return all
}

// Shape is the routing of a case, found by walking through the tokens of each rank, with a bug.
type Shape struct {
	Ranks, Tokens, Room, Top, Dim, Experts int // experts of each rank
	arithmetic                             truthtest.Arithmetic
	low                                    op.DType
	dtype                                  op.DType
	choice                                 []float64
	tokens                                 [][]int // of each rank: the token of each row
}

// New returns the routing of a case.
func New(a truthtest.Arithmetic, p *truthtest.Prepared) *Shape {
	d := func(name string) int { return int(p.Dims.Get(name)) }
	s := &Shape{
		Ranks: d("ranks"), Tokens: d("tokens"), Top: d("top"), Dim: d("dim"), arithmetic: a,
		low: p.Low(), choice: p.V["choice"],
	}
	s.Room, s.Experts = s.Ranks*s.Tokens, int(p.Attrs.Number("experts"))/s.Ranks
	s.dtype, _ = op.ParseDType(p.DType)
	for rank := range s.Ranks {
		s.tokens = append(s.tokens, s.walk(rank))
	}
	return s
}

// walk returns the tokens of a rank in the order of its rows.
func (s *Shape) walk(rank int) []int {
	var rows []int
	for i := range s.Room {
		token, bug := i, s.arithmetic.Bug
		if bug == "by token before rank" {
			token = i%s.Ranks*s.Tokens + i/s.Ranks
		}
		times := min(len(s.Places(rank, token)), 1)
		switch {
		case bug == "a token twice on a rank":
			times = len(s.Places(rank, token))
		case bug == "last token of a rank lost" && token%s.Tokens == s.Tokens-1,
			bug == "tokens of the other half of the ranks lost" && s.half(rank) != s.half(token/s.Tokens):
			times = 0
		}
		for range times {
			rows = append(rows, token)
		}
	}
	switch first := slices.IndexFunc(rows, func(token int) bool { return s.half(token/s.Tokens) == 1 }); {
	case s.arithmetic.Bug == "first row of a rank skipped" && len(rows) > 0:
		rows = rows[1:]
	case s.arithmetic.Bug == "rows of either half of the ranks from 0" && first >= 0:
		n := max(first, len(rows)-first)
		copy(rows, slices.Clone(rows[first:]))
		rows = rows[:n]
	}
	return rows[:min(len(rows), s.Room)]
}

// half returns which half of the ranks a rank belongs to, as those of two GPUs: 0 or 1.
func (s *Shape) half(rank int) int {
	if rank < s.Ranks-s.Ranks/2 {
		return 0
	}
	return 1
}

// Places returns the places of a token whose experts a rank has.
func (s *Shape) Places(rank, token int) (places []int) {
	top := s.Top
	if s.arithmetic.Bug == "last place not looked at" {
		top--
	}
	for place := range top {
		e := int(s.choice[token*s.Top+place])
		of := max(e, 0) / s.Experts
		if s.arithmetic.Bug == "ranks of experts in turn" {
			of = e % s.Ranks
		}
		if of == rank && (e >= 0 || s.arithmetic.Bug == "none is the first expert") {
			places = append(places, place)
		}
	}
	return places
}

// Expert returns the number of an expert of a token on its rank.
func (s *Shape) Expert(rank, token, place int) int {
	e := max(int(s.choice[token*s.Top+place]), 0)
	if s.arithmetic.Bug == "ranks of experts in turn" {
		return e / s.Ranks
	}
	return e - rank*s.Experts
}

// Count returns the number of rows that a rank gets.
func (s *Shape) Count(rank int) int { return len(s.tokens[rank]) }

// Token returns the token in a row of a rank, -1 past its rows.
func (s *Shape) Token(rank, row int) int {
	if row >= s.Count(rank) {
		return -1
	}
	return s.tokens[rank][row]
}

// Rows returns the rows in which a rank has a token.
func (s *Shape) Rows(rank, token int) (rows []int) {
	for row, t := range s.tokens[rank] {
		if t == token {
			rows = append(rows, row)
		}
	}
	return rows
}

// Copies returns the rows of every rank: those of their tokens in x [ranks, tokens, dim], then 0.
func (s *Shape) Copies(x []float64) []float64 {
	y, bug := make([]float64, s.Ranks*s.Room*s.Dim), s.arithmetic.Bug
	for rank := range s.Ranks {
		for row := range s.Room {
			token := s.Token(rank, row)
			if token < 0 && (bug == "rows past the count keep a token" && row > 0 ||
				bug == "a row more" && row == s.Count(rank)) {
				token = row
			}
			for i := range s.Dim {
				at := (rank*s.Room+row)*s.Dim + i
				switch {
				case token >= 0:
					if y[at] = x[token*s.Dim+i]; bug == "-0 becomes 0" {
						y[at] += 0
					}
				case bug == "rows past the count not written":
					y[at] = truthtest.Unwritten
				}
			}
		}
	}
	if bug == "tail of a row not written" {
		truthtest.LeaveTail(y, s.Ranks*s.Room, s.Dim)
	}
	return y
}

// Sums returns for each token the sum of its rows in x [ranks, ranks*tokens, dim].
func (s *Shape) Sums(x []float64) []float64 {
	y := make([]float64, s.Room*s.Dim)
	where := s.whereRows()
	for token := range s.Room {
		for i := range s.Dim {
			y[token*s.Dim+i] = s.sum(x, where[token], token, i)
		}
	}
	if s.arithmetic.Bug == "tail of a row not written" {
		truthtest.LeaveTail(y, s.Room, s.Dim)
	}
	return y
}

// whereRows returns for each token its rows, counted through all ranks, in the order in which they are added.
func (s *Shape) whereRows() [][]int {
	all := make([][]int, s.Room)
	for rank, tokens := range s.tokens {
		if s.arithmetic.Bug == "last rank left out" && rank == s.Ranks-1 {
			break
		}
		for row, token := range tokens {
			for range s.times(rank, token) {
				all[token] = append(all[token], rank*s.Room+row)
			}
		}
	}
	for token, rows := range all {
		switch s.arithmetic.Bug {
		case "ranks from the last to the first":
			slices.Reverse(rows)
		case "its own half of the ranks first":
			own := s.half(token / s.Tokens)
			slices.SortStableFunc(rows, func(a, b int) int {
				return (s.half(a/s.Room) ^ own) - (s.half(b/s.Room) ^ own)
			})
		}
	}
	return all
}

// times returns how often a row is added: once.
func (s *Shape) times(rank, token int) int {
	if s.arithmetic.Bug == "once for each choice" {
		return len(s.Places(rank, token))
	}
	return 1
}

// sum returns column i of the sum of some rows.
func (s *Shape) sum(x []float64, rows []int, token, i int) float64 {
	value := func(n int) float64 { return x[rows[n]*s.Dim+i] }
	n := len(rows)
	switch bug := s.arithmetic.Bug; {
	case n == 0 && bug == "tokens without a row not written":
		return truthtest.Unwritten
	case n > 0 && bug == "begins with the first row":
		return tensor.Round(s.dtype, fromFirst(n, value), false)
	case n > 1 && bug == "first rank alone":
		n = 1
	case bug == "sum in 16 bits":
		return tensor.Round(s.dtype, truthtest.SumLow(s.low, n, value), false)
	case bug == "ranks in pairs":
		return tensor.Round(s.dtype, pairs(n, value), false)
	case bug == "sums of the halves of the ranks":
		first := 0
		for first < n && s.half(rows[first]/s.Room) == 0 {
			first++
		}
		zero := truthtest.Sum32(truthtest.InSequence, first, value)
		one := truthtest.Sum32(truthtest.InSequence, n-first, func(i int) float64 { return value(first + i) })
		return tensor.Round(s.dtype, truthtest.F32(zero+one), false)
	}
	total := truthtest.Sum32(truthtest.InSequence, n, value)
	if s.arithmetic.Bug == "mean of the rows" && n > 0 {
		total = truthtest.F32(total / float64(n))
	}
	return tensor.Round(s.dtype, total, false)
}

// fromFirst adds to the first row, not to 0: a sum of -0 alone is -0.
func fromFirst(n int, value func(n int) float64) float64 {
	total := value(0)
	for i := 1; i < n; i++ {
		total = truthtest.F32(total + value(i))
	}
	return total
}

// pairs adds the even and the odd rows apart.
func pairs(n int, value func(n int) float64) float64 {
	even := truthtest.Sum32(truthtest.InSequence, (n+1)/2, func(j int) float64 { return value(2 * j) })
	odd := truthtest.Sum32(truthtest.InSequence, n/2, func(j int) float64 { return value(2*j + 1) })
	return truthtest.F32(even + odd)
}
