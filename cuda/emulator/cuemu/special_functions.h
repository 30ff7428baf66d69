// CUDA's mathematical functions that C++ lacks beyond the usual ones, and small functions of integers. The float forms are computed in double.
#ifndef CUEMU_SPECIAL_FUNCTIONS_H
#define CUEMU_SPECIAL_FUNCTIONS_H

#include <cmath>
#include <limits>

// erfcinv solves erfc(x) = y by Halley's method, which ends where rounding allows no more.
inline double erfcinv(double y) {
	if (!(y >= 0 && y <= 2)) return std::numeric_limits<double>::quiet_NaN();
	if (y == 0 || y == 2) return y == 0 ? HUGE_VAL : -HUGE_VAL;
	const double tail = y < 1 ? y : 2 - y, t = sqrt(-2 * log(tail / 2));
	double x = -0.70711 * ((2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)) - t);
	for (int i = 0; i < 4; i++) {
		const double e = erfc(x) - tail;
		x += e / (M_2_SQRTPI * exp(-x * x) - x * e);
	}
	return y < 1 ? x : -x;
}
inline double erfinv(double y) {
	if (fabs(y) > 0.5) return y > 0 ? erfcinv(1 - y) : -erfcinv(1 + y);
	double x = y / M_2_SQRTPI;
	for (int i = 0; i < 6; i++) {
		const double e = erf(x) - y;
		x -= e / (M_2_SQRTPI * exp(-x * x) + x * e);
	}
	return x;
}
inline double normcdfinv(double p) { return -M_SQRT2 * erfcinv(2 * p); }
// erfcx is exp(x^2) erfc(x): beyond 25, where erfc underflows, by its series.
inline double erfcx(double x) {
	if (x < 25) return exp(x * x) * erfc(x);
	const double r = 1 / (x * x);
	return M_2_SQRTPI / (2 * x) * (1 - r / 2 * (1 - r * 3 / 2 * (1 - r * 5 / 2)));
}
inline double cyl_bessel_i0(double x) { return std::cyl_bessel_i(0.0, fabs(x)); }
inline double cyl_bessel_i1(double x) { return x < 0 ? -std::cyl_bessel_i(1.0, -x) : std::cyl_bessel_i(1.0, x); }
inline double rhypot(double a, double b) { return 1 / hypot(a, b); }
inline double norm3d(double a, double b, double c) { return hypot(hypot(a, b), c); }
inline double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
inline double rnorm3d(double a, double b, double c) { return 1 / norm3d(a, b, c); }
inline double rnorm4d(double a, double b, double c, double d) { return 1 / norm4d(a, b, c, d); }
inline double norm(int count, const double *a) {
	double length = 0;
	for (int i = 0; i < count; i++) length = hypot(length, a[i]);
	return length;
}
inline double rnorm(int count, const double *a) { return 1 / norm(count, a); }

inline float erfinvf(float x) { return static_cast<float>(erfinv(x)); }
inline float erfcinvf(float x) { return static_cast<float>(erfcinv(x)); }
inline float erfcxf(float x) { return static_cast<float>(erfcx(x)); }
inline float normcdfinvf(float x) { return static_cast<float>(normcdfinv(x)); }
inline float cyl_bessel_i0f(float x) { return static_cast<float>(cyl_bessel_i0(x)); }
inline float cyl_bessel_i1f(float x) { return static_cast<float>(cyl_bessel_i1(x)); }
inline float rhypotf(float a, float b) { return static_cast<float>(rhypot(a, b)); }
inline float rnorm4df(float a, float b, float c, float d) { return static_cast<float>(rnorm4d(a, b, c, d)); }
inline float normf(int count, const float *a) {
	double length = 0;
	for (int i = 0; i < count; i++) length = hypot(length, static_cast<double>(a[i]));
	return static_cast<float>(length);
}
inline float rnormf(int count, const float *a) { return 1 / normf(count, a); }

inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a > b ? a : b; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a > b ? a : b; }
inline unsigned __uhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return static_cast<unsigned>((static_cast<unsigned long long>(a) + b + 1) >> 1); }
// Two products of a half word of a and a byte of b, which lies in b's lower or upper half.
inline int __dp2a_lo(int a, int b, int c) {
	return c + static_cast<short>(a) * static_cast<signed char>(b) + static_cast<short>(a >> 16) * static_cast<signed char>(b >> 8);
}
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c) { return c + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff); }
inline unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c) { return __dp2a_lo(a, b >> 16, c); }
// __fns is the place of the offset-th set bit from base on, downwards where offset is negative; all ones where there is none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
	if (offset == 0) return mask >> (base & 31) & 1 ? base : 0xffffffffu;
	for (int at = static_cast<int>(base), step = offset > 0 ? 1 : -1, left = offset * step; at >= 0 && at < 32; at += step)
		if (mask >> at & 1 && --left == 0) return static_cast<unsigned>(at);
	return 0xffffffffu;
}

#endif
