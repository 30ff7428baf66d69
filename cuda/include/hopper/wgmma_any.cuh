// wgmma_any.cuh: products of a warpgroup of 64 x 128 elements on Hopper's tensor cores, of 16-bit operands that lie along the reduction or across it, or
// of 8-bit ones along it; of 16-bit operands also 64 x 64, 64 x 192 and 64 x 256. Both lie in shared memory: see swizzle.cuh, and across_descriptor of wgmma_half.cuh. d[n][e] and the order of use are
// those of wgmma_half.cuh.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_ANY_CUH
#define TRIAD_HOPPER_WGMMA_ANY_CUH
#include <type_traits>

#include "abi.h"
#include "hopper/wgmma_half.cuh"
#include "hopper/wgmma_operands.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace triad::hopper {

// What stands in the instruction: its shape and types, and flags after `add`, whose operands follow.
#define TRIAD_WGMMA_ANY(sums, shape, a_at, b_at, add_at, flags, ...)                                                                    \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #add_at ", 0;\nwgmma.mma_async.sync.aligned." shape " "                      \
	             "{" TRIAD_REGISTERS_##sums "}, %" #a_at ", %" #b_at ", add, 1, 1" flags ";\n}"                                        \
	             : TRIAD_EIGHTS_##sums(d)                                                                                              \
	             : "l"(a), "l"(b), "r"(add)__VA_ARGS__)
#define TRIAD_WGMMA_ANY_HALF(type) \
	TRIAD_WGMMA_ANY(64, "m64n128k16.f32." type "." type, 64, 65, 66, ", %67, %68", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_NARROW_HALF(type) \
	TRIAD_WGMMA_ANY(32, "m64n64k16.f32." type "." type, 32, 33, 34, ", %35, %36", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_192_HALF(type) \
	TRIAD_WGMMA_ANY(96, "m64n192k16.f32." type "." type, 96, 97, 98, ", %99, %100", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_WIDE_HALF(type) \
	TRIAD_WGMMA_ANY(128, "m64n256k16.f32." type "." type, 128, 129, 130, ", %131, %132", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_ANY_FP8(types) TRIAD_WGMMA_ANY(64, "m64n128k32.f32." types, 64, 65, 66, "")

// multiply_any: d[64, 128] = a[64, 16] b[128, 16]^T, plus d if add, of 16-bit elements. 1 for an operand that lies across the reduction.
template <class T, int AcrossA, int AcrossB> __device__ inline void multiply_any(float (&d)[16][4], uint64_t a, uint64_t b, int add) {
	if constexpr (std::is_same<T, __half>::value) TRIAD_WGMMA_ANY_HALF("f16");
	else TRIAD_WGMMA_ANY_HALF("bf16");
}

// The same of d[64, 64] and b[64, 16].
template <class T, int AcrossA, int AcrossB> __device__ inline void multiply_any(float (&d)[8][4], uint64_t a, uint64_t b, int add) {
	if constexpr (std::is_same<T, __half>::value) TRIAD_WGMMA_NARROW_HALF("f16");
	else TRIAD_WGMMA_NARROW_HALF("bf16");
}

// The same of d[64, 192] and b[192, 16].
template <class T, int AcrossA, int AcrossB> __device__ inline void multiply_any(float (&d)[24][4], uint64_t a, uint64_t b, int add) {
	if constexpr (std::is_same<T, __half>::value) TRIAD_WGMMA_192_HALF("f16");
	else TRIAD_WGMMA_192_HALF("bf16");
}

// The same of d[64, 256] and b[256, 16].
template <class T, int AcrossA, int AcrossB> __device__ inline void multiply_any(float (&d)[32][4], uint64_t a, uint64_t b, int add) {
	if constexpr (std::is_same<T, __half>::value) TRIAD_WGMMA_WIDE_HALF("f16");
	else TRIAD_WGMMA_WIDE_HALF("bf16");
}

// multiply_any_fp8: d[64, 128] = a[64, 32] b[128, 32]^T, plus d if add, of 8-bit elements that lie along the reduction.
template <int32_t FormatA, int32_t FormatB> __device__ inline void multiply_any_fp8(float (&d)[16][4], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_ANY_FP8("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_ANY_FP8("e4m3.e5m2");
	else TRIAD_WGMMA_ANY_FP8("e4m3.e4m3");
}

#undef TRIAD_WGMMA_ANY_FP8
#undef TRIAD_WGMMA_WIDE_HALF
#undef TRIAD_WGMMA_192_HALF
#undef TRIAD_WGMMA_NARROW_HALF
#undef TRIAD_WGMMA_ANY_HALF
#undef TRIAD_WGMMA_ANY

} // namespace triad::hopper
#endif
#endif
