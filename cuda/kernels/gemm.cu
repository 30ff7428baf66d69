// gemm: y = alpha a b + beta c, for each matrix of a batch          backward: grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y
// Layout   a [batch, m, k], b [batch, k, n] or with layout_b = nk [batch, n, k], c and y [batch, m, n]; fp32, fp16, bf16. Inputs may have any
//          strides but c, which is contiguous as the outputs are. Without c, or with beta = 0, c is not read.
// Numerics products and sums in fp32 (IEEE, not tf32); alpha, c and beta are applied to the fp32 sum, which is rounded once.
// Limits   batch, m or n = 0 launches nothing; k = 0 gives beta c, or zeros.
// Source   Dongarra et al. 1990, level 3 BLAS; Volkov and Demmel 2008 (register tiles)
// The ladder: each variant keeps what the one before had, adds one idea, and says what that costs. gemm/product.cuh says how one kernel serves the
// forward, both layouts of b and both gradients.
//   naive         a thread an element, neighbours in a column of y; the readable one, and the one to trust
//                 first. Costs: a warp reads 32 rows of a at once
//   coalesced     neighbours in a row of y: a warp reads b and writes y in whole lines. Costs: nothing but
//                 other indices
//   tiled         tiles of both operands in shared memory: each element is read from memory once a tile, not
//                 once a product. Costs: shared memory, and two barriers a step
//   blocktile_1d  8 elements of a column a thread: each value of b is taken from shared memory once for 8
//                 products. Costs: registers for 8 sums, and an eighth of the threads for as many elements
//   blocktile_2d  8 x 8 elements a thread: 64 products for 16 values from shared memory. Costs: registers for
//                 64 sums, so that fewer warps have room
//   vectorised    16-byte reads, of either operand along whichever dim is contiguous; a tile that lies along k is turned round on its way into
//                 shared memory, so that the inner loop reads 16 bytes at once there too. Costs: sizes and strides that are whole vectors
//   warptile      the threads of a warp share a patch of 64 x 32 elements: fewer values from shared memory
//                 for as many products. Costs: indices that are harder to read
//   double_buffer the reads of the next step run beside the products of this one. Costs: twice the shared memory, and registers
//   sm80_mma      fp16 and bf16 on tensor cores, copies beside the products; see gemm/sm80_mma.cuh. Costs: the same, and a newer GPU
//   sm90_tma      wgmma of tiles of 128 x 128 that the copy engine brings, by two warpgroups in turn; see
//                 gemm/sm90_tma.cuh. Costs: a GPU of 9.0
//   cublas        NVIDIA's library, where it is found at run time; see gemm/cublas.cuh. Costs: a library that
//                 has to be there
//   cublaslt      the same library's other interface, which reads c where it lies; see gemm/cublas.cuh. Costs: a choice of an algorithm a call
#include "capability.cuh"
#include "gemm/cublas.cuh"
#include "gemm/product.cuh"
#include "gemm/sm80_mma.cuh"
#include "gemm/sm90_tma.cuh"
#include "pack.cuh"
#include "register.cuh"
#include "spec/gemm.cuh"

namespace {

using triad::gemm::Operand;
using triad::gemm::Product;
using triad::gemm::ceil_div;
using triad::gemm::each_product;

// ---- naive and coalesced ------------------------------------------------------------------------------------------------------------------

constexpr int flat_threads = 256;

// A warp's threads lie in one column of y: they read 32 rows of a at once, each a line of memory of its own.
template <class T> __global__ void gemm_naive_kernel(Product<T> p) {
	const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
	if (i >= p.batch * p.m * p.n) return;
	const int64_t row = i % p.m, col = i / p.m % p.n, matrix = i / (p.m * p.n);
	const Operand<T> a = p.a.matrix(matrix), b = p.b.matrix(matrix);
	float sum = 0;
	for (int64_t k = 0; k < p.k; k++) sum += a(row, k) * b(col, k);
	p.store(matrix, row, col, sum);
}

// A warp's threads lie in one row of y: all of them read the same value of a, and neighbours of b.
template <class T> __global__ void gemm_coalesced_kernel(Product<T> p) {
	const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
	if (i >= p.batch * p.m * p.n) return;
	const int64_t col = i % p.n, row = i / p.n % p.m, matrix = i / (p.m * p.n);
	const Operand<T> a = p.a.matrix(matrix), b = p.b.matrix(matrix);
	float sum = 0;
	for (int64_t k = 0; k < p.k; k++) sum += a(row, k) * b(col, k);
	p.store(matrix, row, col, sum);
}

// ---- tiles in shared memory ---------------------------------------------------------------------------------------------------------------

// Place is a block's tile of the output: blocks are counted along a row of tiles, then down, then through the batch.
struct Place {
	int64_t matrix, row, col;
};

template <int Rows, int Cols, class T> __device__ Place place_of(const Product<T> &p) {
	const int64_t across = (p.n + Cols - 1) / Cols, down = (p.m + Rows - 1) / Rows;
	return {blockIdx.x / (across * down), blockIdx.x / across % down * Rows, blockIdx.x % across * Cols};
}

template <int Rows, int Cols, class T> unsigned tiles(const Product<T> &p) {
	return static_cast<unsigned>(p.batch * ceil_div(p.m, Rows) * ceil_div(p.n, Cols));
}

// A thread of 32 x 32 copies one element of each operand's tile, and adds 32 products of what the others copied. Two barriers a step: nobody
// reads a tile before it is whole, nobody overwrites one that is still read.
constexpr int tile = 32;

template <class T> __global__ void __launch_bounds__(tile * tile) gemm_tiled_kernel(Product<T> p) {
	__shared__ float a_tile[tile][tile], b_tile[tile][tile]; // [row][k], [k][column]
	const Place at = place_of<tile, tile>(p);
	const Operand<T> a = p.a.matrix(at.matrix), b = p.b.matrix(at.matrix);
	const int x = static_cast<int>(threadIdx.x) % tile, y = static_cast<int>(threadIdx.x) / tile;
	const int64_t row = at.row + y, col = at.col + x;
	float sum = 0;
	for (int64_t k0 = 0; k0 < p.k; k0 += tile) {
		a_tile[y][x] = row < p.m && k0 + x < p.k ? a(row, k0 + x) : 0.0f;
		b_tile[y][x] = col < p.n && k0 + y < p.k ? b(col, k0 + y) : 0.0f;
		__syncthreads();
		for (int k = 0; k < tile; k++) sum += a_tile[y][k] * b_tile[k][x];
		__syncthreads();
	}
	if (row < p.m && col < p.n) p.store(at.matrix, row, col, sum);
}

// load_tile brings Depth of the reduction of Rows rows of an operand into tile[k][row], zeros for what lies beyond it. Neighbouring threads
// read neighbours in memory, whichever way the operand lies.
template <int Rows, int Depth, int Threads, class T>
__device__ void load_tile(float (&tile)[Depth][Rows], const Operand<T> &x, int64_t row0, int64_t rows, int64_t k0, int64_t depth) {
	const bool along_k = x.k_stride == 1;
#pragma unroll
	for (int i = static_cast<int>(threadIdx.x); i < Rows * Depth; i += Threads) {
		const int row = along_k ? i / Depth : i % Rows, k = along_k ? i % Depth : i / Rows;
		tile[k][row] = row0 + row < rows && k0 + k < depth ? x(row0 + row, k0 + k) : 0.0f;
	}
}

// Shape of a block that keeps its part of the output in registers: m x n elements, k of the reduction a step, rows x cols elements a thread.
template <int M, int N, int K, int Rows, int Cols> struct Block {
	static constexpr int m = M, n = N, k = K, rows = Rows, cols = Cols, threads = M / Rows * (N / Cols);
};

// ---- blocktile_1d -------------------------------------------------------------------------------------------------------------------------

using Block1D = Block<64, 64, 8, 8, 1>;

template <class T> __global__ void __launch_bounds__(Block1D::threads) gemm_blocktile_1d_kernel(Product<T> p) {
	using B = Block1D;
	__shared__ float a_tile[B::k][B::m], b_tile[B::k][B::n];
	const Place at = place_of<B::m, B::n>(p);
	const Operand<T> a = p.a.matrix(at.matrix), b = p.b.matrix(at.matrix);
	const int col = static_cast<int>(threadIdx.x) % B::n, row = static_cast<int>(threadIdx.x) / B::n * B::rows;
	float sum[B::rows] = {};
	for (int64_t k0 = 0; k0 < p.k; k0 += B::k) {
		load_tile<B::m, B::k, B::threads>(a_tile, a, at.row, p.m, k0, p.k);
		load_tile<B::n, B::k, B::threads>(b_tile, b, at.col, p.n, k0, p.k);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < B::k; k++) {
			const float right = b_tile[k][col];
#pragma unroll
			for (int i = 0; i < B::rows; i++) sum[i] += a_tile[k][row + i] * right;
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < B::rows; i++)
		if (at.row + row + i < p.m && at.col + col < p.n) p.store(at.matrix, at.row + row + i, at.col + col, sum[i]);
}

// ---- blocktile_2d -------------------------------------------------------------------------------------------------------------------------

using Block2D = Block<128, 128, 8, 8, 8>;

template <class T> __global__ void __launch_bounds__(Block2D::threads) gemm_blocktile_2d_kernel(Product<T> p) {
	using B = Block2D;
	__shared__ float a_tile[B::k][B::m], b_tile[B::k][B::n];
	const Place at = place_of<B::m, B::n>(p);
	const Operand<T> a = p.a.matrix(at.matrix), b = p.b.matrix(at.matrix);
	const int row = static_cast<int>(threadIdx.x) / (B::n / B::cols) * B::rows, col = static_cast<int>(threadIdx.x) % (B::n / B::cols) * B::cols;
	float sum[B::rows][B::cols] = {};
	for (int64_t k0 = 0; k0 < p.k; k0 += B::k) {
		load_tile<B::m, B::k, B::threads>(a_tile, a, at.row, p.m, k0, p.k);
		load_tile<B::n, B::k, B::threads>(b_tile, b, at.col, p.n, k0, p.k);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < B::k; k++) {
			float left[B::rows], right[B::cols];
#pragma unroll
			for (int i = 0; i < B::rows; i++) left[i] = a_tile[k][row + i];
#pragma unroll
			for (int j = 0; j < B::cols; j++) right[j] = b_tile[k][col + j];
#pragma unroll
			for (int i = 0; i < B::rows; i++)
#pragma unroll
				for (int j = 0; j < B::cols; j++) sum[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < B::rows; i++)
#pragma unroll
		for (int j = 0; j < B::cols; j++)
			if (at.row + row + i < p.m && at.col + col + j < p.n) p.store(at.matrix, at.row + row + i, at.col + col + j, sum[i][j]);
}

// ---- vectorised ---------------------------------------------------------------------------------------------------------------------------

// Vectors is what a thread brings of Depth of the reduction of Rows rows of an operand, by 16-byte reads: fetch starts them, put writes what came
// into tile[k][row]. A pack lies within the operand or beyond it, where it is zero.
template <int Rows, int Depth, int Threads, class T> struct Vectors {
	static constexpr int V = triad::vector<T>, packs = Rows * Depth / (Threads * V);
	static_assert(Rows % V == 0 && Depth % V == 0 && packs * Threads * V == Rows * Depth, "whole packs, as many for every thread");
	triad::Pack<T, V> pack[packs];
	bool along_k;

	__device__ int row_of(int i) const { return along_k ? i / Depth : i % Rows; }
	__device__ int k_of(int i) const { return along_k ? i % Depth : i / Rows; }

	__device__ void fetch(const Operand<T> &x, int64_t row0, int64_t rows, int64_t k0, int64_t depth) {
		along_k = x.k_stride == 1 && depth % V == 0; // the stride of a dim of one element says nothing
#pragma unroll
		for (int p = 0; p < packs; p++) {
			const int i = (p * Threads + static_cast<int>(threadIdx.x)) * V;
			const int64_t row = row0 + row_of(i), k = k0 + k_of(i);
			pack[p] = row < rows && k < depth ? triad::fetch<V>(x.data + row * x.row_stride + k * x.k_stride) : triad::Pack<T, V>{};
		}
	}

	__device__ void put(float (&tile)[Depth][Rows]) const {
#pragma unroll
		for (int p = 0; p < packs; p++) {
			const int i = (p * Threads + static_cast<int>(threadIdx.x)) * V;
			float values[V];
			triad::unpack(pack[p], values);
#pragma unroll
			for (int v = 0; v < V; v++) tile[along_k ? k_of(i) + v : k_of(i)][along_k ? row_of(i) : row_of(i) + v] = values[v];
		}
	}
};

// Elements of a thread in the block: four neighbours, and four more half the block away, so that the 16-byte reads of a warp's threads do not
// meet in the same banks.
template <int Half> __device__ int place_in_block(int thread, int i) { return i / 4 * Half + thread * 4 + i % 4; }

using BlockVector = Block<128, 128, 16, 8, 8>;

template <class T> __global__ void __launch_bounds__(BlockVector::threads) gemm_vectorised_kernel(Product<T> p) {
	using B = BlockVector;
	__shared__ __align__(16) float a_tile[B::k][B::m];
	__shared__ __align__(16) float b_tile[B::k][B::n];
	const Place at = place_of<B::m, B::n>(p);
	const Operand<T> a = p.a.matrix(at.matrix), b = p.b.matrix(at.matrix);
	const int y = static_cast<int>(threadIdx.x) / (B::n / B::cols), x = static_cast<int>(threadIdx.x) % (B::n / B::cols);
	float sum[B::rows][B::cols] = {};
	Vectors<B::m, B::k, B::threads, T> a_packs;
	Vectors<B::n, B::k, B::threads, T> b_packs;
	for (int64_t k0 = 0; k0 < p.k; k0 += B::k) {
		a_packs.fetch(a, at.row, p.m, k0, p.k);
		b_packs.fetch(b, at.col, p.n, k0, p.k);
		a_packs.put(a_tile);
		b_packs.put(b_tile);
		__syncthreads();
#pragma unroll
		for (int k = 0; k < B::k; k++) {
			float left[B::rows], right[B::cols];
#pragma unroll
			for (int i = 0; i < B::rows; i += 4)
				*reinterpret_cast<float4 *>(left + i) = *reinterpret_cast<const float4 *>(&a_tile[k][place_in_block<B::m / 2>(y, i)]);
#pragma unroll
			for (int j = 0; j < B::cols; j += 4)
				*reinterpret_cast<float4 *>(right + j) = *reinterpret_cast<const float4 *>(&b_tile[k][place_in_block<B::n / 2>(x, j)]);
#pragma unroll
			for (int i = 0; i < B::rows; i++)
#pragma unroll
				for (int j = 0; j < B::cols; j++) sum[i][j] += left[i] * right[j];
		}
		__syncthreads();
	}
#pragma unroll
	for (int i = 0; i < B::rows; i++)
#pragma unroll
		for (int j = 0; j < B::cols; j++) {
			const int64_t row = at.row + place_in_block<B::m / 2>(y, i), col = at.col + place_in_block<B::n / 2>(x, j);
			if (row < p.m && col < p.n) p.store(at.matrix, row, col, sum[i][j]);
		}
}

// ---- warptile and double_buffer -----------------------------------------------------------------------------------------------------------

// WarpPlace is where the elements of a thread lie in a block of BlockVector's shape: each of 8 warps has 64 x 32 of them together, of which a
// thread has four neighbours in each half of the rows and of the columns. For a step of the reduction a warp takes 96 values from shared memory
// for 2048 products; by threads in the order of the block, as before, it takes 144.
struct WarpPlace {
	int row0, col0;

	__device__ WarpPlace() {
		const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
		row0 = warp / 4 * 64 + lane / 4 * 4;
		col0 = warp % 4 * 32 + lane % 4 * 4;
	}
	__device__ int row(int i) const { return row0 + i / 4 * 32 + i % 4; }
	__device__ int col(int j) const { return col0 + j / 4 * 16 + j % 4; }
};

// multiply adds the products of a pair of tiles to a thread's sums.
template <class B>
__device__ inline void multiply(float (&sum)[B::rows][B::cols], const float (&a)[B::k][B::m], const float (&b)[B::k][B::n], WarpPlace at) {
#pragma unroll
	for (int k = 0; k < B::k; k++) {
		float left[B::rows], right[B::cols];
#pragma unroll
		for (int i = 0; i < B::rows; i += 4) *reinterpret_cast<float4 *>(left + i) = *reinterpret_cast<const float4 *>(&a[k][at.row(i)]);
#pragma unroll
		for (int j = 0; j < B::cols; j += 4) *reinterpret_cast<float4 *>(right + j) = *reinterpret_cast<const float4 *>(&b[k][at.col(j)]);
#pragma unroll
		for (int i = 0; i < B::rows; i++)
#pragma unroll
			for (int j = 0; j < B::cols; j++) sum[i][j] += left[i] * right[j];
	}
}

// With Buffers = 2 the reads of the next step are under way while this one is computed, and go to the other pair of tiles: one barrier a step.
template <class T, int Buffers> __global__ void __launch_bounds__(BlockVector::threads) gemm_warptile_kernel(Product<T> p) {
	using B = BlockVector;
	__shared__ __align__(16) float a_tile[Buffers][B::k][B::m];
	__shared__ __align__(16) float b_tile[Buffers][B::k][B::n];
	const Place at = place_of<B::m, B::n>(p);
	const Operand<T> a = p.a.matrix(at.matrix), b = p.b.matrix(at.matrix);
	const WarpPlace mine;
	float sum[B::rows][B::cols] = {};
	Vectors<B::m, B::k, B::threads, T> a_packs;
	Vectors<B::n, B::k, B::threads, T> b_packs;
	a_packs.fetch(a, at.row, p.m, 0, p.k);
	b_packs.fetch(b, at.col, p.n, 0, p.k);
	int buffer = 0;
	for (int64_t k0 = 0; k0 < p.k; k0 += B::k, buffer = (buffer + 1) % Buffers) {
		a_packs.put(a_tile[buffer]);
		b_packs.put(b_tile[buffer]);
		__syncthreads();
		if (Buffers == 1) multiply<B>(sum, a_tile[0], b_tile[0], mine);
		a_packs.fetch(a, at.row, p.m, k0 + B::k, p.k); // zeros after the last step
		b_packs.fetch(b, at.col, p.n, k0 + B::k, p.k);
		if (Buffers == 2) multiply<B>(sum, a_tile[buffer], b_tile[buffer], mine);
		if (Buffers == 1) __syncthreads();
	}
#pragma unroll
	for (int i = 0; i < B::rows; i++)
#pragma unroll
		for (int j = 0; j < B::cols; j++) {
			const int64_t row = at.row + mine.row(i), col = at.col + mine.col(j);
			if (row < p.m && col < p.n) p.store(at.matrix, row, col, sum[i][j]);
		}
}

// ---- launchers ----------------------------------------------------------------------------------------------------------------------------

// launch_flat launches a kernel with a thread for each element of c.
template <class T> int launch_flat(const triad_call *call, void (*kernel)(Product<T>)) {
	return each_product<T>(call, [kernel](const Product<T> &p, cudaStream_t stream) {
		kernel<<<static_cast<unsigned>(ceil_div(p.batch * p.m * p.n, flat_threads)), flat_threads, 0, stream>>>(p);
		return triad::launched();
	});
}

using Square = Block<tile, tile, tile, 1, 1>;

// launch_tiled launches a kernel with a block for each tile of c.
template <class Tile, class T> int launch_tiled(const triad_call *call, void (*kernel)(Product<T>)) {
	return each_product<T>(call, [kernel](const Product<T> &p, cudaStream_t stream) {
		kernel<<<tiles<Tile::m, Tile::n>(p), Tile::threads, 0, stream>>>(p);
		return triad::launched();
	});
}

template <class T> int naive(const triad_call *call) { return launch_flat<T>(call, gemm_naive_kernel<T>); }
template <class T> int coalesced(const triad_call *call) { return launch_flat<T>(call, gemm_coalesced_kernel<T>); }
template <class T> int tiled(const triad_call *call) { return launch_tiled<Square, T>(call, gemm_tiled_kernel<T>); }
template <class T> int blocktile_1d(const triad_call *call) { return launch_tiled<Block1D, T>(call, gemm_blocktile_1d_kernel<T>); }
template <class T> int blocktile_2d(const triad_call *call) { return launch_tiled<Block2D, T>(call, gemm_blocktile_2d_kernel<T>); }
template <class T> int vectorised(const triad_call *call) { return launch_tiled<BlockVector, T>(call, gemm_vectorised_kernel<T>); }
template <class T> int warptile(const triad_call *call) { return launch_tiled<BlockVector, T>(call, gemm_warptile_kernel<T, 1>); }
template <class T> int double_buffer(const triad_call *call) { return launch_tiled<BlockVector, T>(call, gemm_warptile_kernel<T, 2>); }

// ---- registration -------------------------------------------------------------------------------------------------------------------------

template <int Rows, int Cols> triad::Limit few_tiles() {
	return triad::limit("fewer than 2^31 blocks", triad::gemm::check_tiles<Rows, Cols>);
}

using triad::hopper::Mma;
constexpr uint32_t halves = triad::bit(TRIAD_F16) | triad::bit(TRIAD_BF16);

const triad::Limit packs = triad::limit("operands with rows or columns of whole vectors of 16 bytes, aligned to them", triad::gemm::check_packs);

const triad::Limits tma = {triad::wgmma_capability(), packs,
                           triad::limit("operands that the copy engine can read: no size 0, strides above 0", triad::gemm::check_tma)};

const triad::Limit cublas_limit =
    triad::limit("a GPU, cuBLAS, k > 0, alpha not 0, operands whose rows or columns are neighbours", triad::gemm::check_cublas);
const triad::Limit cublaslt_limit =
    triad::limit("a GPU, cuBLASLt, k > 0, alpha not 0, operands whose rows or columns are neighbours", triad::gemm::check_cublaslt);

} // namespace

TRIAD_KERNEL(gemm, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<1, flat_threads>())
             .launch(TRIAD_BY_DTYPE(naive)))
TRIAD_KERNEL(gemm, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<1, flat_threads>()).launch(TRIAD_BY_DTYPE(naive)))
TRIAD_KERNEL(gemm, coalesced, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<1, flat_threads>())
             .launch(TRIAD_BY_DTYPE(coalesced)))
TRIAD_KERNEL(gemm, coalesced, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<1, flat_threads>()).launch(TRIAD_BY_DTYPE(coalesced)))
TRIAD_KERNEL(gemm, tiled, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<tile, tile>())
             .launch(TRIAD_BY_DTYPE(tiled)))
TRIAD_KERNEL(gemm, tiled, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<tile, tile>()).launch(TRIAD_BY_DTYPE(tiled)))
TRIAD_KERNEL(gemm, blocktile_1d, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<Block1D::m, Block1D::n>())
             .launch(TRIAD_BY_DTYPE(blocktile_1d)))
TRIAD_KERNEL(gemm, blocktile_1d, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<Block1D::m, Block1D::n>()).launch(TRIAD_BY_DTYPE(blocktile_1d)))
TRIAD_KERNEL(gemm, blocktile_2d, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<Block2D::m, Block2D::n>())
             .launch(TRIAD_BY_DTYPE(blocktile_2d)))
TRIAD_KERNEL(gemm, blocktile_2d, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<Block2D::m, Block2D::n>()).launch(TRIAD_BY_DTYPE(blocktile_2d)))
TRIAD_KERNEL(gemm, vectorised, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(vectorised)))
TRIAD_KERNEL(gemm, vectorised, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(vectorised)))
TRIAD_KERNEL(gemm, warptile, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(warptile)))
TRIAD_KERNEL(gemm, warptile, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(warptile)))
TRIAD_KERNEL(gemm, double_buffer, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(double_buffer)))
TRIAD_KERNEL(gemm, double_buffer, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(few_tiles<BlockVector::m, BlockVector::n>(), packs)
             .launch(TRIAD_BY_DTYPE(double_buffer)))
TRIAD_KERNEL(gemm, sm80_mma, forward,
             .asynchronous().contract("fp32").dtypes(halves).outputs(1)
             .limits(triad::capability("mma", 80, true), triad::contiguous("c"), few_tiles<Mma::m, Mma::n>(), packs)
             .launch(TRIAD_BY_HALF(triad::gemm::sm80_mma)))
TRIAD_KERNEL(gemm, sm80_mma, backward,
             .asynchronous().contract("fp32").dtypes(halves).outputs(3).limits(triad::capability("mma", 80, true), few_tiles<Mma::m, Mma::n>(), packs)
             .launch(TRIAD_BY_HALF(triad::gemm::sm80_mma)))
TRIAD_KERNEL(gemm, sm90_tma, forward,
             .asynchronous().contract("fp32").dtypes(halves).outputs(1).limits(tma).limits(triad::contiguous("c")).launch(TRIAD_BY_HALF(triad::gemm::sm90_tma)))
TRIAD_KERNEL(gemm, sm90_tma, backward,
             .asynchronous().contract("fp32").dtypes(halves).outputs(3).limits(tma).launch(TRIAD_BY_HALF(triad::gemm::sm90_tma)))
TRIAD_KERNEL(gemm, cublas, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), cublas_limit)
             .workspace(triad::gemm::cublas_workspace).launch(TRIAD_BY_DTYPE(triad::gemm::cublas)))
TRIAD_KERNEL(gemm, cublas, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(cublas_limit)
             .workspace(triad::gemm::cublas_workspace).launch(TRIAD_BY_DTYPE(triad::gemm::cublas)))
TRIAD_KERNEL(gemm, cublaslt, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous("c"), cublaslt_limit)
             .workspace(triad::gemm::cublas_workspace).launch(TRIAD_BY_DTYPE(triad::gemm::cublaslt)))
TRIAD_KERNEL(gemm, cublaslt, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(cublaslt_limit)
             .workspace(triad::gemm::cublas_workspace).launch(TRIAD_BY_DTYPE(triad::gemm::cublaslt)))
