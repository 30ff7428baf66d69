// Stands in for CUDA's header of this name: bfloat16, two of them, their conversions, arithmetic, comparisons and functions. Arithmetic is done
// in float and rounded once, which is correct rounding for + - * / and sqrt; fma is exact before its one rounding.
#ifndef CUEMU_CUDA_BF16_H
#define CUEMU_CUDA_BF16_H

#include "cuda_runtime.h"
#include "cuemu/half_conversions.h"
#include "cuemu/half_functions.h"
#include "cuemu/number_formats.h"

struct __nv_bfloat16_raw { unsigned short x; };

struct __nv_bfloat16 {
	unsigned short __x;

	__nv_bfloat16() = default;
	constexpr __nv_bfloat16(const __nv_bfloat16_raw &raw) : __x(raw.x) {}
	__nv_bfloat16(float x) : __x(static_cast<unsigned short>(cuemu::Bfloat16::encode(x))) {}
	__nv_bfloat16(double x) : __x(static_cast<unsigned short>(cuemu::Bfloat16::encode(cuemu::to_odd(x)))) {}
	template <class Int, class = typename std::enable_if<std::is_integral<Int>::value>::type>
	__nv_bfloat16(Int x) : __x(static_cast<unsigned short>(cuemu::Bfloat16::encode(cuemu::to_odd(static_cast<double>(x))))) {}
	operator float() const { return cuemu::Bfloat16::decode(__x); }
	operator __nv_bfloat16_raw() const { return {__x}; }
	__nv_bfloat16 &operator=(float x) { return *this = __nv_bfloat16(x); }
	__nv_bfloat16 &operator=(double x) { return *this = __nv_bfloat16(x); }
	__nv_bfloat16 &operator=(int x) { return *this = __nv_bfloat16(x); }
};

struct alignas(4) __nv_bfloat162 {
	__nv_bfloat16 x, y;
	__nv_bfloat162() = default;
	__nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {}
};

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __nv_bfloat16 bfloat16_bits(unsigned bits) { return __nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(bits)}); }

// ---- conversions
CUEMU_HALF_CONVERSIONS(__nv_bfloat16, bfloat16)
inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __double2bfloat16(double x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return static_cast<float>(x); }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return x.__x; }
inline short __bfloat16_as_short(__nv_bfloat16 x) { return static_cast<short>(x.__x); }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return bfloat16_bits(bits); }
inline __nv_bfloat16 __short_as_bfloat16(short bits) { return bfloat16_bits(static_cast<unsigned short>(bits)); }
inline __nv_bfloat162 __float2bfloat162_rn(float x) { return {__nv_bfloat16(x), __nv_bfloat16(x)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__nv_bfloat16(x), __nv_bfloat16(y)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 v) { return {__nv_bfloat16(v.x), __nv_bfloat16(v.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 x) { return {x, x}; }
inline __nv_bfloat162 __bfloat16s2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
inline float __low2float(__nv_bfloat162 v) { return v.x; }
inline float __high2float(__nv_bfloat162 v) { return v.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return {v.x, v.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return {v.y, v.y}; }
inline __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 v) { return {v.y, v.x}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }

// ---- arithmetic
#define CUEMU_OPERATOR(op, name)                                                                             \
	inline __nv_bfloat16 operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16(static_cast<float>(a) op static_cast<float>(b)); }        \
	inline __nv_bfloat16 &operator op##=(__nv_bfloat16 &a, __nv_bfloat16 b) { return a = a op b; }                                            \
	inline __nv_bfloat16 name(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }                                                            \
	inline __nv_bfloat16 name##_rn(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }                                                       \
	inline __nv_bfloat162 operator op(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x op b.x, a.y op b.y}; }                                \
	inline __nv_bfloat162 &operator op##=(__nv_bfloat162 &a, __nv_bfloat162 b) { return a = a op b; }                                         \
	inline __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return a op b; }
CUEMU_OPERATOR(+, __hadd)
CUEMU_OPERATOR(-, __hsub)
CUEMU_OPERATOR(*, __hmul)
CUEMU_OPERATOR(/, __hdiv)
#undef CUEMU_OPERATOR
inline __nv_bfloat162 __h2div(__nv_bfloat162 a, __nv_bfloat162 b) { return a / b; }
inline __nv_bfloat16 operator-(__nv_bfloat16 a) { return bfloat16_bits(a.__x ^ 0x8000u); }
inline __nv_bfloat16 operator+(__nv_bfloat16 a) { return a; }
inline __nv_bfloat162 operator-(__nv_bfloat162 a) { return {-a.x, -a.y}; }
inline __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
inline __nv_bfloat162 __hneg2(__nv_bfloat162 a) { return -a; }
inline __nv_bfloat16 __habs(__nv_bfloat16 a) { return bfloat16_bits(a.__x & 0x7fffu); }
inline __nv_bfloat162 __habs2(__nv_bfloat162 a) { return {__habs(a.x), __habs(a.y)}; }
inline __nv_bfloat16 __hfma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return __nv_bfloat16(cuemu::fused(a, b, c)); }
inline __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }
inline __nv_bfloat16 __hfma_relu(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) {
	__nv_bfloat16 y = __hfma(a, b, c);
	return static_cast<float>(y) < 0 ? __nv_bfloat16(0.0f) : y;
}

// ---- comparisons
#define CUEMU_COMPARE(op, name)                                                                              \
	inline bool operator op(__nv_bfloat16 a, __nv_bfloat16 b) { return static_cast<float>(a) op static_cast<float>(b); }            \
	inline bool name(__nv_bfloat16 a, __nv_bfloat16 b) { return a op b; }                                                           \
	inline __nv_bfloat162 name##2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__nv_bfloat16(a.x op b.x ? 1.0f : 0.0f), __nv_bfloat16(a.y op b.y ? 1.0f : 0.0f)}; }
CUEMU_COMPARE(==, __heq)
CUEMU_COMPARE(!=, __hne)
CUEMU_COMPARE(<, __hlt)
CUEMU_COMPARE(<=, __hle)
CUEMU_COMPARE(>, __hgt)
CUEMU_COMPARE(>=, __hge)
#undef CUEMU_COMPARE
inline bool __hisnan(__nv_bfloat16 a) { return (a.__x & 0x7fffu) > 0x7f80u; }
inline int __hisinf(__nv_bfloat16 a) { return (a.__x & 0x7fffu) != 0x7f80u ? 0 : a.__x >> 15 ? -1 : 1; }
inline __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16(fminf(a, b)); }
inline __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat16(fmaxf(a, b)); }
inline __nv_bfloat16 __hmin_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return __hisnan(a) || __hisnan(b) ? bfloat16_bits(0x7fff) : __hmin(a, b); }
inline __nv_bfloat16 __hmax_nan(__nv_bfloat16 a, __nv_bfloat16 b) { return __hisnan(a) || __hisnan(b) ? bfloat16_bits(0x7fff) : __hmax(a, b); }
inline __nv_bfloat162 __hmin2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }
inline __nv_bfloat162 __hmax2(__nv_bfloat162 a, __nv_bfloat162 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }

// ---- functions
#define CUEMU_FUNCTION(name, expression)                           \
	inline __nv_bfloat16 h##name(__nv_bfloat16 a) {                                       \
		float x = a;                                                     \
		return __nv_bfloat16(expression);                                          \
	}                                                                 \
	inline __nv_bfloat162 h2##name(__nv_bfloat162 a) { return {h##name(a.x), h##name(a.y)}; }
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

CUEMU_HALF_FUNCTIONS(__nv_bfloat16, __nv_bfloat162)
CUEMU_UNORDERED(__nv_bfloat16, __nv_bfloat162)

// ---- atomics
inline __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v) { return cuemu::update(p, [=](__nv_bfloat16 old) { return old + v; }); }
inline __nv_bfloat162 atomicAdd(__nv_bfloat162 *p, __nv_bfloat162 v) { return cuemu::update(p, [=](__nv_bfloat162 old) { return old + v; }); }

#endif
