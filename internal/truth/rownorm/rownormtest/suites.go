// Package rownormtest derives the kernels that an operator of the family rownorm is scored with: right ones
// in several orders of their sums, and bugs that follow from the operator's statement.
package rownormtest

import (
	"triad/internal/op"
	"triad/internal/truth/rownorm"
	"triad/internal/truth/truthtest"
)

// The bugs that kernel.go looks for by name.
const (
	countLess       = "statistic over n-1"
	padded          = "statistic over padded n"
	tailUnsummed    = "tail not reduced"
	lowSum          = "low-precision accumulator"
	epsOutside      = "eps outside the root"
	epsMissing      = "eps missing"
	epsMaximum      = "maximum of variance and eps"
	epsTenth        = "eps a tenth"
	tailUnwritten   = "tail not written"
	otherRow        = "rstd of another row"
	weightPlusOne   = "weight plus 1"
	onePass         = "variance in one pass"
	notCentred      = "variance not centred"
	meanKept        = "mean not subtracted"
	meanTaken       = "mean subtracted"
	sumNotMean      = "sum of squares for the mean"
	castFirst       = "cast before weight"
	biasMissing     = "bias missing"
	residualMissing = "residual missing"
	sumStored       = "y of the rounded h"
	hOfX            = "h without the residual"

	meanTermMissing = "mean term missing"
	xhatTermMissing = "xhat term missing"
	factorX         = "grad_weight from x"
	blockDropped    = "last row block dropped"
	lowRowSums      = "sums over rows in a low-precision accumulator"
	updateLost      = "one atomic update lost"
	weightIgnored   = "grad_x ignores weight"
	biasTimesWeight = "grad_bias times weight"
	partialsLow     = "partial sums in bf16"
	rstdWithoutEps  = "rstd recomputed without eps"
	gradHMissing    = "grad_h missing"
	gradHOnce       = "grad_h not in grad_residual"
	gradHRounded    = "gradient rounded before grad_h"
)

// Suites returns the suites of the passes of an operator.
func Suites(name string) []truthtest.Suite {
	o, _ := rownorm.Get(name)
	f := family{o}
	return []truthtest.Suite{
		{Op: name, Pass: op.Forward, Right: f.right(), Kernel: f.forward, Mutants: f.forwardMutants()},
		{Op: name, Pass: op.Backward, Right: f.right(), Kernel: f.backward, Mutants: f.backwardMutants()},
	}
}

// family emulates an operator.
type family struct{ rownorm.Operator }

// right returns the orders of sums; with a mean also Welford's running mean and variance (Other).
func (f family) right() []truthtest.Arithmetic {
	all := append([]truthtest.Arithmetic{}, truthtest.RowVariants...)
	if f.Centred {
		all = append(all, truthtest.Arithmetic{Order: truthtest.InLanes, Other: true})
	}
	return all
}

// withoutResidual returns why a bug of the residual has no effect in a group, or "".
func withoutResidual(g truthtest.Group) string {
	if g.Value == "false" {
		return "there is no residual"
	}
	return ""
}

// wide returns why a rounding to the dtype has no effect in a group, or "".
func wide(g truthtest.Group) string {
	if g.Dtype == op.FP32.String() {
		return "the value is an fp32 one whether it is stored or not"
	}
	return ""
}

func wideOrWithoutResidual(g truthtest.Group) string {
	if why := wide(g); why != "" {
		return why
	}
	return withoutResidual(g)
}

// forwardMutants returns the mutants of the forward: a reduction has a wrong and a padded count, a lost tail
// and a low accumulator, an eps its four mistakes, a store its lost tail; the others are of the statistic and
// of the affine part.
func (f family) forwardMutants() truthtest.Mutants {
	var l truthtest.Mutants
	l.Add(nil, countLess, epsOutside, epsMissing, epsMaximum, epsTenth, lowSum, weightPlusOne, padded,
		tailUnsummed, tailUnwritten, otherRow)
	if f.Centred {
		l.Add(nil, onePass, notCentred, meanKept)
	} else {
		l.Add(nil, sumNotMean, meanTaken)
		l.Add(wide, castFirst)
	}
	if f.Bias {
		l.Add(nil, biasMissing)
	}
	if f.Residual {
		l.Add(withoutResidual, residualMissing, hOfX)
		l.Add(wideOrWithoutResidual, sumStored)
	}
	return l
}

func (f family) backwardMutants() truthtest.Mutants {
	var l truthtest.Mutants
	l.Add(nil, xhatTermMissing, factorX, blockDropped, lowRowSums, updateLost, weightIgnored, countLess,
		otherRow, partialsLow, rstdWithoutEps)
	if f.Centred {
		l.Add(nil, meanTermMissing)
	} else {
		l.Add(nil, weightPlusOne)
		l.Add(wide, castFirst) // xhat, and in autograd the gradient of it and the terms of grad_weight
	}
	if f.Bias {
		l.Add(nil, biasTimesWeight)
	}
	if f.Residual {
		l.Add(withoutResidual, residualMissing, gradHMissing, gradHOnce)
		l.Add(wideOrWithoutResidual, gradHRounded)
	}
	return l
}
