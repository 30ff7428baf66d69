// grouped_gemm: y[t,j] = sum_k x[t,k] w[g,k,j] for offsets[g] <= t < offsets[g+1]
// backward: of each group grad_x = grad_y w^T, grad_w = x^T grad_y
// Layout   x [tokens, k], w [groups, k, n], offsets [groups + 1] int64, rising from 0 to tokens; y [tokens, n], contiguous. fp32, fp16, bf16;
//          inputs may have any strides.
// Numerics products and sums in fp32 (IEEE, not tf32), rounded once.
// Limits   groups may be empty, and one may have every row; k = 0 gives zeros, and so does grad_w of an empty group.
// Source   Gale et al. 2023, MegaBlocks: Efficient Sparse Training with Mixture-of-Experts
// All three products are one kernel: y, and grad_x with w read the other way, cut the rows of the output at the offsets; grad_w cuts the sum.
//   naive       a thread an element; it searches the group of its row among the offsets. Costs: the search,
//               and a warp whose elements read x and w anew for every product
//   tiled       tiles of 32 x 32 of both operands in shared memory. The host does not know the offsets, so it
//               launches as many blocks as the worst ones need: each walks along the offsets to the tile that
//               is its own, and the last ones find none. A tile never crosses groups. Costs: shared memory,
//               two barriers a step, and blocks without a tile
//   persistent  4 x 4 elements a thread in tiles of 64 x 64, and as many blocks as the GPU holds at once: each takes every so-manieth tile of all
//               groups, so that it walks along the offsets once. Costs: registers, and tiles that small groups leave mostly empty
//   sm80_mma    fp16 and bf16 on tensor cores, 128 x 128 elements a block, copies beside the products; hopper/mma_product.cuh says how. A
//               warp looks at 32 groups at once for its tile. Costs: a newer GPU, and inputs whose rows are whole vectors of 16 bytes
//   sm90_tma    wgmma of tiles of 128 x 256 that the copy engine brings, in clusters of two blocks that share an operand; see
//               grouped_gemm/sm90_tma.cuh. Costs: a GPU of 9.0
#include <algorithm>

#include "arguments.cuh"
#include "capability.cuh"
#include "element.cuh"
#include "group_walk.cuh"
#include "grouped_gemm/product.cuh"
#include "grouped_gemm/sm90_tma.cuh"
#include "hopper/mma_product.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/grouped_gemm.cuh"

namespace {

using triad::from_float;
using triad::grouped_gemm::Group;
using triad::grouped_gemm::Matrix;
using triad::grouped_gemm::Product;
using triad::grouped_gemm::each_product;
using triad::grouped_gemm::most_tiles;
using triad::to_float;

constexpr int threads = 256;

// ---- naive --------------------------------------------------------------------------------------------------------------------------------

template <class T> __global__ void grouped_gemm_naive_kernel(Product<T> p, int64_t all) {
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < all; i += gridDim.x * static_cast<int64_t>(blockDim.x)) {
		const int64_t row = i / p.cols, col = i % p.cols;
		int64_t g = 0;
		if (p.by_depth) {
			g = row / p.rows;
		} else { // the last group that does not begin after the row: those before it at the same place are empty
			for (int64_t high = p.groups - 1; g < high;) {
				const int64_t middle = g + (high - g + 1) / 2;
				if (p.begins(middle) <= row) g = middle;
				else high = middle - 1;
			}
		}
		const Group<T> of = p.group(g);
		const int64_t own = p.by_depth ? row % p.rows : row - p.begins(g);
		float sum = 0;
		for (int64_t k = 0; k < of.depth; k++) sum += of.a(own, k) * of.b(col, k);
		of.y[own * p.cols + col] = from_float<T>(sum);
	}
}

// ---- tiled --------------------------------------------------------------------------------------------------------------------------------

constexpr int tile = 32;

template <class T> __global__ void __launch_bounds__(tile * tile) grouped_gemm_tiled_kernel(Product<T> p) {
	__shared__ float a_tile[tile][tile], b_tile[tile][tile]; // [row][k], [k][column]
	triad::GroupWalk<tile, tile> walk = {};
	if (!walk.seek(p, blockIdx.x)) return; // the whole block
	const Group<T> of = p.group(walk.group);
	const int64_t across = (p.cols + tile - 1) / tile, own = blockIdx.x - walk.before;
	const int x = static_cast<int>(threadIdx.x) % tile, y = static_cast<int>(threadIdx.x) / tile;
	const int64_t row = own / across * tile + y, col = own % across * tile + x;
	float sum = 0;
	for (int64_t k0 = 0; k0 < of.depth; k0 += tile) {
		a_tile[y][x] = row < of.rows && k0 + x < of.depth ? of.a(row, k0 + x) : 0.0f;
		b_tile[y][x] = col < p.cols && k0 + y < of.depth ? of.b(col, k0 + y) : 0.0f;
		__syncthreads();
		for (int k = 0; k < tile; k++) sum += a_tile[y][k] * b_tile[k][x];
		__syncthreads();
	}
	if (row < of.rows && col < p.cols) of.y[row * p.cols + col] = from_float<T>(sum);
}

// ---- persistent ---------------------------------------------------------------------------------------------------------------------------

constexpr int large = 64, depth = 16, side = 4; // a block's tile, k of a step, elements of a thread each way
constexpr int blocks_each = 4;                  // of a multiprocessor

// load_tile brings a step of some rows of an operand to shared memory, zeros beyond it. Neighbouring threads read neighbours in memory, whichever
// way the operand lies.
template <class T>
__device__ void load_tile(float (&to)[depth][large + 1], const Matrix<T> &from, int64_t row0, int64_t rows, int64_t k0, int64_t length) {
	const bool along_k = from.k_stride == 1;
#pragma unroll
	for (int i = static_cast<int>(threadIdx.x); i < large * depth; i += threads) {
		const int row = along_k ? i / depth : i % large, k = along_k ? i % depth : i / large;
		to[k][row] = row0 + row < rows && k0 + k < length ? from(row0 + row, k0 + k) : 0.0f;
	}
}

template <class T> __global__ void __launch_bounds__(threads) grouped_gemm_persistent_kernel(Product<T> p) {
	__shared__ float a_tile[depth][large + 1], b_tile[depth][large + 1];
	const int64_t across = (p.cols + large - 1) / large;
	const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
	triad::GroupWalk<large, large> walk = {};
	for (int64_t t = blockIdx.x; walk.seek(p, t); t += gridDim.x) {
		const Group<T> of = p.group(walk.group);
		const int64_t row0 = (t - walk.before) / across * large, col0 = (t - walk.before) % across * large;
		float sum[side][side] = {};
		for (int64_t k0 = 0; k0 < of.depth; k0 += depth) {
			load_tile(a_tile, of.a, row0, of.rows, k0, of.depth);
			load_tile(b_tile, of.b, col0, p.cols, k0, of.depth);
			__syncthreads();
#pragma unroll
			for (int k = 0; k < depth; k++) {
				float left[side], right[side];
#pragma unroll
				for (int i = 0; i < side; i++) left[i] = a_tile[k][y + 16 * i], right[i] = b_tile[k][x + 16 * i];
#pragma unroll
				for (int i = 0; i < side; i++)
#pragma unroll
					for (int j = 0; j < side; j++) sum[i][j] += left[i] * right[j];
			}
			__syncthreads();
		}
#pragma unroll
		for (int i = 0; i < side; i++)
#pragma unroll
			for (int j = 0; j < side; j++) {
				const int64_t row = row0 + y + 16 * i, col = col0 + x + 16 * j;
				if (row < of.rows && col < p.cols) of.y[row * p.cols + col] = from_float<T>(sum[i][j]);
			}
	}
}

// ---- sm80_mma -----------------------------------------------------------------------------------------------------------------------------

using triad::hopper::Mma;
using triad::hopper::MmaTile;

// Of the forward a lies along k and b along its rows, of grad_x both along k, of grad_w neither: its rows are the columns of x and grad_y, so that
// a group may begin and end at any row.
template <class T, bool AlongKA, bool AlongKB> __global__ void __launch_bounds__(Mma::threads, 2) grouped_gemm_sm80_mma_kernel(Product<T> p) {
	using TileA = MmaTile<Mma::m, AlongKA>;
	using TileB = MmaTile<Mma::n, AlongKB>;
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	triad::WarpWalk<Mma::m, Mma::n> walk = {};
	if (!walk.seek(p, blockIdx.x)) return; // the whole block
	const Group<T> of = p.group(walk.group);
	const int64_t across = (p.cols + Mma::n - 1) / Mma::n, own = blockIdx.x - walk.before;
	const triad::hopper::MmaProduct<Matrix<T>> part = {of.a, of.b, own / across * Mma::m, of.rows, own % across * Mma::n, p.cols, of.depth};
	triad::hopper::mma_product<T, TileA, TileB>(mma_tiles, part).store_rows(of.y, 1);
}

// ---- launchers ----------------------------------------------------------------------------------------------------------------------------

template <class T> int grouped_gemm_naive(const triad_call *call) {
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		const int64_t all = (p.by_depth ? p.groups : 1) * p.rows * p.cols;
		grouped_gemm_naive_kernel<T><<<triad::blocks_for(all, threads), threads, 0, stream>>>(p, all);
		return triad::launched();
	});
}

template <class T> int grouped_gemm_tiled(const triad_call *call) {
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		grouped_gemm_tiled_kernel<T><<<static_cast<unsigned>(most_tiles<tile, tile>(p)), tile * tile, 0, stream>>>(p);
		return triad::launched();
	});
}

template <class T> int grouped_gemm_persistent(const triad_call *call) {
	const int64_t at_once = std::max(1, triad::device_attribute(cudaDevAttrMultiProcessorCount)) * blocks_each;
	return each_product<T>(call, [at_once](const Product<T> &p, cudaStream_t stream) {
		const unsigned blocks = static_cast<unsigned>(std::min<int64_t>(most_tiles<large, large>(p), at_once));
		grouped_gemm_persistent_kernel<T><<<blocks, threads, 0, stream>>>(p);
		return triad::launched();
	});
}

template <class T> int grouped_gemm_sm80_mma(const triad_call *call) {
	using Largest = triad::hopper::MmaTiles<T, MmaTile<Mma::m, true>, MmaTile<Mma::n, true>>;
	return each_product<T>(call, [call](const Product<T> &p, cudaStream_t stream) {
		void (*const kernel)(Product<T>) = call->n_out == 1 ? grouped_gemm_sm80_mma_kernel<T, true, false>
		                                   : p.by_depth     ? grouped_gemm_sm80_mma_kernel<T, false, false>
		                                                    : grouped_gemm_sm80_mma_kernel<T, true, true>;
		if (const int status = Largest::allow(kernel)) return status;
		kernel<<<static_cast<unsigned>(most_tiles<Mma::m, Mma::n>(p)), Mma::threads, Largest::bytes, stream>>>(p);
		return triad::launched();
	});
}

void check_tiles(triad::Check &check, const triad_call *call) {
	for (int i = 0; i < call->n_out; i++) {
		const int64_t tiles = most_tiles<tile, tile>(triad::grouped_gemm::product_of<float>(call, i));
		check.that(tiles <= INT32_MAX, "%lld tiles are too many blocks", static_cast<long long>(tiles));
	}
}

const triad::Limit few_tiles = triad::limit("at most 2^31 - 1 tiles", check_tiles);

// Of the operands tensor cores get 16 bytes of a row at once, and so they are stored.
template <class... Name> triad::Limits vectors(triad::Limit gpu, Name... operands) {
	return {gpu,
	        few_tiles,
	        triad::multiple_of("k", 8),
	        triad::multiple_of("n", 8),
	        triad::contiguous_columns(operands...),
	        triad::stepped(8, operands...),
	        triad::aligned(16)};
}

template <class... Name> triad::Limits mma(Name... operands) { return vectors(triad::capability("mma", 80, true), operands...); }

template <class... Name> triad::Limits tma(Name... operands) {
	triad::Limits limits = vectors(triad::wgmma_capability(), operands...);
	limits.push_back(triad::limit("operands that the copy engine can read: no size 0, at most 2^30 tokens, strides above 0",
	                              triad::grouped_gemm::check_tma));
	return limits;
}

} // namespace

// ---- registration ---------------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(grouped_gemm, naive, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(grouped_gemm_naive)))
TRIAD_KERNEL(grouped_gemm, tiled, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(few_tiles).launch(TRIAD_BY_DTYPE(grouped_gemm_tiled)))
TRIAD_KERNEL(grouped_gemm, persistent, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(grouped_gemm_persistent)))
TRIAD_KERNEL(grouped_gemm, naive, backward, .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE(grouped_gemm_naive)))
TRIAD_KERNEL(grouped_gemm, tiled, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles).launch(TRIAD_BY_DTYPE(grouped_gemm_tiled)))
TRIAD_KERNEL(grouped_gemm, persistent, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).launch(TRIAD_BY_DTYPE(grouped_gemm_persistent)))
TRIAD_KERNEL(grouped_gemm, sm80_mma, forward,
             .asynchronous().contract("fp32").dtypes(triad::halves).outputs(1).limits(mma("x", "w")).launch(TRIAD_BY_HALF(grouped_gemm_sm80_mma)))
TRIAD_KERNEL(grouped_gemm, sm80_mma, backward,
             .asynchronous().contract("fp32").dtypes(triad::halves).outputs(3).limits(mma("x", "w", "grad_y")).launch(TRIAD_BY_HALF(grouped_gemm_sm80_mma)))
TRIAD_KERNEL(grouped_gemm, sm90_tma, forward,
             .asynchronous().contract("fp32").dtypes(triad::halves).outputs(1).limits(tma("x", "w")).launch(TRIAD_BY_HALF(triad::grouped_gemm::sm90_tma)))
TRIAD_KERNEL(grouped_gemm, sm90_tma, backward,
             .asynchronous().contract("fp32").dtypes(triad::halves).outputs(3).limits(tma("x", "w", "grad_y"))
             .launch(TRIAD_BY_HALF(triad::grouped_gemm::sm90_tma)))
