// Stands in for CUDA's header of this name: e4m3 (no infinity, largest 448) and e5m2, their conversions and the vectors of two and four.
#ifndef CUEMU_CUDA_FP8_H
#define CUEMU_CUDA_FP8_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "cuemu/number_formats.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// ---- conversions of storage
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
	bool finite = saturate == __NV_SATFINITE;
	return static_cast<__nv_fp8_storage_t>(format == __NV_E4M3 ? cuemu::E4m3::encode(x, finite) : cuemu::E5m2::encode(x, finite));
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
	return __nv_cvt_float_to_fp8(cuemu::to_odd(x), saturate, format);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
	return __nv_cvt_float_to_fp8(__half(x), saturate, format);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
	return __nv_cvt_float_to_fp8(__nv_bfloat16(x), saturate, format);
}
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t format) {
	return __half(format == __NV_E4M3 ? cuemu::E4m3::decode(x) : cuemu::E5m2::decode(x));
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 v, __nv_saturation_t saturate, __nv_fp8_interpretation_t format) {
	return static_cast<__nv_fp8x2_storage_t>(__nv_cvt_float_to_fp8(v.x, saturate, format) | __nv_cvt_float_to_fp8(v.y, saturate, format) << 8);
}

// ---- the types; a conversion to one saturates
#define CUEMU_FP8(T, format, codec)                                                                             \
	struct T {                                                                                                     \
		__nv_fp8_storage_t __x;                                                                                       \
		T() = default;                                                                                                \
		explicit T(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, format)) {}                                \
		explicit T(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, format)) {}                              \
		explicit T(__half x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, format)) {}                               \
		explicit T(__nv_bfloat16 x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, format)) {}                        \
		explicit T(int x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, format)) {}                                 \
		explicit operator float() const { return cuemu::codec::decode(__x); }                                         \
		explicit operator double() const { return cuemu::codec::decode(__x); }                                        \
		explicit operator __half() const { return __half(cuemu::codec::decode(__x)); }                                \
		explicit operator __nv_bfloat16() const { return __nv_bfloat16(cuemu::codec::decode(__x)); }                  \
	};
CUEMU_FP8(__nv_fp8_e4m3, __NV_E4M3, E4m3)
CUEMU_FP8(__nv_fp8_e5m2, __NV_E5M2, E5m2)
#undef CUEMU_FP8

template <class One, __nv_fp8_interpretation_t format> struct __cuemu_fp8x2 {
	alignas(2) __nv_fp8x2_storage_t __x;
	__cuemu_fp8x2() = default;
	explicit __cuemu_fp8x2(float2 v) : __x(__nv_cvt_float2_to_fp8x2(v, __NV_SATFINITE, format)) {}
	explicit __cuemu_fp8x2(double2 v) : __cuemu_fp8x2(float2{cuemu::to_odd(v.x), cuemu::to_odd(v.y)}) {}
	explicit __cuemu_fp8x2(__half2 v) : __cuemu_fp8x2(__half22float2(v)) {}
	explicit __cuemu_fp8x2(__nv_bfloat162 v) : __cuemu_fp8x2(__bfloat1622float2(v)) {}
	explicit operator __half2() const { return __float22half2_rn(static_cast<float2>(*this)); }
	explicit operator float2() const {
		One low, high;
		low.__x = static_cast<__nv_fp8_storage_t>(__x);
		high.__x = static_cast<__nv_fp8_storage_t>(__x >> 8);
		return {static_cast<float>(low), static_cast<float>(high)};
	}
};
template <class One, __nv_fp8_interpretation_t format> struct __cuemu_fp8x4 {
	alignas(4) __nv_fp8x4_storage_t __x;
	__cuemu_fp8x4() = default;
	explicit __cuemu_fp8x4(float4 v)
	    : __x(__nv_cvt_float2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, format) |
	          static_cast<unsigned>(__nv_cvt_float2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, format)) << 16) {}
	explicit __cuemu_fp8x4(double4 v)
	    : __cuemu_fp8x4(float4{cuemu::to_odd(v.x), cuemu::to_odd(v.y), cuemu::to_odd(v.z), cuemu::to_odd(v.w)}) {}
	__cuemu_fp8x4(__half2 low, __half2 high)
	    : __cuemu_fp8x4(float4{float(low.x), float(low.y), float(high.x), float(high.y)}) {}
	__cuemu_fp8x4(__nv_bfloat162 low, __nv_bfloat162 high)
	    : __cuemu_fp8x4(float4{float(low.x), float(low.y), float(high.x), float(high.y)}) {}
	explicit operator float4() const {
		float f[4];
		for (int i = 0; i < 4; i++) {
			One one;
			one.__x = static_cast<__nv_fp8_storage_t>(__x >> (8 * i));
			f[i] = static_cast<float>(one);
		}
		return {f[0], f[1], f[2], f[3]};
	}
};
typedef __cuemu_fp8x2<__nv_fp8_e4m3, __NV_E4M3> __nv_fp8x2_e4m3;
typedef __cuemu_fp8x4<__nv_fp8_e4m3, __NV_E4M3> __nv_fp8x4_e4m3;
typedef __cuemu_fp8x2<__nv_fp8_e5m2, __NV_E5M2> __nv_fp8x2_e5m2;
typedef __cuemu_fp8x4<__nv_fp8_e5m2, __NV_E5M2> __nv_fp8x4_e5m2;

#endif
