// sm80_mma.cuh: int8_gemm on tensor cores (mma.sync.m16n8k32, sm_80 and newer), with int32 sums. A block of 4 warps takes 128 x 128 elements of c, a
// warp 64 x 64 of them; the tiles of three steps of 64 are copied (cp.async) beside the products of the fourth, as in hopper/mma_product.cuh.
// b lies along its rows, and a lane needs four values of a column. ldmatrix's transposing form turns pairs of bytes: it gives a lane two columns of
// rows k and k+1. From two such registers, of rows 4t, 4t+1 and of rows 4t+2, 4t+3, one permutation of bytes makes the even column and one the
// odd. So a pair of products has the even and the odd columns of 16, and a lane has four neighbours in c, which it stores as a word. The lines
// of the tile are ordered so that ldmatrix reads eight neighbours, which lie in different groups of banks.
// Zero points: sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb; the sums of rows and columns are taken from the products' operands.
#ifndef TRIAD_INT8_GEMM_SM80_MMA_CUH
#define TRIAD_INT8_GEMM_SM80_MMA_CUH
#include "quantiser.cuh"
#include "hopper/mma_product.cuh"
#include "reduce.cuh"

namespace triad {
namespace int8_gemm {

struct Mma {
	static constexpr int m = 128, n = 128, k = 64, stages = 4, threads = 128, warp_side = 64;
	using CopierA = hopper::TileCopier<int8_t, m, k, true, threads>;
	using CopierB = hopper::TileCopier<int8_t, k, n, false, threads>;
	using Tiles = hopper::CopiedTiles<CopierA, CopierB, stages>;
};

using Operand = hopper::MmaOperand<int8_t>;

// slot is where line k of a tile of b lies: those with k % 4 = 0 or 1 of 16 first, then the others.
__device__ inline int slot(int k) { return k / 16 * 16 + (k & 1) + (k & 12) / 2 + (k & 2) * 4; }

// Sums of a warp's part: of the products, and a lane's share of those of a's rows (8 i + lane / 4) and of b's columns (of each 16, 2 (lane / 4) and
// the next one).
struct Sums {
	static constexpr int eights = Mma::warp_side / 8;
	int product[eights / 2][eights][4] = {}, a[eights] = {}, b[eights] = {};

	// step adds the products of one pair of tiles.
	__device__ void step(hopper::SharedAddress a_tile, hopper::SharedAddress b_tile, int row, int col) {
		constexpr int ones = 0x01010101; // dp4a with it adds up the four values of a word
		const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
		for (int k = 0; k < Mma::k; k += 32) {
			uint32_t left[Mma::warp_side / 16][4], right[Mma::warp_side / 16][2][2];
#pragma unroll
			for (int i = 0; i < Mma::warp_side / 16; i++) {
				hopper::load_matrices(left[i], a_tile + (row + 16 * i + lane % 16) * Mma::CopierA::pitch + k + lane / 16 * 16);
#pragma unroll
				for (int e = 0; e < 4; e++) a[2 * i + e % 2] = __dp4a(static_cast<int>(left[i][e]), ones, a[2 * i + e % 2]);
			}
#pragma unroll
			for (int j = 0; j < Mma::warp_side / 16; j++) {
				uint32_t pairs[4];
				hopper::load_transposed(pairs, b_tile + (k + lane) * Mma::CopierB::pitch + col + 16 * j);
#pragma unroll
				for (int half = 0; half < 2; half++)
#pragma unroll
					for (int odd = 0; odd < 2; odd++) {
						right[j][odd][half] = __byte_perm(pairs[2 * half], pairs[2 * half + 1], odd ? 0x7531 : 0x6420);
						b[2 * j + odd] = __dp4a(static_cast<int>(right[j][odd][half]), ones, b[2 * j + odd]);
					}
			}
#pragma unroll
			for (int i = 0; i < Mma::warp_side / 16; i++)
#pragma unroll
				for (int j = 0; j < Mma::warp_side / 8; j++)
					hopper::Multiply<int8_t>::add(product[i][j], left[i], right[j / 2][j % 2][0], right[j / 2][j % 2][1]);
		}
	}

	// finish makes the sums of rows and columns whole: the four lanes of a row, or of a column, have a quarter each.
	__device__ void finish() {
		const auto add = [](int x, int y) { return x + y; };
#pragma unroll
		for (int i = 0; i < eights; i++) a[i] = warp_reduce<4>(a[i], add), b[i] = warp_reduce<4>(b[i], add);
	}
};

static __global__ void __launch_bounds__(Mma::threads, 2)
    sm80_mma_kernel(Operand a, Operand b, int8_t *c, int64_t m, int64_t n, int k, Quantiser q) {
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t across = (n + Mma::n - 1) / Mma::n, row0 = blockIdx.x / across * Mma::m, col0 = blockIdx.x % across * Mma::n;
	const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
	const int row = warp / 2 * Mma::warp_side, col = warp % 2 * Mma::warp_side;
	Sums sums;
	Mma::Tiles::each_step(mma_tiles, {a, row0, m, k}, {b, col0, n, k, slot}, (k + Mma::k - 1) / Mma::k,
	                      [&](hopper::SharedAddress of_a, hopper::SharedAddress of_b) { sums.step(of_a, of_b, row, col); });
	sums.finish();
#pragma unroll
	for (int j = 0; j < Mma::warp_side / 16; j++) {
		int of_col[4]; // columns 4t to 4t+3, whose sums lanes 8t (even, odd) and 8t+4 have
#pragma unroll
		for (int e = 0; e < 4; e++) of_col[e] = __shfl_sync(0xffffffffu, sums.b[2 * j + e % 2], lane % 4 * 8 + e / 2 * 4);
#pragma unroll
		for (int i = 0; i < Sums::eights; i++) {
			const int64_t r = row0 + row + 8 * i + lane / 4, at = col0 + col + 16 * j + lane % 4 * 4;
			if (r >= m || at >= n) continue;
			uint32_t word = 0;
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int ab = sums.product[i / 2][2 * j + e % 2][i % 2 * 2 + e / 2];
				word |= static_cast<uint32_t>(static_cast<uint8_t>(q.of_sums(ab, sums.a[i], of_col[e], k))) << (8 * e);
			}
			*reinterpret_cast<uint32_t *>(c + r * n + at) = word;
		}
	}
}

inline int sm80_mma(const triad_call *call) {
	const triad_tensor &a = call->in[0], &b = call->in[1], &c = call->out[0];
	const int64_t m = c.shape[0], n = c.shape[1], blocks = (m + Mma::m - 1) / Mma::m * ((n + Mma::n - 1) / Mma::n);
	if (blocks == 0) return TRIAD_OK;
	if (const int status = Mma::Tiles::allow(sm80_mma_kernel)) return status;
	const Operand of_a = {static_cast<const int8_t *>(a.data), a.stride[0], 1}, of_b = {static_cast<const int8_t *>(b.data), 1, b.stride[0]};
	sm80_mma_kernel<<<static_cast<unsigned>(blocks), Mma::threads, Mma::Tiles::bytes, stream_of(call)>>>(
	    of_a, of_b, static_cast<int8_t *>(c.data), m, n, static_cast<int>(a.shape[1]), Quantiser(call));
	return launched();
}

} // namespace int8_gemm
} // namespace triad
#endif
