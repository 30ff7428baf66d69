package movementtest

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/movement"
	"triad/internal/truth/truthtest"
)

// Bugs of a backward that adds up copies.
const (
	firstAlone     = "the first copy alone"
	lastLost       = "the last copy is not added"
	copyTwice      = "a copy is added twice"
	meanOfCopies   = "the mean of the copies"
	lowSums        = "added up in 16 bits"
	neighbourAdded = "the copies of the next element"
)

// sums returns the suite of a backward that adds up copies, in every order.
func sums(name string, o movement.Operator) truthtest.Suite {
	s := truthtest.Suite{
		Op: name, Pass: op.Backward, Right: truthtest.RowVariants,
		Kernel: func(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 { return added(o, a, p) },
	}
	s.Mutants.Add(nil, firstAlone, lastLost, copyTwice, meanOfCopies, lowSums, neighbourAdded, tail, lastTile,
		lastTileZero)
	return s
}

// added emulates the backward.
func added(o movement.Operator, a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	input, _ := o.Of(op.Backward)
	dy, out, copies := p.In[input], p.Truth.Outputs[0], int(o.Copies(p.Case))
	y, to := make([]float64, len(out.R)), make([]int64, len(dy.Shape))
	for i := range y {
		from := i
		if a.Bug == neighbourAdded {
			from = min(i+1, len(y)-1)
		}
		at := truth.IndexOf(int64(from), out.Shape)
		term := func(number int) float64 {
			o.CopyAt(p.Case, int64(number), to, at)
			return p.V[input][truth.PositionOf(to, dy.Shape)]
		}
		y[i] = sumOf(a, p, copies, term)
	}
	spoil(a.Bug, y, out.Shape)
	return [][]float64{y}
}

// sumOf adds up the copies of one element.
func sumOf(a truthtest.Arithmetic, p *truthtest.Prepared, copies int, term func(int) float64) float64 {
	switch a.Bug {
	case firstAlone:
		return term(0)
	case lastLost:
		return a.Sum(copies-1, term)
	case copyTwice:
		return truthtest.F32(a.Sum(copies, term) + term(copies/2))
	case meanOfCopies:
		return truthtest.F32(a.Sum(copies, term) / float64(copies))
	case lowSums:
		return truthtest.SumLow(p.Low(), copies, term)
	}
	return a.Sum(copies, term)
}
