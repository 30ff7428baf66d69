// mma.cuh: the warp's matrix product of 16-bit elements (mma.sync.m16n8k16, sm_80 and newer) and the loads that bring its operands from
// shared memory (ldmatrix). All 32 lanes take part. With g = lane / 4 and t = lane % 4 a lane holds
//   A[16, 16]  a[0]: row g, columns 2t, 2t+1   a[1]: row g+8   a[2]: row g, columns 2t+8, 2t+9   a[3]: row g+8, the same columns
//   B[16, 8]   b0: column g, rows 2t, 2t+1     b1: column g, rows 2t+8, 2t+9
//   D[16, 8]   d[0], d[1]: row g, columns 2t, 2t+1   d[2], d[3]: row g+8
// so that D, rounded to pairs of 16 bits, is A of the next product. With elements of int8 (mma.sync.m16n8k32) a register holds four of them where it
// holds two here: k = 4t to 4t+3, and from 16 on. Source: PTX ISA 8.8, sections 9.7.14.5.8, 9.7.14.5.10 and 9.7.14.5.15.
#ifndef TRIAD_HOPPER_MMA_CUH
#define TRIAD_HOPPER_MMA_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstring>

#include "hopper/shared_address.cuh"
#ifdef __CUEMU__
#include "cuemu/matrix.h"
#endif

namespace triad {
namespace hopper {

// load_matrices: lane 8 i + r points at row r of matrix i, 8 elements in 16 aligned bytes. r[i] is elements 2t, 2t+1 of row g of matrix i.
// load_transposed: the same, and r[i] is rows 2t, 2t+1 of column g of matrix i.
// Multiply<T>::add: D += A B with fp32 sums; of int8 with int32 sums, which wrap.
#ifdef __CUEMU__
template <class T> struct Multiply;

inline void load_matrices(uint32_t (&r)[4], SharedAddress row, CUEMU_HERE) { cuemu::load_matrices<false>(r, pointer_to(row), file, line); }
inline void load_transposed(uint32_t (&r)[4], SharedAddress row, CUEMU_HERE) { cuemu::load_matrices<true>(r, pointer_to(row), file, line); }

template <class Format> struct EmulatedMultiply {
	static void add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_HERE) {
		cuemu::multiply_add<Format>(d, a, b0, b1, file, line);
	}
};
template <> struct Multiply<__nv_bfloat16> : EmulatedMultiply<cuemu::Bfloat16> {};
template <> struct Multiply<__half> : EmulatedMultiply<cuemu::Half> {};
template <> struct Multiply<int8_t> {
	static void add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1, CUEMU_HERE) { cuemu::multiply_add(d, a, b0, b1, file, line); }
};
#else
__device__ inline void load_matrices(uint32_t (&r)[4], SharedAddress row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(row));
}

__device__ inline void load_transposed(uint32_t (&r)[4], SharedAddress row) {
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
	             : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
	             : "r"(row));
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <class T> struct Multiply { // never reached: the limit `capability` declines such GPUs
	template <class D> __device__ static void add(D (&)[4], const uint32_t (&)[4], uint32_t, uint32_t) { __trap(); }
};
#else
template <class T> struct Multiply;
template <> struct Multiply<__nv_bfloat16> {
	__device__ static void add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
		asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

template <> struct Multiply<__half> {
	__device__ static void add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
		asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};

template <> struct Multiply<int8_t> {
	__device__ static void add(int32_t (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
		asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
		    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
		    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
	}
};
#endif
#endif

__device__ inline uint32_t bits_of(__nv_bfloat162 v) {
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}
__device__ inline uint32_t bits_of(__half2 v) {
	uint32_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}
// pack_pair rounds two values to T, the first into the low half.
template <class T> __device__ inline uint32_t pack_pair(float low, float high);
template <> __device__ inline uint32_t pack_pair<__nv_bfloat16>(float low, float high) { return bits_of(__floats2bfloat162_rn(low, high)); }
template <> __device__ inline uint32_t pack_pair<__half>(float low, float high) { return bits_of(__floats2half2_rn(low, high)); }

} // namespace hopper
} // namespace triad
#endif
