package integertest

import (
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/truth/integer"
	"triad/internal/truth/truthtest"
)

// Miscounted is a bug of the operator's own: another condition.
type Miscounted struct {
	Name   string
	Counts func(c op.Case, x int64) bool
}

// Bugs of a count that do not depend on its condition.
const (
	notAdded   = "the tail is not counted"
	lastLost   = "the last element is not counted"
	countTwice = "the first element is counted twice"
	warpLost   = "the last warp is not counted"
	blockLost  = "the update of a block is lost"
	byWarps    = "a warp counts for one"
	inBytes    = "the count of a block in 8 bits"
	complement = "the others are counted"
	fromOne    = "the count begins with 1"
)

// block is the number of elements in a block of an emulated kernel.
const block = 1024

// CountSuites returns the suite of the operator's forward.
func CountSuites(name string, wrong ...Miscounted) []truthtest.Suite {
	spec, err := catalog.Get(name)
	if err != nil {
		panic(err) // a test's own mistake
	}
	o, _ := integer.GetCounter(name)
	s := truthtest.Suite{
		Op: name, Pass: op.Forward, Right: []truthtest.Arithmetic{{}},
		Kernel: func(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
			counts := o.Counts
			for _, w := range wrong {
				if w.Name == a.Bug {
					counts = w.Counts
				}
			}
			x := p.V[spec.Spec.InputSpecs[0].Name]
			kept := make([]bool, len(x))
			for i, v := range x {
				kept[i] = counts(p.Case, int64(v)) != (a.Bug == complement)
			}
			return [][]float64{{counted(a.Bug, kept)}}
		},
	}
	s.Mutants.Add(nil, notAdded, lastLost, countTwice, warpLost, blockLost, byWarps, inBytes, complement,
		fromOne)
	for _, w := range wrong {
		s.Mutants.Add(nil, w.Name)
	}
	return []truthtest.Suite{s}
}

// counted adds up the counts of the blocks.
func counted(bug string, kept []bool) float64 {
	total, n := 0, len(kept)
	switch bug {
	case notAdded:
		n = n / truthtest.Vector * truthtest.Vector
	case lastLost:
		n = max(n-1, 0)
	case warpLost:
		n = max(n-1, 0) / truthtest.Warp * truthtest.Warp
	case fromOne:
		total = 1
	case countTwice:
		if n > 0 && kept[0] {
			total = 1
		}
	}
	for first := 0; first < n; first += block {
		here := 0
		for i := first; i < min(first+block, n); i++ {
			if kept[i] && !(bug == byWarps && anyBefore(kept[i/truthtest.Warp*truthtest.Warp:i])) {
				here++
			}
		}
		switch {
		case bug == inBytes:
			here %= 256
		case bug == blockLost && first+block >= n:
			here = 0
		}
		total += here
	}
	return float64(total)
}

func anyBefore(kept []bool) bool {
	for _, k := range kept {
		if k {
			return true
		}
	}
	return false
}
