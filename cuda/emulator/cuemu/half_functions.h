// What halves and bfloat16 have alike beyond their arithmetic: comparisons of pairs, saturation, sums that keep NaN, conversions to integers.
#ifndef CUEMU_HALF_FUNCTIONS_H
#define CUEMU_HALF_FUNCTIONS_H

#include "cuda_runtime.h"

#define CUEMU_HALF_COMPARE(T, T2, op, name)                                                                                                  \
	inline bool __hb##name##2(T2 a, T2 b) { return a.x op b.x && a.y op b.y; }                                                              \
	inline unsigned __h##name##2_mask(T2 a, T2 b) { return (a.x op b.x ? 0xffffu : 0u) | (a.y op b.y ? 0xffff0000u : 0u); }                  \
	inline bool operator op(T2 a, T2 b) { return __hb##name##2(a, b); }

#define CUEMU_HALF_FUNCTIONS(T, T2)                                                                                                          \
	CUEMU_HALF_COMPARE(T, T2, ==, eq)                                                                                                       \
	CUEMU_HALF_COMPARE(T, T2, !=, ne)                                                                                                       \
	CUEMU_HALF_COMPARE(T, T2, <, lt)                                                                                                        \
	CUEMU_HALF_COMPARE(T, T2, <=, le)                                                                                                       \
	CUEMU_HALF_COMPARE(T, T2, >, gt)                                                                                                        \
	CUEMU_HALF_COMPARE(T, T2, >=, ge)                                                                                                       \
	inline T cuemu_saturated(T a) {                                                                                                         \
		const float x = a;                                                                                                                 \
		return x >= 0.0f ? x > 1.0f ? T(1.0f) : a : T(0.0f);                                                                               \
	}                                                                                                                                       \
	inline T __hadd_sat(T a, T b) { return cuemu_saturated(a + b); }                                                                        \
	inline T __hsub_sat(T a, T b) { return cuemu_saturated(a - b); }                                                                        \
	inline T __hmul_sat(T a, T b) { return cuemu_saturated(a * b); }                                                                        \
	inline T __hfma_sat(T a, T b, T c) { return cuemu_saturated(__hfma(a, b, c)); }                                                         \
	inline T2 __hadd2_sat(T2 a, T2 b) { return {__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }                                              \
	inline T2 __hsub2_sat(T2 a, T2 b) { return {__hsub_sat(a.x, b.x), __hsub_sat(a.y, b.y)}; }                                              \
	inline T2 __hmul2_sat(T2 a, T2 b) { return {__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }                                              \
	inline T2 __hfma2_sat(T2 a, T2 b, T2 c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; }                              \
	inline T2 __hadd2_rn(T2 a, T2 b) { return a + b; }                                                                                      \
	inline T2 __hsub2_rn(T2 a, T2 b) { return a - b; }                                                                                      \
	inline T2 __hmul2_rn(T2 a, T2 b) { return a * b; }                                                                                      \
	inline T2 __hfma2_relu(T2 a, T2 b, T2 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; }                           \
	inline T2 __hmin2_nan(T2 a, T2 b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }                                              \
	inline T2 __hmax2_nan(T2 a, T2 b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }                                              \
	inline T2 __hisnan2(T2 a) { return {T(__hisnan(a.x) ? 1.0f : 0.0f), T(__hisnan(a.y) ? 1.0f : 0.0f)}; }                                  \
	inline T2 __hcmadd(T2 a, T2 b, T2 c) {                                                                                                  \
		return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};                                        \
	}                                                                                                                                       \
	inline T &operator++(T &a) { return a = a + T(1.0f); }                                                                                  \
	inline T &operator--(T &a) { return a = a - T(1.0f); }

#endif
