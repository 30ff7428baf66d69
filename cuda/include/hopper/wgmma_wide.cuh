// wgmma_wide.cuh: products of a warpgroup of 64 x 256 elements on Hopper's tensor cores, of 16-bit or 8-bit operands. Both operands lie in shared memory: see swizzle.cuh, and
// across_descriptor of wgmma_half.cuh. d[n][e] and the order of use are those of wgmma_half.cuh. Half as wide, twice as many reads of a.
// Source   PTX ISA 9.0, "Asynchronous Warpgroup Level Matrix Instructions"
#ifndef TRIAD_HOPPER_WGMMA_WIDE_CUH
#define TRIAD_HOPPER_WGMMA_WIDE_CUH
#include <type_traits>

#include "abi.h"
#include "hopper/wgmma_half.cuh"

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
namespace triad::hopper {

// clang-format off
#define TRIAD_SUMS_256 \
	"+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]), "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]), \
	"+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]), "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]), \
	"+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]), "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]), \
	"+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]), "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3]), \
	"+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]), "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]), \
	"+f"(d[10][0]), "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]), "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]), \
	"+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]), "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]), \
	"+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]), "+f"(d[15][0]), "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3]), \
	"+f"(d[16][0]), "+f"(d[16][1]), "+f"(d[16][2]), "+f"(d[16][3]), "+f"(d[17][0]), "+f"(d[17][1]), "+f"(d[17][2]), "+f"(d[17][3]), \
	"+f"(d[18][0]), "+f"(d[18][1]), "+f"(d[18][2]), "+f"(d[18][3]), "+f"(d[19][0]), "+f"(d[19][1]), "+f"(d[19][2]), "+f"(d[19][3]), \
	"+f"(d[20][0]), "+f"(d[20][1]), "+f"(d[20][2]), "+f"(d[20][3]), "+f"(d[21][0]), "+f"(d[21][1]), "+f"(d[21][2]), "+f"(d[21][3]), \
	"+f"(d[22][0]), "+f"(d[22][1]), "+f"(d[22][2]), "+f"(d[22][3]), "+f"(d[23][0]), "+f"(d[23][1]), "+f"(d[23][2]), "+f"(d[23][3]), \
	"+f"(d[24][0]), "+f"(d[24][1]), "+f"(d[24][2]), "+f"(d[24][3]), "+f"(d[25][0]), "+f"(d[25][1]), "+f"(d[25][2]), "+f"(d[25][3]), \
	"+f"(d[26][0]), "+f"(d[26][1]), "+f"(d[26][2]), "+f"(d[26][3]), "+f"(d[27][0]), "+f"(d[27][1]), "+f"(d[27][2]), "+f"(d[27][3]), \
	"+f"(d[28][0]), "+f"(d[28][1]), "+f"(d[28][2]), "+f"(d[28][3]), "+f"(d[29][0]), "+f"(d[29][1]), "+f"(d[29][2]), "+f"(d[29][3]), \
	"+f"(d[30][0]), "+f"(d[30][1]), "+f"(d[30][2]), "+f"(d[30][3]), "+f"(d[31][0]), "+f"(d[31][1]), "+f"(d[31][2]), "+f"(d[31][3])
// What stands in the instruction: its shape and types, and flags after `add`, whose operands follow.
#define TRIAD_WGMMA_256(shape, flags, ...) \
	asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %130, 0;\nwgmma.mma_async.sync.aligned." shape " " \
	             "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
	             "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
	             "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
	             "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, " \
	             "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
	             "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, " \
	             "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
	             "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127}, " \
	             "%128, %129, add, 1, 1" flags ";\n}" \
	             : TRIAD_SUMS_256 \
	             : "l"(a), "l"(b), "r"(add)__VA_ARGS__)
#define TRIAD_WGMMA_256_HALF(type) TRIAD_WGMMA_256("m64n256k16.f32." type "." type, ", %131, %132", , "n"(AcrossA), "n"(AcrossB))
#define TRIAD_WGMMA_256_FP8(types) TRIAD_WGMMA_256("m64n256k32.f32." types, "")
// clang-format on

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
#undef TRIAD_SUMS_256

} // namespace triad::hopper
#endif
#endif
