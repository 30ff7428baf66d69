package workload

import "math"

// The functions of this file give the same bits on every machine: they use only + - * / and square roots,
// which IEEE 754 rounds in one way, and every product is converted explicitly, which keeps the compiler from
// fusing it with the addition that follows.

// polynomial evaluates c[0] + c[1] x + c[2] x^2 + ...
func polynomial(x float64, c *[8]float64) float64 {
	y := c[7]
	y = float64(y*x) + c[6]
	y = float64(y*x) + c[5]
	y = float64(y*x) + c[4]
	y = float64(y*x) + c[3]
	y = float64(y*x) + c[2]
	y = float64(y*x) + c[1]
	return float64(y*x) + c[0]
}

// Coefficients of algorithm AS 241 (PPND16), Wichura, "The percentage points of the normal distribution",
// Applied Statistics 37 (1988).
var (
	centreTop = [8]float64{
		3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
		4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3,
	}
	centreBottom = [8]float64{
		1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
		2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3,
	}
	middleTop = [8]float64{
		1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
		3.64784832476320460504e0,
		1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2,
		7.74545014278341407640e-4,
	}
	middleBottom = [8]float64{
		1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
		1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
		1.05075007164441684324e-9,
	}
	tailTop = [8]float64{
		6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
		2.96560571828504891230e-1,
		2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5,
		2.01033439929228813265e-7,
	}
	tailBottom = [8]float64{
		1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
		7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
		2.04426310338993978564e-15,
	}
)

// normalQuantile returns the quantile of the standard normal distribution at p, 0 < p < 1.
func normalQuantile(p float64) float64 {
	q := p - 0.5
	if math.Abs(q) <= 0.425 {
		r := 0.180625 - float64(q*q)
		return float64(q*polynomial(r, &centreTop)) / polynomial(r, &centreBottom)
	}
	r := math.Sqrt(-logarithm(min(p, 1-p)))
	var z float64
	if r <= 5 {
		z = polynomial(r-1.6, &middleTop) / polynomial(r-1.6, &middleBottom)
	} else {
		z = polynomial(r-5, &tailTop) / polynomial(r-5, &tailBottom)
	}
	return math.Copysign(z, q)
}

// ln2 in two parts: the first has so few bits that its product with an exponent is exact.
const (
	ln2High = 0x1.62e42fee00000p-1
	ln2Low  = 0x1.a39ef35793c76p-33
)

// logarithm returns ln x of a positive normal number, to about 1e-16: with m in [sqrt(1/2), sqrt(2)), ln m =
// 2 artanh((m-1)/(m+1)) as a series.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < 0.70710678118654752440 {
		m *= 2
		e--
	}
	s := (m - 1) / (m + 1)
	square := float64(s * s)
	sum := float64((1.0 / 23) * square)
	sum = float64((sum + 1.0/21) * square)
	sum = float64((sum + 1.0/19) * square)
	sum = float64((sum + 1.0/17) * square)
	sum = float64((sum + 1.0/15) * square)
	sum = float64((sum + 1.0/13) * square)
	sum = float64((sum + 1.0/11) * square)
	sum = float64((sum + 1.0/9) * square)
	sum = float64((sum + 1.0/7) * square)
	sum = float64((sum + 1.0/5) * square)
	sum = float64((sum + 1.0/3) * square)
	n := float64(e)
	return float64(n*ln2High) + (float64(2*s) + float64(2*s*sum) + float64(n*ln2Low))
}

// exponential returns e^x for |x| < 700, to about 1e-16.
func exponential(x float64) float64 {
	n := math.RoundToEven(x / 0.69314718055994530942)
	r := x - float64(n*ln2High) - float64(n*ln2Low)
	sum := 1.0
	for k := 16; k >= 1; k-- {
		sum = 1 + float64(sum*r)/float64(k)
	}
	return math.Ldexp(sum, int(n))
}

// pi/2 in three parts of 33 bits (Cody and Waite): products with numbers below 2^20 are exact.
const (
	halfPiHigh = 0x1.921fb544p0
	halfPiMid  = 0x1.0b4611a6p-34
	halfPiLow  = 0x1.3198a2e037073p-69
)

// largestAngle bounds the argument of sineCosine.
const largestAngle = 1 << 20

// sineCosine returns the sine and cosine of an angle in radians, |x| < largestAngle, to about 1e-16.
func sineCosine(x float64) (sine, cosine float64) {
	n := math.RoundToEven(x / 1.57079632679489661923)
	r := x - float64(n*halfPiHigh) - float64(n*halfPiMid) - float64(n*halfPiLow)
	square := float64(r * r)
	s, c := 1.0, 1.0
	for k := 20; k >= 2; k -= 2 {
		c = 1 - float64(c*square)/float64((k-1)*k)
		s = 1 - float64(s*square)/float64(k*(k+1))
	}
	s = float64(s * r)
	switch int64(n) & 3 {
	case 0:
		return s, c
	case 1:
		return c, -s
	case 2:
		return -s, -c
	default:
		return -c, s
	}
}
