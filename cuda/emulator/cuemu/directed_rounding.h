// Arithmetic whose rounding is in its name: towards zero (rz), up (ru), down (rd). Those to nearest are in device_functions.h.
#ifndef CUEMU_DIRECTED_ROUNDING_H
#define CUEMU_DIRECTED_ROUNDING_H

#include <cfenv>
#include <cmath>

#include "cuemu/sanitizer.h"

namespace cuemu {

// rounded computes in another mode of rounding. What goes in and comes out is volatile, so that no compiler moves the computation.
template <class T, class F> CUEMU_PLAIN inline auto rounded(int mode, T a, T b, T c, F compute) {
	volatile T x = a, y = b, z = c;
	std::fesetround(mode);
	volatile T result = compute(x, y, z);
	std::fesetround(FE_TONEAREST);
	return result;
}

// from_integer makes an integer a floating-point number in another mode of rounding.
template <class T, class Int> CUEMU_PLAIN inline auto from_integer(int mode, Int a) {
	volatile Int x = a;
	std::fesetround(mode);
	volatile T result = static_cast<T>(x);
	std::fesetround(FE_TONEAREST);
	return result;
}

}  // namespace cuemu

#define CUEMU_ROUNDED(suffix, mode)                                                                                                          \
	inline float __fadd_##suffix(float a, float b) { return cuemu::rounded(mode, a, b, 0.0f, [](float x, float y, float) CUEMU_PLAIN { return x + y; }); } \
	inline float __fsub_##suffix(float a, float b) { return cuemu::rounded(mode, a, b, 0.0f, [](float x, float y, float) CUEMU_PLAIN { return x - y; }); } \
	inline float __fmul_##suffix(float a, float b) { return cuemu::rounded(mode, a, b, 0.0f, [](float x, float y, float) CUEMU_PLAIN { return x * y; }); } \
	inline float __fdiv_##suffix(float a, float b) { return cuemu::rounded(mode, a, b, 0.0f, [](float x, float y, float) CUEMU_PLAIN { return x / y; }); } \
	inline float __frcp_##suffix(float a) { return __fdiv_##suffix(1.0f, a); }                                                             \
	inline float __fsqrt_##suffix(float a) { return cuemu::rounded(mode, a, a, a, [](float x, float, float) CUEMU_PLAIN { return sqrtf(x); }); }          \
	inline float __fmaf_##suffix(float a, float b, float c) {                                                                              \
		return cuemu::rounded(mode, a, b, c, [](float x, float y, float z) CUEMU_PLAIN { return fmaf(x, y, z); });                            \
	}                                                                                                                                      \
	inline double __dadd_##suffix(double a, double b) { return cuemu::rounded(mode, a, b, 0.0, [](double x, double y, double) CUEMU_PLAIN { return x + y; }); } \
	inline double __dsub_##suffix(double a, double b) { return cuemu::rounded(mode, a, b, 0.0, [](double x, double y, double) CUEMU_PLAIN { return x - y; }); } \
	inline double __dmul_##suffix(double a, double b) { return cuemu::rounded(mode, a, b, 0.0, [](double x, double y, double) CUEMU_PLAIN { return x * y; }); } \
	inline double __ddiv_##suffix(double a, double b) { return cuemu::rounded(mode, a, b, 0.0, [](double x, double y, double) CUEMU_PLAIN { return x / y; }); } \
	inline double __drcp_##suffix(double a) { return __ddiv_##suffix(1.0, a); }                                                            \
	inline double __dsqrt_##suffix(double a) { return cuemu::rounded(mode, a, a, a, [](double x, double, double) CUEMU_PLAIN { return sqrt(x); }); }      \
	inline double __fma_##suffix(double a, double b, double c) {                                                                           \
		return cuemu::rounded(mode, a, b, c, [](double x, double y, double z) CUEMU_PLAIN { return fma(x, y, z); });                          \
	}                                                                                                                                      \
	inline float __double2float_##suffix(double a) { return static_cast<float>(cuemu::rounded(mode, a, a, a, [](double x, double, double) CUEMU_PLAIN { return static_cast<double>(static_cast<float>(x)); })); } \
	inline float __int2float_##suffix(int a) { return __double2float_##suffix(a); }                                                        \
	inline float __uint2float_##suffix(unsigned a) { return __double2float_##suffix(a); }                                                  \
	inline float __ll2float_##suffix(long long a) { return cuemu::from_integer<float>(mode, a); }                                          \
	inline float __ull2float_##suffix(unsigned long long a) { return cuemu::from_integer<float>(mode, a); }                                \
	inline double __ll2double_##suffix(long long a) { return cuemu::from_integer<double>(mode, a); }                                       \
	inline double __ull2double_##suffix(unsigned long long a) { return cuemu::from_integer<double>(mode, a); }
CUEMU_ROUNDED(rz, FE_TOWARDZERO)
CUEMU_ROUNDED(ru, FE_UPWARD)
CUEMU_ROUNDED(rd, FE_DOWNWARD)
#undef CUEMU_ROUNDED

#endif
