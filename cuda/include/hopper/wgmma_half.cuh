// wgmma_half.cuh: products of a warpgroup on Hopper's tensor cores with elements of 16 bits. d[n][e] of a lane of warp w is what d[e] of mma.cuh
// is for rows 16 w .. 16 w + 16 and columns 8 n .. 8 n + 8 of the product; an operand a in registers is distributed as a of mma.cuh. So sums,
// rounded, are the operand of the next product. The order of use is that of wgmma.cuh, with wait_for and then changed(d) of each d in place of wait.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_HALF_CUH
#define TRIAD_HOPPER_WGMMA_HALF_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "hopper/swizzle.cuh"
#include "hopper/wgmma.cuh"
#include "hopper/wgmma_operands.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace triad::hopper {

// across_descriptor describes a tile that is read across its rows, which lie along the reduction: b[16, N] of rows that hold N columns, 64
// in each panel. The leading offset is from one panel to the next, the other one from eight rows to the next eight.
__device__ inline uint64_t across_descriptor(uint32_t address, uint32_t panel_bytes) {
	constexpr uint64_t group = 8 * tile_row_bytes / 16, swizzle_128 = 1;
	return (address >> 4 & 0x3FFFu) | static_cast<uint64_t>(panel_bytes >> 4 & 0x3FFFu) << 16 | group << 32 | swizzle_128 << 62;
}

// wait_for: at most Pending committed groups are unfinished.
template <int Pending> __device__ inline void wait_for() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory"); }

// wait_after: wait_for, once a and b, sums of what is not negative, are there. Without it ptxas moves the exponentials that are to run beside a
// product behind the wait for it; the branch that is never taken holds them back.
template <int Pending> __device__ inline void wait_after(float a, float b) {
	asm volatile("{\n.reg .pred never;\n.reg .f32 sum;\n.reg .b32 bits;\nadd.f32 sum, %1, %2;\nmov.b32 bits, sum;\n"
	             "setp.eq.b32 never, bits, 0x7FC12345;\n@never exit;\n"
	             "wgmma.wait_group.sync.aligned %0;\n}" ::"n"(Pending), "f"(a), "f"(b)
	             : "memory");
}

// changed tells the compiler that d has its values from here on, so that nothing that uses them moves before the wait.
template <int Eights> __device__ inline void changed(float (&d)[Eights][4]) {
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++) asm volatile("" : "+f"(d[n][e])::"memory");
}
template <int Eights> __device__ inline void changed(int32_t (&d)[Eights][4]) {
#pragma unroll
	for (int n = 0; n < Eights; n++)
#pragma unroll
		for (int e = 0; e < 4; e++) asm volatile("" : "+r"(d[n][e])::"memory");
}

// Both operands in shared memory, along the reduction or across it; a in registers, b across it. Places are of what follows the sums.
#define TRIAD_WGMMA_SHARED(shape, sums, a_at, b_at, add_at, across, type)                                                                 \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" add_at ", 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." type " "    \
	             "{" TRIAD_REGISTERS_##sums "}, %" a_at ", %" b_at ", add, 1, 1, " across ", " across ";\n}"                             \
	             : TRIAD_EIGHTS_##sums(d)                                                                                                 \
	             : "l"(a), "l"(b), "r"(add))
#define TRIAD_WGMMA_REGISTERS(shape, sums, a_at, b_at, type)                                                                              \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, 1, 0;\nwgmma.mma_async.sync.aligned." shape ".f32." type "." type " "            \
	             "{" TRIAD_REGISTERS_##sums "}, {" a_at "}, %" b_at ", add, 1, 1, 1;\n}"                                                 \
	             : TRIAD_EIGHTS_##sums(d)                                                                                                 \
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))
#define TRIAD_WGMMA_SHARED_32(across, type) TRIAD_WGMMA_SHARED("m64n32k16", 16, "16", "17", "18", across, type)
#define TRIAD_WGMMA_SHARED_64(across, type) TRIAD_WGMMA_SHARED("m64n64k16", 32, "32", "33", "34", across, type)
#define TRIAD_WGMMA_SHARED_128(across, type) TRIAD_WGMMA_SHARED("m64n128k16", 64, "64", "65", "66", across, type)
#define TRIAD_WGMMA_REGISTERS_64(type) TRIAD_WGMMA_REGISTERS("m64n64k16", 32, "%32, %33, %34, %35", "36", type)
#define TRIAD_WGMMA_REGISTERS_128(type) TRIAD_WGMMA_REGISTERS("m64n128k16", 64, "%64, %65, %66, %67", "68", type)
#define TRIAD_WGMMA_REGISTERS_256(type) TRIAD_WGMMA_REGISTERS("m64n256k16", 128, "%128, %129, %130, %131", "132", type)

// WarpgroupMultiply<T>: shared: d = a b^T of a[64, 16] and b[N, 16], plus d if add; both by descriptors of tiles whose rows lie along the
// reduction. registers: d += a b, b[16, N] by an across_descriptor. across: d = a^T b of a[16, 64] and b[16, N], plus d if add; both so.
template <class T> struct WarpgroupMultiply;

#define TRIAD_WARPGROUP_MULTIPLY(T, type)                                                                                                 \
	template <> struct WarpgroupMultiply<T> {                                                                                             \
		__device__ static void shared(float (&d)[16][4], uint64_t a, uint64_t b, int add) { TRIAD_WGMMA_SHARED_128("0", type); }          \
		__device__ static void shared(float (&d)[8][4], uint64_t a, uint64_t b, int add) { TRIAD_WGMMA_SHARED_64("0", type); }            \
		__device__ static void shared(float (&d)[4][4], uint64_t a, uint64_t b, int add) { TRIAD_WGMMA_SHARED_32("0", type); }            \
		__device__ static void registers(float (&d)[32][4], const uint32_t (&a)[4], uint64_t b) { TRIAD_WGMMA_REGISTERS_256(type); }      \
		__device__ static void registers(float (&d)[16][4], const uint32_t (&a)[4], uint64_t b) { TRIAD_WGMMA_REGISTERS_128(type); }      \
		__device__ static void registers(float (&d)[8][4], const uint32_t (&a)[4], uint64_t b) { TRIAD_WGMMA_REGISTERS_64(type); }        \
		__device__ static void across(float (&d)[8][4], uint64_t a, uint64_t b, int add) { TRIAD_WGMMA_SHARED_64("1", type); }            \
		__device__ static void across(float (&d)[4][4], uint64_t a, uint64_t b, int add) { TRIAD_WGMMA_SHARED_32("1", type); }            \
	};
TRIAD_WARPGROUP_MULTIPLY(__nv_bfloat16, "bf16")
TRIAD_WARPGROUP_MULTIPLY(__half, "f16")
#undef TRIAD_WARPGROUP_MULTIPLY
#undef TRIAD_WGMMA_REGISTERS_256
#undef TRIAD_WGMMA_REGISTERS_128
#undef TRIAD_WGMMA_REGISTERS_64
#undef TRIAD_WGMMA_SHARED_128
#undef TRIAD_WGMMA_SHARED_64
#undef TRIAD_WGMMA_SHARED_32
#undef TRIAD_WGMMA_REGISTERS
#undef TRIAD_WGMMA_SHARED

} // namespace triad::hopper
#endif
#endif
