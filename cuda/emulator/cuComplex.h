// Stands in for CUDA's header of this name: complex numbers as pairs.
#ifndef CUEMU_CUCOMPLEX_H
#define CUEMU_CUCOMPLEX_H

#include <cmath>

#include "cuda_runtime.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

// The functions of one precision have an f behind their word. A quotient is scaled, so that squares do not overflow.
#define CUEMU_COMPLEX(T, R, f)                                                                               \
	inline R cuCreal##f(T x) { return x.x; }                                                                   \
	inline R cuCimag##f(T x) { return x.y; }                                                                   \
	inline T cuConj##f(T x) { return {x.x, -x.y}; }                                                            \
	inline T cuCadd##f(T x, T y) { return {x.x + y.x, x.y + y.y}; }                                            \
	inline T cuCsub##f(T x, T y) { return {x.x - y.x, x.y - y.y}; }                                            \
	inline T cuCmul##f(T x, T y) { return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x}; }                    \
	inline T cuCfma##f(T x, T y, T d) { return cuCadd##f(cuCmul##f(x, y), d); }                                \
	inline T cuCdiv##f(T x, T y) {                                                                             \
		const R by = 1 / (std::fabs(y.x) + std::fabs(y.y)), a = x.x * by, b = x.y * by, c = y.x * by, d = y.y * by; \
		const R square = 1 / (c * c + d * d);                                                                     \
		return {(a * c + b * d) * square, (b * c - a * d) * square};                                              \
	}                                                                                                          \
	inline R cuCabs##f(T x) { return std::hypot(x.x, x.y); }
CUEMU_COMPLEX(cuDoubleComplex, double, )
CUEMU_COMPLEX(cuFloatComplex, float, f)
#undef CUEMU_COMPLEX
inline cuFloatComplex make_cuFloatComplex(float re, float im) { return {re, im}; }
inline cuDoubleComplex make_cuDoubleComplex(double re, double im) { return {re, im}; }
inline cuComplex make_cuComplex(float re, float im) { return {re, im}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return {x.x, x.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return {static_cast<float>(x.x), static_cast<float>(x.y)}; }

#endif
