// wgmma_wide.cuh: products of a warpgroup of 64 x 256 elements on Hopper's tensor cores, of 16-bit or 8-bit operands. Both operands lie in shared memory: see swizzle.cuh, and
// across_descriptor of wgmma_half.cuh. d[n][e] and the order of use are those of wgmma_half.cuh. Half as wide, twice as many reads of a.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_WIDE_CUH
#define TRIAD_HOPPER_WGMMA_WIDE_CUH
#include <type_traits>

#include "abi.h"
#include "hopper/wgmma_half.cuh"
#include "hopper/wgmma_operands.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace triad::hopper {

// What stands in the instruction: its shape and types, and flags after `add`, whose operands follow.
#define TRIAD_WGMMA_256(shape, flags, ...)                                                                                              \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\nwgmma.mma_async.sync.aligned." shape " "                              \
	             "{" TRIAD_REGISTERS_128 "}, %128, %129, add, 1, 1" flags ";\n}"                                                       \
	             : TRIAD_EIGHTS_128(d)                                                                                                  \
	             : "l"(a), "l"(b), "r"(add)__VA_ARGS__)
#define TRIAD_WGMMA_256_HALF(type) TRIAD_WGMMA_256("m64n256k16.f32." type "." type, ", %131, %132", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_256_FP8(types) TRIAD_WGMMA_256("m64n256k32.f32." types, "")

// multiply_wide: d[64, 256] = a[64, 16] b[256, 16]^T, plus d if add, of 16-bit elements. 1 for an operand that lies across the reduction.
template <class T, int AcrossA, int AcrossB> __device__ inline void multiply_wide(float (&d)[32][4], uint64_t a, uint64_t b, int add) {
	if constexpr (std::is_same<T, __half>::value) TRIAD_WGMMA_256_HALF("f16");
	else TRIAD_WGMMA_256_HALF("bf16");
}

// multiply_wide_fp8: d[64, 256] = a[64, 32] b[256, 32]^T, plus d if add, of 8-bit elements that lie along the reduction.
template <int32_t FormatA, int32_t FormatB> __device__ inline void multiply_wide_fp8(float (&d)[32][4], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_256_FP8("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_256_FP8("e4m3.e5m2");
	else TRIAD_WGMMA_256_FP8("e4m3.e4m3");
}

#undef TRIAD_WGMMA_256_FP8
#undef TRIAD_WGMMA_256_HALF
#undef TRIAD_WGMMA_256

} // namespace triad::hopper
#endif
#endif
