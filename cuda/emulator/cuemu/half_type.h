// half and bfloat16: a type of 16 bits, two of them, their conversions, arithmetic, comparisons and functions. Arithmetic is done in float
// and rounded once, which is correct rounding for + - * / and sqrt; fma is exact before its one rounding.
#ifndef CUEMU_HALF_TYPE_H
#define CUEMU_HALF_TYPE_H

#include "cuda_runtime.h"
#include "cuemu/half_conversions.h"
#include "cuemu/half_functions.h"
#include "cuemu/number_formats.h"

#define CUEMU_HALF_OPERATOR(T, T2, op, name)                                                                                                               \
	inline T operator op(T a, T b) { return T(static_cast<float>(a) op static_cast<float>(b)); }                                                           \
	inline T &operator op##=(T &a, T b) { return a = a op b; }                                                                                             \
	inline T name(T a, T b) { return a op b; }                                                                                                             \
	inline T name##_rn(T a, T b) { return a op b; }                                                                                                        \
	inline T2 operator op(T2 a, T2 b) { return {a.x op b.x, a.y op b.y}; }                                                                                 \
	inline T2 &operator op##=(T2 &a, T2 b) { return a = a op b; }                                                                                          \
	inline T2 name##2(T2 a, T2 b) { return a op b; }

#define CUEMU_HALF_ORDER(T, T2, op, name)                                                                                                                  \
	inline bool operator op(T a, T b) { return static_cast<float>(a) op static_cast<float>(b); }                                                           \
	inline bool name(T a, T b) { return a op b; }                                                                                                          \
	inline T2 name##2(T2 a, T2 b) { return {T(a.x op b.x ? 1.0f : 0.0f), T(a.y op b.y ? 1.0f : 0.0f)}; }

#define CUEMU_HALF_FUNCTION(T, T2, name, expression)                                                                                                       \
	inline T h##name(T a) {                                                                                                                                \
		float x = a;                                                                                                                                       \
		return T(expression);                                                                                                                              \
	}                                                                                                                                                      \
	inline T2 h2##name(T2 a) { return {h##name(a.x), h##name(a.y)}; }

// T: the type, with two of them in T2. name: how functions name it. Format: its bits in number_formats.h. infinity: the bits of infinity.
#define CUEMU_HALF_TYPE(T, T2, name, Format, infinity)                                                                                                     \
	struct T##_raw { unsigned short x; };                                                                                                                  \
	struct T {                                                                                                                                             \
		unsigned short __x;                                                                                                                                \
		T() = default;                                                                                                                                     \
		constexpr T(const T##_raw &raw) : __x(raw.x) {}                                                                                                    \
		T(float x) : __x(static_cast<unsigned short>(cuemu::Format::encode(x))) {}                                                                         \
		T(double x) : __x(static_cast<unsigned short>(cuemu::Format::encode(cuemu::to_odd(x)))) {}                                                         \
		template <class Int, class = typename std::enable_if<std::is_integral<Int>::value>::type>                                                          \
		T(Int x) : __x(static_cast<unsigned short>(cuemu::Format::encode(cuemu::to_odd(static_cast<double>(x))))) {}                                       \
		operator float() const { return cuemu::Format::decode(__x); }                                                                                      \
		operator T##_raw() const { return {__x}; }                                                                                                         \
		T &operator=(float x) { return *this = T(x); }                                                                                                     \
		T &operator=(double x) { return *this = T(x); }                                                                                                    \
		T &operator=(int x) { return *this = T(x); }                                                                                                       \
	};                                                                                                                                                     \
	struct alignas(4) T2 {                                                                                                                                 \
		T x, y;                                                                                                                                            \
		T2() = default;                                                                                                                                    \
		T2(T a, T b) : x(a), y(b) {}                                                                                                                       \
	};                                                                                                                                                     \
	inline T name##_bits(unsigned bits) { return T(T##_raw{static_cast<unsigned short>(bits)}); }                                                          \
	/* conversions */                                                                                                                                      \
	CUEMU_HALF_CONVERSIONS(T, name)                                                                                                                        \
	inline T __float2##name(float x) { return T(x); }                                                                                                      \
	inline T __double2##name(double x) { return T(x); }                                                                                                    \
	inline float __##name##2float(T x) { return static_cast<float>(x); }                                                                                   \
	inline unsigned short __##name##_as_ushort(T x) { return x.__x; }                                                                                      \
	inline short __##name##_as_short(T x) { return static_cast<short>(x.__x); }                                                                            \
	inline T __ushort_as_##name(unsigned short bits) { return name##_bits(bits); }                                                                         \
	inline T __short_as_##name(short bits) { return name##_bits(static_cast<unsigned short>(bits)); }                                                      \
	inline T2 __float2##name##2_rn(float x) { return {T(x), T(x)}; }                                                                                       \
	inline T2 __floats2##name##2_rn(float x, float y) { return {T(x), T(y)}; }                                                                             \
	inline T2 __float22##name##2_rn(float2 v) { return {T(v.x), T(v.y)}; }                                                                                 \
	inline float2 __##name##22float2(T2 v) { return {static_cast<float>(v.x), static_cast<float>(v.y)}; }                                                  \
	inline T2 __##name##2##name##2(T x) { return {x, x}; }                                                                                                 \
	inline T2 __halves2##name##2(T x, T y) { return {x, y}; }                                                                                              \
	inline T2 make_##name##2(T x, T y) { return {x, y}; }                                                                                                  \
	inline T __low2##name(T2 v) { return v.x; }                                                                                                            \
	inline T __high2##name(T2 v) { return v.y; }                                                                                                           \
	inline float __low2float(T2 v) { return v.x; }                                                                                                         \
	inline float __high2float(T2 v) { return v.y; }                                                                                                        \
	inline T2 __low2##name##2(T2 v) { return {v.x, v.x}; }                                                                                                 \
	inline T2 __high2##name##2(T2 v) { return {v.y, v.y}; }                                                                                                \
	inline T2 __lowhigh2highlow(T2 v) { return {v.y, v.x}; }                                                                                               \
	inline T2 __lows2##name##2(T2 a, T2 b) { return {a.x, b.x}; }                                                                                          \
	inline T2 __highs2##name##2(T2 a, T2 b) { return {a.y, b.y}; }                                                                                         \
	/* arithmetic */                                                                                                                                       \
	CUEMU_HALF_OPERATOR(T, T2, +, __hadd)                                                                                                                  \
	CUEMU_HALF_OPERATOR(T, T2, -, __hsub)                                                                                                                  \
	CUEMU_HALF_OPERATOR(T, T2, *, __hmul)                                                                                                                  \
	CUEMU_HALF_OPERATOR(T, T2, /, __hdiv)                                                                                                                  \
	inline T2 __h2div(T2 a, T2 b) { return a / b; }                                                                                                        \
	inline T operator-(T a) { return name##_bits(a.__x ^ 0x8000u); }                                                                                       \
	inline T operator+(T a) { return a; }                                                                                                                  \
	inline T2 operator-(T2 a) { return {-a.x, -a.y}; }                                                                                                     \
	inline T __hneg(T a) { return -a; }                                                                                                                    \
	inline T2 __hneg2(T2 a) { return -a; }                                                                                                                 \
	inline T __habs(T a) { return name##_bits(a.__x & 0x7fffu); }                                                                                          \
	inline T2 __habs2(T2 a) { return {__habs(a.x), __habs(a.y)}; }                                                                                         \
	inline T __hfma(T a, T b, T c) { return T(cuemu::fused(a, b, c)); }                                                                                    \
	inline T2 __hfma2(T2 a, T2 b, T2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }                                                         \
	inline T __hfma_relu(T a, T b, T c) {                                                                                                                  \
		T y = __hfma(a, b, c);                                                                                                                             \
		return static_cast<float>(y) < 0 ? T(0.0f) : y;                                                                                                    \
	}                                                                                                                                                      \
	/* comparisons */                                                                                                                                      \
	CUEMU_HALF_ORDER(T, T2, ==, __heq)                                                                                                                     \
	CUEMU_HALF_ORDER(T, T2, !=, __hne)                                                                                                                     \
	CUEMU_HALF_ORDER(T, T2, <, __hlt)                                                                                                                      \
	CUEMU_HALF_ORDER(T, T2, <=, __hle)                                                                                                                     \
	CUEMU_HALF_ORDER(T, T2, >, __hgt)                                                                                                                      \
	CUEMU_HALF_ORDER(T, T2, >=, __hge)                                                                                                                     \
	inline bool __hisnan(T a) { return (a.__x & 0x7fffu) > infinity; }                                                                                     \
	inline int __hisinf(T a) { return (a.__x & 0x7fffu) != infinity ? 0 : a.__x >> 15 ? -1 : 1; }                                                          \
	inline T __hmin(T a, T b) { return T(fminf(a, b)); }                                                                                                   \
	inline T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                                                                                   \
	inline T __hmin_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? name##_bits(0x7fff) : __hmin(a, b); }                                              \
	inline T __hmax_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? name##_bits(0x7fff) : __hmax(a, b); }                                              \
	inline T2 __hmin2(T2 a, T2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                                                                         \
	inline T2 __hmax2(T2 a, T2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                                                                         \
	/* functions */                                                                                                                                        \
	CUEMU_HALF_FUNCTION(T, T2, exp, exp(static_cast<double>(x)))                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, exp2, exp2(static_cast<double>(x)))                                                                                         \
	CUEMU_HALF_FUNCTION(T, T2, exp10, pow(10.0, static_cast<double>(x)))                                                                                   \
	CUEMU_HALF_FUNCTION(T, T2, log, log(static_cast<double>(x)))                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, log2, log2(static_cast<double>(x)))                                                                                         \
	CUEMU_HALF_FUNCTION(T, T2, log10, log10(static_cast<double>(x)))                                                                                       \
	CUEMU_HALF_FUNCTION(T, T2, sin, sin(static_cast<double>(x)))                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, cos, cos(static_cast<double>(x)))                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, tanh, tanh(static_cast<double>(x)))                                                                                         \
	CUEMU_HALF_FUNCTION(T, T2, sqrt, sqrtf(x))                                                                                                             \
	CUEMU_HALF_FUNCTION(T, T2, rsqrt, 1.0 / sqrt(static_cast<double>(x)))                                                                                  \
	CUEMU_HALF_FUNCTION(T, T2, rcp, 1.0 / static_cast<double>(x))                                                                                          \
	CUEMU_HALF_FUNCTION(T, T2, floor, floorf(x))                                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, ceil, ceilf(x))                                                                                                             \
	CUEMU_HALF_FUNCTION(T, T2, trunc, truncf(x))                                                                                                           \
	CUEMU_HALF_FUNCTION(T, T2, rint, nearbyintf(x))                                                                                                        \
	CUEMU_HALF_FUNCTIONS(T, T2)                                                                                                                            \
	CUEMU_UNORDERED(T, T2)                                                                                                                                 \
	/* atomics */                                                                                                                                          \
	inline T atomicAdd(T *p, T v) { return cuemu::update(p, [=](T old) { return old + v; }); }                                                             \
	inline T2 atomicAdd(T2 *p, T2 v) { return cuemu::update(p, [=](T2 old) { return old + v; }); }

#endif
