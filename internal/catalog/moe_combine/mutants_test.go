package moe_combine

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/ranks/rankstest"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{
	{
		Op: "moe_combine", Pass: op.Forward, Kernel: emulated, Right: []truthtest.Arithmetic{{}},
		Mutants: rankstest.Added(1),
	},
	{
		Op: "moe_combine", Pass: op.Backward, Kernel: emulated, Right: []truthtest.Arithmetic{{}},
		Mutants: rankstest.Sent(1),
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated adds up rows, or sends gradients to them, as a kernel does.
func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	s := rankstest.New(a, p)
	if p.Pass == op.Backward {
		return [][]float64{s.Copies(p.V["grad_y"])}
	}
	return [][]float64{s.Sums(p.V["rows"])}
}
