// wgmma_parts.cuh: what the products of int8_gemm on Hopper's tensor cores share. c^T = b^T a^T: wgmma's first operand is 64 columns of b, its second
// one rows of a. b lies along its rows, and wgmma takes bytes from shared memory only along the reduction; so b comes through registers, turned round
// on the way. A warp has 16 columns of b, and lane 4g + t of it columns 2g and 2g + 1: of c it then has both, in the rows that wgmma calls columns.
// Zero points: sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb; columns of b are added up in registers, rows of a from shared memory.
#ifndef TRIAD_INT8_GEMM_WGMMA_PARTS_CUH
#define TRIAD_INT8_GEMM_WGMMA_PARTS_CUH
#include "hopper/mma.cuh"
#include "hopper/tensor_map.cuh"
#include "hopper/wgmma_int8.cuh"
#include "quad.cuh"
#include "quantiser.cuh"
#include "reduce.cuh"

namespace triad {
namespace int8_gemm {

constexpr int depth = hopper::tile_row_bytes;         // of the reduction in a stage
constexpr int columns_wide = hopper::tile_row_bytes;  // columns of b in a stage
constexpr int warp_columns = hopper::chunk_bytes;     // of them a warp's
constexpr int products = depth / hopper::mma_k_bytes; // of a stage, one after the other
constexpr int ones = 0x01010101;                      // dp4a with it adds up the four values of a word

// Maps are both operands as the copy engine reads them: a in boxes of 128 of the reduction, b in boxes of 128 columns.
struct Maps {
	hopper::ByteMap a, b;

	__device__ void prefetch() const {
		hopper::prefetch_map(&a);
		hopper::prefetch_map(&b);
	}
	__device__ void copy(hopper::SharedAddress a_tile, hopper::SharedAddress b_tile, hopper::SharedAddress full, int row, int col, int k) const {
		hopper::copy_box(b_tile, &b, k, col, full);
		hopper::copy_box(a_tile, &a, row, k, full);
	}
};

// map_operands makes the maps, of boxes of so many rows of a: 0, or CUDA's error code. The stride of a single row is free in a tensor, not in a map.
inline int map_operands(Maps *maps, const triad_tensor &a, const triad_tensor &b, int box_rows) {
	const auto map = [](hopper::ByteMap *to, const triad_tensor &x, int rows) {
		return hopper::map_bytes(to, x.data, x.shape[0], x.shape[1], x.shape[0] == 1 ? x.shape[1] : x.stride[0], rows);
	};
	if (const int status = map(&maps->a, a, box_rows)) return status;
	return map(&maps->b, b, depth);
}

// Scaler does what Quantiser does, with one factor: fp32 rounds the sum, the factor and their product. What is held between the ends before it is
// rounded leaves room for a trick: the sum of it and 1.5 * 2^23 is rounded to an integer, whose low byte the number has as its own.
struct Scaler {
	float factor, low, high, zero_c;
	int zero_a, zero_b;

	explicit Scaler(const triad_call *call) {
		const Quantiser q(call);
		const double exact = static_cast<double>(q.scale_a) * q.scale_b / q.scale_c;
		factor = static_cast<float>(exact < 1e30 ? exact : 1e30); // 0 stays 0, and every other sum lies beyond the ends
		low = -128.0f - static_cast<float>(q.zero_c), high = 127.0f - static_cast<float>(q.zero_c), zero_c = static_cast<float>(q.zero_c);
		zero_a = q.zero_a, zero_b = q.zero_b;
	}

	// byte: the result is the low byte.
	__device__ uint32_t byte(int sum) const {
		const float held = fminf(fmaxf(static_cast<float>(sum) * factor, low), high);
		return static_cast<uint32_t>(__float_as_int((held + 0x1.8p23f) + zero_c));
	}
};

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
// WarpColumns are the 16 columns of b that a warp has, as the first operand of wgmma, and their sums.
struct WarpColumns {
	int sum[2] = {0, 0}; // of a lane's share of columns 2g and 2g + 1

	// load brings a stage of them from a tile of b [depth, 128], swizzled, where they are the chunk-th 16. ldmatrix's transposing form turns pairs of
	// bytes: it gives a lane two rows of columns 2g and 2g + 1. From two such registers, of the rows 4t to 4t + 3, one permutation of bytes makes the
	// even column and one the odd. In the lower half of a tile of 16 rows the first register has the rows 4t and 4t + 1, in the upper half 4t + 2 and
	// 4t + 3: so ldmatrix reads eight rows whose chunks the swizzle has put into different banks.
	__device__ void load(uint32_t (&a)[products][4], hopper::SharedAddress b_tile, int chunk) {
		const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8, line = lane % 8;
		const int row = matrix / 2 * 16 + line / 2 * 4 + line % 2 + (matrix % 2 != line / 4 ? 2 : 0);
		const bool swapped = lane % 4 >= 2;
		const uint32_t even = swapped ? 0x2064 : 0x6420, odd = swapped ? 0x3175 : 0x7531;
		const hopper::SharedAddress from = b_tile + hopper::swizzled(static_cast<uint32_t>(row), static_cast<uint32_t>(chunk) * warp_columns);
#pragma unroll
		for (int i = 0; i < products; i++) {
			uint32_t pairs[4];
			hopper::load_transposed(pairs, from + i * hopper::mma_k_bytes * hopper::tile_row_bytes);
#pragma unroll
			for (int half = 0; half < 2; half++) {
				a[i][2 * half] = __byte_perm(pairs[2 * half], pairs[2 * half + 1], even);
				a[i][2 * half + 1] = __byte_perm(pairs[2 * half], pairs[2 * half + 1], odd);
			}
		}
	}
	__device__ void add(const uint32_t (&a)[products][4]) {
#pragma unroll
		for (int i = 0; i < products; i++)
#pragma unroll
			for (int e = 0; e < 4; e++) sum[e % 2] = __dp4a(static_cast<int>(a[i][e]), ones, sum[e % 2]);
	}

	// terms: k za zb - za sum b of both columns, of so many of the reduction; sum is cleared.
	__device__ void terms(int (&to)[2], const Scaler &s, int k) {
#pragma unroll
		for (int e = 0; e < 2; e++) {
			const int whole = warp_reduce<4>(sum[e], [](int x, int y) { return x + y; });
			to[e] = k * s.zero_a * s.zero_b - s.zero_a * whole;
			sum[e] = 0;
		}
	}
};

// RowSums adds up rows of a tile of a [Rows, depth], swizzled, Threads / Rows threads each; they read different banks.
template <int Rows, int Threads> struct RowSums {
	static constexpr int lanes = Threads / Rows, chunks = depth / hopper::chunk_bytes / lanes;
	int sum = 0;

	__device__ void add(const unsigned char *a_tile, int thread) {
		const uint32_t row = static_cast<uint32_t>(thread / lanes);
#pragma unroll
		for (int i = 0; i < chunks; i++) {
			const uint32_t byte = static_cast<uint32_t>(thread % lanes * chunks + i) * hopper::chunk_bytes;
			const int4 four = *reinterpret_cast<const int4 *>(a_tile + hopper::swizzled(row, byte));
			sum = __dp4a(four.x, ones, __dp4a(four.y, ones, __dp4a(four.z, ones, __dp4a(four.w, ones, sum))));
		}
	}

	// share writes zb sum a of each row for all threads, which a barrier follows; sum is cleared.
	__device__ void share(int *to, const Scaler &s, int thread) {
		const int whole = warp_reduce<lanes>(sum, [](int x, int y) { return x + y; });
		if (thread % lanes == 0) to[thread / lanes] = s.zero_b * whole;
		sum = 0;
	}
};

// take_zeros takes the zero points off a thread's sums of 8 rows of c each: rows has what RowSums has shared, of the first one on, terms that of both
// columns.
template <int Eights> __device__ inline void take_zeros(int (&d)[Eights][4], const int *rows, const int (&terms)[2]) {
	const int t = static_cast<int>(threadIdx.x) % 4;
#pragma unroll
	for (int j = 0; j < Eights; j++) {
		const int2 of_rows = *reinterpret_cast<const int2 *>(rows + 8 * j + 2 * t);
#pragma unroll
		for (int e = 0; e < 4; e++) d[j][e] = d[j][e] - (e % 2 == 0 ? of_rows.x : of_rows.y) + terms[e / 2];
	}
}

// store_columns writes a thread's sums of 32 rows of c from row0 on and of the warp's 16 columns from col on: lanes exchange bytes until each has a row
// of all 16.
__device__ inline void store_columns(int8_t *c, int64_t m, int64_t n, const Scaler &s, const int (&y)[4][4], int64_t row0, int64_t col) {
	const int lane = static_cast<int>(threadIdx.x) % 32, t = lane % 4, g = lane / 4;
	uint32_t words[4];
#pragma unroll
	for (int j = 0; j < 4; j++) {
		const uint32_t first = __byte_perm(s.byte(y[j][0]), s.byte(y[j][2]), 0x0040), second = __byte_perm(s.byte(y[j][1]), s.byte(y[j][3]), 0x0040);
		const uint32_t own = __byte_perm(first, second, 0x5410); // row 2t, columns 2g and 2g + 1; row 2t + 1
		const uint32_t other = __shfl_xor_sync(0xffffffffu, own, 4);
		words[j] = g % 2 == 0 ? __byte_perm(own, other, 0x5410) : __byte_perm(other, own, 0x7632); // a row, four columns
	}
	transpose_quad<8>(words, g / 2);
	const int64_t row = row0 + 8 * (g / 2) + 2 * t + g % 2;
	if (row < m && col < n) *reinterpret_cast<uint4 *>(c + row * n + col) = make_uint4(words[0], words[1], words[2], words[3]);
}
#endif

} // namespace int8_gemm
} // namespace triad
#endif
