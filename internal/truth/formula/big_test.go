package formula_test

import (
	"math"
	"math/big"

	"triad/internal/truth/formula"
)

// bits is the precision of the second computation of every formula, which shares only the formula with the
// first.
const bits = 320

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(bits).SetFloat64(x) }

func bigNew() *big.Float { return new(big.Float).SetPrec(bits) }

// bigValue returns the value of a formula to some 90 digits.
func bigValue(n *formula.Node, in map[string]float64) *big.Float {
	var x, y *big.Float
	if len(n.Operands) > 0 {
		x = bigValue(n.Operands[0], in)
	}
	if len(n.Operands) > 1 {
		y = bigValue(n.Operands[1], in)
	}
	switch n.Kind {
	case formula.Input:
		return bigOf(in[n.Name])
	case formula.Constant:
		return bigOf(n.Value)
	case formula.Add:
		return bigNew().Add(x, y)
	case formula.Sub:
		return bigNew().Sub(x, y)
	case formula.Mul:
		return bigNew().Mul(x, y)
	case formula.Div:
		return bigNew().Quo(x, y)
	case formula.Neg:
		return bigNew().Neg(x)
	case formula.Exp:
		return bigExp(x)
	case formula.Erf:
		return bigErf(x)
	case formula.Tanh:
		return bigTanh(x)
	case formula.Above, formula.AtMost:
		if (x.Cmp(y) > 0) == (n.Kind == formula.Above) {
			return bigValue(n.Operands[2], in)
		}
		return bigValue(n.Operands[3], in)
	}
	return x
}

// bigExp halves the argument 24 times, sums Taylor's series, and squares 24 times.
func bigExp(x *big.Float) *big.Float {
	const halvings = 24
	if f, _ := x.Float64(); f < -1e4 {
		return bigOf(0)
	}
	small := bigNew().SetMantExp(x, -halvings)
	sum, term := bigOf(1), bigOf(1)
	for n := 1; n < 80; n++ {
		term.Quo(term.Mul(term, small), bigOf(float64(n)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigPi by Machin's formula.
var bigPi = func() *big.Float {
	arctan := func(inverse float64) *big.Float {
		power := bigNew().Quo(bigOf(1), bigOf(inverse))
		sum, square := bigNew().Set(power), bigOf(inverse*inverse)
		for n := 3.0; n < 500; n += 2 {
			power.Neg(power.Quo(power, square))
			sum.Add(sum, bigNew().Quo(power, bigOf(n)))
		}
		return sum
	}
	pi := bigNew().Mul(bigOf(16), arctan(5))
	return pi.Sub(pi, bigNew().Mul(bigOf(4), arctan(239)))
}()

// bigErf computes Taylor's series, whose cancellation the precision covers up to 8; beyond it returns 1,
// which erf is to 29 digits.
func bigErf(x *big.Float) *big.Float {
	if f, _ := x.Float64(); math.Abs(f) > 8 {
		return bigOf(math.Copysign(1, f))
	}
	square := bigNew().Mul(x, x)
	term, sum := bigNew().Set(x), bigNew().Set(x)
	for n := 1; n < 600; n++ {
		term.Quo(term.Mul(term, square), bigOf(float64(n)))
		term.Neg(term)
		sum.Add(sum, bigNew().Quo(term, bigOf(float64(2*n+1))))
	}
	return sum.Quo(sum.Mul(sum, bigOf(2)), bigNew().Sqrt(bigPi))
}

func bigTanh(x *big.Float) *big.Float {
	if f, _ := x.Float64(); math.Abs(f) > 60 {
		return bigOf(math.Copysign(1, f))
	}
	e := bigExp(bigNew().Mul(bigOf(2), x))
	return bigNew().Quo(bigNew().Sub(e, bigOf(1)), bigNew().Add(e, bigOf(1)))
}
