// wgmma.cuh: products of a warpgroup (4 warps, the first a multiple of 4) on Hopper's tensor cores. Both operands lie in shared memory as
// swizzle.cuh says; d[i] is the element that accumulator_row and accumulator_column name. Order of use, by all 128 threads together:
//   fence(); mma<...>(...); ...; commit(); wait<0>(d);     d may not be touched from the first mma to the wait
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_CUH
#define TRIAD_HOPPER_WGMMA_CUH
#include <cstdint>

#include "abi.h"
#include "hopper/wgmma_operands.cuh"

namespace triad::hopper {

// fence orders earlier accesses of the accumulators (and stores to shared memory that were fenced) before the products that follow.
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// wait until at most Pending committed groups are unfinished. The accumulators are named so that nothing that uses them moves before it.
template <int Pending> __device__ inline void wait(float (&d)[64]) {
	asm volatile("wgmma.wait_group.sync.aligned %64;" : TRIAD_FLAT_64(d) : "n"(Pending) : "memory");
}

template <int Pending> __device__ inline void wait(float (&d)[32]) {
	asm volatile("wgmma.wait_group.sync.aligned %32;" : TRIAD_FLAT_32(d) : "n"(Pending) : "memory");
}

#define TRIAD_WGMMA_FP8(shape, sums, a_at, b_at, add_at, formats)                                                                \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" add_at ", 0;\n"                                                         \
	             "wgmma.mma_async.sync.aligned." shape ".f32." formats " {" TRIAD_REGISTERS_##sums "}, "                            \
	             "%" a_at ", %" b_at ", add, 1, 1;\n}\n"                                                                            \
	             : TRIAD_FLAT_##sums(d)                                                                                             \
	             : "l"(a), "l"(b), "r"(add))
#define TRIAD_WGMMA_FP8_128(formats) TRIAD_WGMMA_FP8("m64n128k32", 64, "64", "65", "66", formats)
#define TRIAD_WGMMA_FP8_64(formats) TRIAD_WGMMA_FP8("m64n64k32", 32, "32", "33", "34", formats)

// mma_fp8: d[64, 128] = a[64, 32] b[128, 32]^T, plus d if add. a and b are descriptors.
template <int32_t FormatA, int32_t FormatB> __device__ inline void mma_fp8(float (&d)[64], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_FP8_128("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_FP8_128("e4m3.e5m2");
	else TRIAD_WGMMA_FP8_128("e4m3.e4m3");
}

// The same of 64 columns: d[64, 64] = a[64, 32] b[64, 32]^T, plus d if add.
template <int32_t FormatA, int32_t FormatB> __device__ inline void mma_fp8(float (&d)[32], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_FP8_64("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_FP8_64("e4m3.e5m2");
	else TRIAD_WGMMA_FP8_64("e4m3.e4m3");
}

#undef TRIAD_WGMMA_FP8_64
#undef TRIAD_WGMMA_FP8_128
#undef TRIAD_WGMMA_FP8

} // namespace triad::hopper
#endif
