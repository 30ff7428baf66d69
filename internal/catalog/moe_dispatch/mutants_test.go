package moe_dispatch

import (
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/ranks/rankstest"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{
	{
		Op: "moe_dispatch", Pass: op.Forward, Kernel: emulated, Right: []truthtest.Arithmetic{{}},
		Mutants: append(rankstest.Sent(1),
			truthtest.Mutant{Number: 20, Name: "expert counted through all ranks"},
			truthtest.Mutant{Number: 21, Name: "weights of other ranks' experts kept"},
			truthtest.Mutant{Number: 22, Name: "source without its rank"},
			truthtest.Mutant{Number: 23, Name: "choices counted as tokens"},
			truthtest.Mutant{Number: 24, Name: "counts not aligned"},
			truthtest.Mutant{Number: 25, Name: "counts aligned down"},
			truthtest.Mutant{Number: 26, Name: "no expert is 0"},
			truthtest.Mutant{Number: 27, Name: "places past the rows not written"},
			truthtest.Mutant{Number: 28, Name: "source past the rows is 0"},
			truthtest.Mutant{Number: 29, Name: "received counts choices"},
			truthtest.Mutant{Number: 30, Name: "received is the last row"},
			truthtest.Mutant{Number: 31, Name: "counts aligned beyond a multiple"},
		),
	},
	{
		Op: "moe_dispatch", Pass: op.Backward, Kernel: emulatedBackward, Right: []truthtest.Arithmetic{{}},
		Mutants: append(rankstest.Added(1),
			truthtest.Mutant{Number: 20, Name: "weight's gradient of the first rank that has the token"},
			truthtest.Mutant{Number: 21, Name: "weight's gradient at the next place"},
			truthtest.Mutant{Number: 22, Name: "weight's gradient of none not written"},
			truthtest.Mutant{Number: 23, Name: "weight's gradient in 16 bits"},
		),
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated sends tokens as a kernel does, with a bug.
func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	s := rankstest.New(a, p)
	n := s.Ranks * s.Room * s.Top
	choice, weight, source := make([]float64, n), make([]float64, n), make([]float64, s.Ranks*s.Room)
	var received, counts []float64
	for rank := range s.Ranks {
		received = append(received, float64(rowsOf(s, rank, a.Bug)))
		counts = append(counts, countsOf(s, rank, int(p.Attrs.Number("align")), a.Bug)...)
		for row := range s.Room {
			token, at := s.Token(rank, row), rank*s.Room+row
			source[at] = float64(token)
			switch {
			case token < 0 && a.Bug == "source past the rows is 0":
				source[at] = 0
			case token >= 0 && a.Bug == "source without its rank":
				source[at] = float64(token % s.Tokens)
			}
			for place := range s.Top {
				i := at*s.Top + place
				choice[i], weight[i] = placeOf(s, p, a.Bug, rank, token, place)
			}
		}
	}
	return [][]float64{s.Copies(p.V["x"]), weight, choice, source, received, counts}
}

// rowsOf returns the number of rows that a rank reports.
func rowsOf(s *rankstest.Shape, rank int, bug string) int {
	switch bug {
	case "received counts choices":
		n := 0
		for token := range s.Room {
			n += len(s.Places(rank, token))
		}
		return n
	case "received is the last row":
		return max(s.Count(rank)-1, 0)
	}
	return s.Count(rank)
}

// countsOf returns how often the experts of a rank are chosen, rounded up.
func countsOf(s *rankstest.Shape, rank, align int, bug string) []float64 {
	counts := make([]float64, s.Experts)
	for token := range s.Room {
		for _, place := range s.Places(rank, token) {
			counts[s.Expert(rank, token, place)]++
			if bug == "choices counted as tokens" {
				break
			}
		}
	}
	for i, n := range counts {
		switch bug {
		case "counts not aligned":
		case "counts aligned down":
			counts[i] = float64(int(n) / align * align)
		case "counts aligned beyond a multiple":
			counts[i] = float64((int(n)/align + 1) * align)
		default:
			counts[i] = float64((int(n) + align - 1) / align * align)
		}
	}
	return counts
}

// placeOf returns the choice and the weight at a place of a row.
func placeOf(s *rankstest.Shape, p *truthtest.Prepared, bug string, rank, token, place int) (choice,
	weight float64,
) {
	if token < 0 {
		if bug == "places past the rows not written" {
			return truthtest.Unwritten, truthtest.Unwritten
		}
		return -1, 0
	}
	its, weight := slices.Contains(s.Places(rank, token), place), p.V["weight"][token*s.Top+place]
	switch {
	case its && bug == "expert counted through all ranks":
		return p.V["choice"][token*s.Top+place], weight
	case its:
		return float64(s.Expert(rank, token, place)), weight
	case bug == "weights of other ranks' experts kept":
		return -1, weight
	case bug == "no expert is 0":
		return 0, 0
	}
	return -1, 0
}

// emulatedBackward adds up rows as a kernel does, with a bug.
func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	s, upstream := rankstest.New(a, p), p.V["grad_row_weight"]
	weight := make([]float64, s.Room*s.Top)
	for i := range weight {
		token, place := i/s.Top, i%s.Top
		if a.Bug == "weight's gradient of none not written" {
			weight[i] = truthtest.Unwritten
		}
		for rank := s.Ranks - 1; rank >= 0; rank-- {
			its, rows := slices.Contains(s.Places(rank, token), place), s.Rows(rank, token)
			if len(rows) == 0 ||
				!its && a.Bug != "weight's gradient of the first rank that has the token" {
				continue
			}
			at := place
			if a.Bug == "weight's gradient at the next place" {
				at = (place + 1) % s.Top
			}
			weight[i] = upstream[(rank*s.Room+rows[0])*s.Top+at]
		}
		if a.Bug == "weight's gradient in 16 bits" {
			weight[i] = tensor.Round(p.Low(), weight[i], false)
		}
	}
	return [][]float64{s.Sums(p.V["grad_rows"]), weight}
}
