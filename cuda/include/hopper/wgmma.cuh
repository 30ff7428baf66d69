// wgmma.cuh: products of a warpgroup (4 warps, the first a multiple of 4) on Hopper's tensor cores. Both operands lie in shared memory as
// swizzle.cuh says; d[i] is the element that accumulator_row and accumulator_column name. Order of use, by all 128 threads together:
//   fence(); mma<...>(...); ...; commit(); wait<0>(d);     d may not be touched from the first mma to the wait
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_CUH
#define TRIAD_HOPPER_WGMMA_CUH
#include <cstdint>

#include "abi.h"

namespace triad::hopper {

// clang-format off
#define TRIAD_WGMMA_64(d)                                                                                                       \
	"+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),                             \
	"+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),                       \
	"+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),                     \
	"+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),                     \
	"+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),                     \
	"+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),                     \
	"+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),                     \
	"+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define TRIAD_WGMMA_32(d) \
	"+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
	"+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
	"+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
	"+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
// clang-format on

// fence orders earlier accesses of the accumulators (and stores to shared memory that were fenced) before the products that follow.
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }

__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// wait until at most Pending committed groups are unfinished. The accumulators are named so that nothing that uses them moves before it.
template <int Pending> __device__ inline void wait(float (&d)[64]) {
	asm volatile("wgmma.wait_group.sync.aligned %64;" : TRIAD_WGMMA_64(d) : "n"(Pending) : "memory");
}

template <int Pending> __device__ inline void wait(float (&d)[32]) {
	asm volatile("wgmma.wait_group.sync.aligned %32;" : TRIAD_WGMMA_32(d) : "n"(Pending) : "memory");
}

#define TRIAD_WGMMA_FP8(formats)                                                                                                \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %66, 0;\n"                                                               \
	             "wgmma.mma_async.sync.aligned.m64n128k32.f32." formats " {"                                                    \
	             "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                       \
	             "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "                             \
	             "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "                             \
	             "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "                            \
	             "%64, %65, add, 1, 1;\n}\n"                                                                                    \
	             : TRIAD_WGMMA_64(d)                                                                                            \
	             : "l"(a), "l"(b), "r"(add))

// mma_fp8: d[64, 128] = a[64, 32] b[128, 32]^T, plus d if add. a and b are descriptors.
template <int32_t FormatA, int32_t FormatB> __device__ inline void mma_fp8(float (&d)[64], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_FP8("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_FP8("e4m3.e5m2");
	else TRIAD_WGMMA_FP8("e4m3.e4m3");
}

#define TRIAD_WGMMA_FP8_64(formats)                                                                                             \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %34, 0;\n"                                                               \
	             "wgmma.mma_async.sync.aligned.m64n64k32.f32." formats " {"                                                     \
	             "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                                       \
	             "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "                            \
	             "%32, %33, add, 1, 1;\n}\n"                                                                                    \
	             : TRIAD_WGMMA_32(d)                                                                                            \
	             : "l"(a), "l"(b), "r"(add))

// The same of 64 columns: d[64, 64] = a[64, 32] b[64, 32]^T, plus d if add.
template <int32_t FormatA, int32_t FormatB> __device__ inline void mma_fp8(float (&d)[32], uint64_t a, uint64_t b, int add) {
	if constexpr (FormatA == TRIAD_E5M2) TRIAD_WGMMA_FP8_64("e5m2.e4m3");
	else if constexpr (FormatB == TRIAD_E5M2) TRIAD_WGMMA_FP8_64("e4m3.e5m2");
	else TRIAD_WGMMA_FP8_64("e4m3.e4m3");
}

#undef TRIAD_WGMMA_FP8_64
#undef TRIAD_WGMMA_32
#undef TRIAD_WGMMA_FP8
#undef TRIAD_WGMMA_64

} // namespace triad::hopper
#endif
