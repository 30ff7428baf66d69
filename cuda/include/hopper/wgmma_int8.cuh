// wgmma_int8.cuh: products of a warpgroup on Hopper's tensor cores with elements of int8 and sums of int32, which wrap. The operand a comes from
// registers: a[0] holds k = 4t to 4t+3 of row g of the warp's 16, a[1] of row g+8, a[2] and a[3] the same from k = 16 on (g = lane / 4, t = lane % 4).
// b lies in shared memory along the reduction, see swizzle.cuh. d[n][e] and the order of use are those of wgmma_half.cuh.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_INT8_CUH
#define TRIAD_HOPPER_WGMMA_INT8_CUH
#include <cstdint>

#include "hopper/wgmma_half.cuh"
#include "hopper/wgmma_operands.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace triad::hopper {

#define TRIAD_WGMMA_INT8(sums, shape, a_at, b_at, add_at)                                                                            \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #add_at ", 0;\n"                                                              \
	             "wgmma.mma_async.sync.aligned." shape ".s32.s8.s8 {" TRIAD_REGISTERS_##sums "}, {" a_at "}, %" #b_at ", add;\n}"         \
	             : TRIAD_INTEGERS_##sums(d)                                                                                              \
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add))

// multiply_int8: d[64, 256] = a[64, 32] b[256, 32]^T, plus d if add.
__device__ inline void multiply_int8(int32_t (&d)[32][4], const uint32_t (&a)[4], uint64_t b, int add) {
	TRIAD_WGMMA_INT8(128, "m64n256k32", "%128, %129, %130, %131", 132, 133);
}

// The same of d[64, 64] and b[64, 32].
__device__ inline void multiply_int8(int32_t (&d)[8][4], const uint32_t (&a)[4], uint64_t b, int add) {
	TRIAD_WGMMA_INT8(32, "m64n64k32", "%32, %33, %34, %35", 36, 37);
}

#undef TRIAD_WGMMA_INT8

} // namespace triad::hopper
#endif
#endif
