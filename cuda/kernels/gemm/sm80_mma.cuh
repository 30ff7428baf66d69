// sm80_mma.cuh: gemm of 16-bit operands on tensor cores (mma.sync.m16n8k16, sm_80 and newer), with fp32 sums. A block of 8 warps takes 128 x 128
// elements of y, a warp 64 x 32 of them; the tiles of the next step are copied beside the products of this one (cp.async).
// An operand lies in memory along k or along its rows, and so does its tile: what comes out of shared memory turned round, comes through
// ldmatrix's transposing form, at no cost. Rows of a tile are 16 bytes longer than they need: then the eight rows that ldmatrix reads at once
// lie in eight different groups of banks.
#ifndef TRIAD_GEMM_SM80_MMA_CUH
#define TRIAD_GEMM_SM80_MMA_CUH
#include "product.cuh"
#include "hopper/async_copy.cuh"
#include "hopper/mma.cuh"

namespace triad {
namespace gemm {

struct Mma {
	static constexpr int m = 128, n = 128, k = 32, threads = 256, warp_m = 64, warp_n = 32;
	static constexpr int chunk = 8; // elements of 16 bytes
};

// MmaTile is one step of an operand: Rows of it, Mma::k of the reduction, in lines along the dim that is contiguous in memory.
template <int Rows, bool AlongK> struct MmaTile {
	static constexpr int lines = AlongK ? Rows : Mma::k, length = AlongK ? Mma::k : Rows, pitch = (length + Mma::chunk) * 2;
	static constexpr int bytes = lines * pitch;

	// copy starts the copies of a tile; what lies beyond the operand becomes zero. Chunks lie within it or beyond it as a whole.
	template <class T>
	__device__ static void copy(hopper::AsyncCopies &copies, hopper::SharedAddress tile, const Operand<T> &x, int64_t row0, int64_t rows, int64_t k0,
	                            int64_t depth) {
		constexpr int per_line = length / Mma::chunk;
#pragma unroll
		for (int i = static_cast<int>(threadIdx.x); i < lines * per_line; i += Mma::threads) {
			const int line = i / per_line, at = i % per_line * Mma::chunk;
			const int64_t row = row0 + (AlongK ? line : at), k = k0 + (AlongK ? at : line);
			const bool valid = row < rows && k < depth;
			copies.copy16(tile + line * pitch + at * 2, valid ? x.data + row * x.row_stride + k * x.k_stride : x.data, valid);
		}
	}

	// load reads 16 rows from row on and 16 of k from k on as the four 8 x 8 matrices of an operand: in the order of A (rows first), or of B, where
	// the two of eight rows follow each other.
	template <bool RowsFirst> __device__ static void load(uint32_t (&r)[4], hopper::SharedAddress tile, int row, int k) {
		const int lane = static_cast<int>(threadIdx.x) % 32;
		const int low = lane % 16, high = lane / 16, eight = lane / 16 * 8 + lane % 8, pair = lane / 8 % 2;
		if constexpr (AlongK) {
			const int line = row + (RowsFirst ? low : eight), at = k + (RowsFirst ? high : pair) * 8;
			hopper::load_matrices(r, tile + line * pitch + at * 2);
		} else {
			const int line = k + (RowsFirst ? eight : low), at = row + (RowsFirst ? pair : high) * 8;
			hopper::load_transposed(r, tile + line * pitch + at * 2);
		}
	}
};

// step adds the products of one pair of tiles to a warp's sums.
template <class T, class TileA, class TileB>
__device__ inline void mma_step(float (&sum)[Mma::warp_m / 16][Mma::warp_n / 8][4], hopper::SharedAddress a, hopper::SharedAddress b, int row,
                                int col) {
#pragma unroll
	for (int k = 0; k < Mma::k; k += 16) {
		uint32_t left[Mma::warp_m / 16][4], right[Mma::warp_n / 16][4];
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++) TileA::template load<true>(left[i], a, row + 16 * i, k);
#pragma unroll
		for (int j = 0; j < Mma::warp_n / 16; j++) TileB::template load<false>(right[j], b, col + 16 * j, k);
#pragma unroll
		for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
			for (int j = 0; j < Mma::warp_n / 8; j++)
				hopper::Multiply<T>::add(sum[i][j], left[i], right[j / 2][j % 2 * 2], right[j / 2][j % 2 * 2 + 1]);
	}
}

template <class T, bool AlongKA, bool AlongKB> __global__ void __launch_bounds__(Mma::threads) sm80_mma_kernel(Product<T> p) {
	using TileA = MmaTile<Mma::m, AlongKA>;
	using TileB = MmaTile<Mma::n, AlongKB>;
	__shared__ __align__(16) unsigned char tiles[2 * (TileA::bytes + TileB::bytes)];
	const hopper::SharedAddress shared = hopper::shared_address(tiles);
	const int64_t across = (p.n + Mma::n - 1) / Mma::n, down = (p.m + Mma::m - 1) / Mma::m;
	const int64_t matrix = blockIdx.x / (across * down), row0 = blockIdx.x / across % down * Mma::m, col0 = blockIdx.x % across * Mma::n;
	const Operand<T> a = p.a.matrix(matrix), b = p.b.matrix(matrix);
	const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
	const int row = warp / 4 * Mma::warp_m, col = warp % 4 * Mma::warp_n;
	const int64_t steps = (p.k + Mma::k - 1) / Mma::k;
	float sum[Mma::warp_m / 16][Mma::warp_n / 8][4] = {};
	hopper::AsyncCopies copies;
	const auto fetch = [&](int64_t step) {
		const hopper::SharedAddress to = shared + static_cast<int>(step % 2) * (TileA::bytes + TileB::bytes);
		TileA::copy(copies, to, a, row0, p.m, step * Mma::k, p.k);
		TileB::copy(copies, to + TileA::bytes, b, col0, p.n, step * Mma::k, p.k);
		copies.commit();
	};
	if (steps > 0) fetch(0);
	for (int64_t step = 0; step < steps; step++) {
		if (step + 1 < steps) {
			fetch(step + 1);
			copies.template wait<1>();
		} else {
			copies.template wait<0>();
		}
		__syncthreads(); // the tiles are whole
		const hopper::SharedAddress from = shared + static_cast<int>(step % 2) * (TileA::bytes + TileB::bytes);
		mma_step<T, TileA, TileB>(sum, from, from + TileA::bytes, row, col);
		__syncthreads(); // the next step's copies may overwrite them
	}
#pragma unroll
	for (int i = 0; i < Mma::warp_m / 16; i++)
#pragma unroll
		for (int j = 0; j < Mma::warp_n / 8; j++)
#pragma unroll
			for (int e = 0; e < 4; e++) {
				const int64_t r = row0 + row + 16 * i + lane / 4 + e / 2 * 8, c = col0 + col + 8 * j + lane % 4 * 2 + e % 2;
				if (r < p.m && c < p.n) p.store(matrix, r, c, sum[i][j][e]);
			}
}

// lies_along_k says which dim of an operand is contiguous; the stride of a dim of one element says nothing.
template <class T> bool lies_along_k(const Operand<T> &x, int64_t k) { return x.k_stride == 1 && k % Mma::chunk == 0; }

template <class T> int sm80_mma(const triad_call *call) {
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		const unsigned blocks = static_cast<unsigned>(p.batch * ceil_div(p.m, Mma::m) * ceil_div(p.n, Mma::n));
		const bool a = lies_along_k(p.a, p.k), b = lies_along_k(p.b, p.k);
		void (*const kernel)(Product<T>) = a ? (b ? sm80_mma_kernel<T, true, true> : sm80_mma_kernel<T, true, false>)
		                                     : (b ? sm80_mma_kernel<T, false, true> : sm80_mma_kernel<T, false, false>);
		kernel<<<blocks, Mma::threads, 0, stream>>>(p);
		return launched();
	});
}

} // namespace gemm
} // namespace triad
#endif
