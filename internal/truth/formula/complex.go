package formula

import (
	"math"
	"math/cmplx"
)

// Complex computes a formula over complex numbers, for the complex step: f'(x) = Im f(x + ih)/h. in returns
// the inputs by name. The computation shares nothing with stated derivatives.
func Complex(n *Node, in func(name string) complex128) complex128 {
	done := map[*Node]complex128{}
	for _, m := range Operations(n) {
		var x, y complex128
		if len(m.Operands) > 0 {
			x = done[m.Operands[0]]
		}
		if len(m.Operands) > 1 {
			y = done[m.Operands[1]]
		}
		switch m.Kind {
		case Input:
			done[m] = in(m.Name)
		case Constant:
			done[m] = complex(m.Value, 0)
		case Add:
			done[m] = x + y
		case Sub:
			done[m] = x - y
		case Mul:
			done[m] = x * y
		case Div:
			done[m] = x / y
		case Neg:
			done[m] = -x
		case Exp:
			done[m] = cmplx.Exp(x)
		case Erf:
			done[m] = complexErf(x)
		case Tanh:
			done[m] = cmplx.Tanh(x)
		case Stored:
			done[m] = x
		case Above, AtMost:
			done[m] = done[m.Operands[m.Chosen(real(x), real(y))]]
		}
	}
	return done[n]
}

// erfSeries is the argument up to which the series of erf is summed: its terms all have one sign, and there
// are about 2*6^2 of them.
const erfSeries = 6.0

// complexErf returns erf by 2/sqrt(pi) e^(-z^2) sum 2^n z^(2n+1)/(2n+1)!! (DLMF 7.6.2). Beyond erfSeries,
// where only the step matters, it is erf of the real part and the first term of Taylor's series.
func complexErf(z complex128) complex128 {
	if math.Abs(real(z)) > erfSeries {
		x := real(z)
		return complex(math.Erf(x), 2/math.SqrtPi*math.Exp(-x*x)*imag(z))
	}
	term, sum := z, z
	for n := 1; cmplx.Abs(term) > 1e-18*cmplx.Abs(sum) && n < 1000; n++ {
		term *= 2 * z * z / complex(float64(2*n+1), 0)
		sum += term
	}
	return complex(2/math.SqrtPi, 0) * cmplx.Exp(-z*z) * sum
}
