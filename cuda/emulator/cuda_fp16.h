// Stands in for CUDA's header of this name: half, two of them, their conversions, arithmetic, comparisons and functions. Arithmetic is done
// in float and rounded once, which is correct rounding for + - * / and sqrt; fma is exact before its one rounding.
#ifndef CUEMU_CUDA_FP16_H
#define CUEMU_CUDA_FP16_H

#include "cuda_runtime.h"
#include "cuemu/half_conversions.h"
#include "cuemu/half_functions.h"
#include "cuemu/number_formats.h"

struct __half_raw { unsigned short x; };

struct __half {
	unsigned short __x;

	__half() = default;
	constexpr __half(const __half_raw &raw) : __x(raw.x) {}
	__half(float x) : __x(static_cast<unsigned short>(cuemu::Half::encode(x))) {}
	__half(double x) : __x(static_cast<unsigned short>(cuemu::Half::encode(cuemu::to_odd(x)))) {}
	template <class Int, class = typename std::enable_if<std::is_integral<Int>::value>::type>
	__half(Int x) : __x(static_cast<unsigned short>(cuemu::Half::encode(cuemu::to_odd(static_cast<double>(x))))) {}
	operator float() const { return cuemu::Half::decode(__x); }
	operator __half_raw() const { return {__x}; }
	__half &operator=(float x) { return *this = __half(x); }
	__half &operator=(double x) { return *this = __half(x); }
	__half &operator=(int x) { return *this = __half(x); }
};

struct alignas(4) __half2 {
	__half x, y;
	__half2() = default;
	__half2(__half a, __half b) : x(a), y(b) {}
};

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;

inline __half half_bits(unsigned bits) { return __half(__half_raw{static_cast<unsigned short>(bits)}); }

// ---- conversions
CUEMU_HALF_CONVERSIONS(__half, half)
inline __half __float2half(float x) { return __half(x); }
inline __half __double2half(double x) { return __half(x); }
inline float __half2float(__half x) { return static_cast<float>(x); }
inline unsigned short __half_as_ushort(__half x) { return x.__x; }
inline short __half_as_short(__half x) { return static_cast<short>(x.__x); }
inline __half __ushort_as_half(unsigned short bits) { return half_bits(bits); }
inline __half __short_as_half(short bits) { return half_bits(static_cast<unsigned short>(bits)); }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 v) { return {__half(v.x), __half(v.y)}; }
inline float2 __half22float2(__half2 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half __low2half(__half2 v) { return v.x; }
inline __half __high2half(__half2 v) { return v.y; }
inline float __low2float(__half2 v) { return v.x; }
inline float __high2float(__half2 v) { return v.y; }
inline __half2 __low2half2(__half2 v) { return {v.x, v.x}; }
inline __half2 __high2half2(__half2 v) { return {v.y, v.y}; }
inline __half2 __lowhigh2highlow(__half2 v) { return {v.y, v.x}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }

// ---- arithmetic
#define CUEMU_OPERATOR(op, name)                                                                             \
	inline __half operator op(__half a, __half b) { return __half(static_cast<float>(a) op static_cast<float>(b)); }        \
	inline __half &operator op##=(__half &a, __half b) { return a = a op b; }                                            \
	inline __half name(__half a, __half b) { return a op b; }                                                            \
	inline __half name##_rn(__half a, __half b) { return a op b; }                                                       \
	inline __half2 operator op(__half2 a, __half2 b) { return {a.x op b.x, a.y op b.y}; }                                \
	inline __half2 &operator op##=(__half2 &a, __half2 b) { return a = a op b; }                                         \
	inline __half2 name##2(__half2 a, __half2 b) { return a op b; }
CUEMU_OPERATOR(+, __hadd)
CUEMU_OPERATOR(-, __hsub)
CUEMU_OPERATOR(*, __hmul)
CUEMU_OPERATOR(/, __hdiv)
#undef CUEMU_OPERATOR
inline __half2 __h2div(__half2 a, __half2 b) { return a / b; }
inline __half operator-(__half a) { return half_bits(a.__x ^ 0x8000u); }
inline __half operator+(__half a) { return a; }
inline __half2 operator-(__half2 a) { return {-a.x, -a.y}; }
inline __half __hneg(__half a) { return -a; }
inline __half2 __hneg2(__half2 a) { return -a; }
inline __half __habs(__half a) { return half_bits(a.__x & 0x7fffu); }
inline __half2 __habs2(__half2 a) { return {__habs(a.x), __habs(a.y)}; }
inline __half __hfma(__half a, __half b, __half c) { return __half(cuemu::fused(a, b, c)); }
inline __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __half __hfma_relu(__half a, __half b, __half c) {
	__half y = __hfma(a, b, c);
	return static_cast<float>(y) < 0 ? __half(0.0f) : y;
}

// ---- comparisons
#define CUEMU_COMPARE(op, name)                                                                              \
	inline bool operator op(__half a, __half b) { return static_cast<float>(a) op static_cast<float>(b); }            \
	inline bool name(__half a, __half b) { return a op b; }                                                           \
	inline __half2 name##2(__half2 a, __half2 b) { return {__half(a.x op b.x ? 1.0f : 0.0f), __half(a.y op b.y ? 1.0f : 0.0f)}; }
CUEMU_COMPARE(==, __heq)
CUEMU_COMPARE(!=, __hne)
CUEMU_COMPARE(<, __hlt)
CUEMU_COMPARE(<=, __hle)
CUEMU_COMPARE(>, __hgt)
CUEMU_COMPARE(>=, __hge)
#undef CUEMU_COMPARE
inline bool __hisnan(__half a) { return (a.__x & 0x7fffu) > 0x7c00u; }
inline int __hisinf(__half a) { return (a.__x & 0x7fffu) != 0x7c00u ? 0 : a.__x >> 15 ? -1 : 1; }
inline __half __hmin(__half a, __half b) { return __half(fminf(a, b)); }
inline __half __hmax(__half a, __half b) { return __half(fmaxf(a, b)); }
inline __half __hmin_nan(__half a, __half b) { return __hisnan(a) || __hisnan(b) ? half_bits(0x7fff) : __hmin(a, b); }
inline __half __hmax_nan(__half a, __half b) { return __hisnan(a) || __hisnan(b) ? half_bits(0x7fff) : __hmax(a, b); }
inline __half2 __hmin2(__half2 a, __half2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
inline __half2 __hmax2(__half2 a, __half2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }

// ---- functions
#define CUEMU_FUNCTION(name, expression)                           \
	inline __half h##name(__half a) {                                       \
		float x = a;                                                     \
		return __half(expression);                                          \
	}                                                                 \
	inline __half2 h2##name(__half2 a) { return {h##name(a.x), h##name(a.y)}; }
CUEMU_FUNCTION(exp, exp(static_cast<double>(x)))
CUEMU_FUNCTION(exp2, exp2(static_cast<double>(x)))
CUEMU_FUNCTION(exp10, pow(10.0, static_cast<double>(x)))
CUEMU_FUNCTION(log, log(static_cast<double>(x)))
CUEMU_FUNCTION(log2, log2(static_cast<double>(x)))
CUEMU_FUNCTION(log10, log10(static_cast<double>(x)))
CUEMU_FUNCTION(sin, sin(static_cast<double>(x)))
CUEMU_FUNCTION(cos, cos(static_cast<double>(x)))
CUEMU_FUNCTION(tanh, tanh(static_cast<double>(x)))
CUEMU_FUNCTION(sqrt, sqrtf(x))
CUEMU_FUNCTION(rsqrt, 1.0 / sqrt(static_cast<double>(x)))
CUEMU_FUNCTION(rcp, 1.0 / static_cast<double>(x))
CUEMU_FUNCTION(floor, floorf(x))
CUEMU_FUNCTION(ceil, ceilf(x))
CUEMU_FUNCTION(trunc, truncf(x))
CUEMU_FUNCTION(rint, nearbyintf(x))
#undef CUEMU_FUNCTION

CUEMU_HALF_FUNCTIONS(__half, __half2)
CUEMU_UNORDERED(__half, __half2)

// ---- atomics
inline __half atomicAdd(__half *p, __half v) { return cuemu::update(p, [=](__half old) { return old + v; }); }
inline __half2 atomicAdd(__half2 *p, __half2 v) { return cuemu::update(p, [=](__half2 old) { return old + v; }); }

#endif
