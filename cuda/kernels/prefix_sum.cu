// prefix_sum: y[i] = x[0] + ... + x[i]; exclusive: y[i] = x[0] + ... + x[i-1], y[0] = 0
// Layout   x, y: [n], contiguous; fp32, fp16, bf16, added in fp32; int32, whose sums wrap.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Hillis and Steele 1986 (block); Blelloch 1990 (blelloch); Merrill and Garland 2016, NVR-2016-002 (lookback)
//   block         one block, a thread an element: each step adds what lies twice as far before. n log n
//                 additions; n <= 1024. Costs: one block is all that works
//   blelloch      one block goes from tile to tile. A tile is summed up as a tree, and what is before each leaf is handed down the tree:
//                 n additions, and twice as many steps; n <= 1048576, since one block is all that works
//   three_kernel  a block a tile: the sums of the tiles, the scan of these sums by one block, the scan of each tile from what is before it.
//                 Every element is read twice. Where tiles are few, eight for a multiprocessor, each block of the last adds up the sums of
//                 those before, and two kernels do.
//   lookback      one pass: a block publishes the sum of its tile and adds up what the tiles before it have published, back to the first
//                 that knows all before it. Reads every element once, 16 bytes at a time, into shared memory. How far it looks depends on
//                 timing, and so do the last bits. Costs: a tile waits for the slowest of those before it
//   cub           NVIDIA's DeviceScan, compiled with our kernels; see include/cub_library.cuh
#include "cub_library.cuh"
#include "rows.cuh"
#include "scan_tile.cuh"
#include "spec/prefix_sum.cuh"

namespace {

using triad::before_in_block;
using triad::from_sum;
using triad::SumType;
using triad::to_sum;

TRIAD_SPILLS(DeviceScanKernel, 4, "CUB's, of integers, for sm_90a");

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

constexpr int block_threads = 1024;

template <class T> __global__ void prefix_sum_block_kernel(const T *x, T *y, int n, bool exclusive) {
	__shared__ SumType<T> sums[2][block_threads];
	const int i = threadIdx.x;
	int from = 0;
	sums[from][i] = i < n ? to_sum(x[i]) : 0;
	for (int by = 1; by < n; by *= 2) {
		__syncthreads();
		sums[1 - from][i] = i >= by ? sums[from][i - by] + sums[from][i] : sums[from][i];
		from = 1 - from;
	}
	__syncthreads();
	if (i >= n) return;
	if (exclusive) y[i] = from_sum<T>(i == 0 ? 0 : sums[from][i - 1]);
	else y[i] = from_sum<T>(sums[from][i]);
}

constexpr int tree_threads = 512, tree_leaves = 2 * tree_threads;

template <class T> __global__ void prefix_sum_blelloch_kernel(const T *x, T *y, int64_t n, bool exclusive) {
	__shared__ SumType<T> tree[tree_leaves];
	SumType<T> before = 0; // what the tiles so far add up to
	for (int64_t first = 0; first < n; first += tree_leaves) {
		for (int i = threadIdx.x; i < tree_leaves; i += tree_threads) tree[i] = first + i < n ? to_sum(x[first + i]) : 0;
		int by = 1;
		for (int nodes = tree_threads; nodes > 0; nodes /= 2, by *= 2) { // up: node i gets the sum of the 2 * by leaves that end with it
			__syncthreads();
			const int i = 2 * by * (threadIdx.x + 1) - 1;
			if (threadIdx.x < nodes) tree[i] += tree[i - by];
		}
		__syncthreads();
		const SumType<T> total = tree[tree_leaves - 1];
		__syncthreads();
		if (threadIdx.x == 0) tree[tree_leaves - 1] = 0;
		for (int nodes = 1; nodes < tree_leaves; nodes *= 2) { // down: the left child gets what is before its parent, the right one adds the left
			by /= 2;
			__syncthreads();
			const int i = 2 * by * (threadIdx.x + 1) - 1;
			if (threadIdx.x < nodes) {
				const SumType<T> left = tree[i - by];
				tree[i - by] = tree[i];
				tree[i] += left;
			}
		}
		__syncthreads();
		for (int i = threadIdx.x; i < tree_leaves && first + i < n; i += tree_threads) {
			const SumType<T> sum = before + tree[i];
			y[first + i] = from_sum<T>(exclusive ? sum : sum + to_sum(x[first + i]));
		}
		before += total;
		__syncthreads(); // the tree is filled anew
	}
}

constexpr int threads = 256;

template <class T> using SmallTile = triad::ScanTile<T, threads, 2, triad::InRegisters>;
template <class T> using HeldTile = triad::ScanTile<T, threads, 8, triad::InRegisters>;
template <class T> using SharedTile = triad::ScanTile<T, threads, 8, triad::InShared>;

template <class T, class Tile> __global__ void prefix_sum_tile_sums_kernel(const T *x, SumType<T> *sums, int64_t n, bool aligned) {
	Tile tile;
	tile.load(x, blockIdx.x, n, aligned);
	SumType<T> total;
	before_in_block<threads>(tile.sum(), total);
	if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// In the place of each sum comes that of those before it.
template <class S> __global__ void prefix_sum_sums_kernel(S *sums, int64_t n) {
	S before = 0, total;
	for (int64_t first = 0; first < n; first += block_threads) {
		const int64_t i = first + threadIdx.x;
		const S own = before_in_block<block_threads>(i < n ? sums[i] : S(0), total);
		if (i < n) sums[i] = before + own;
		before += total;
	}
}

// sums has what is before each tile, or, where they are Few and added up here, what each tile adds up to.
template <class T, class Tile, bool Few>
__global__ void prefix_sum_tiles_kernel(const T *x, const SumType<T> *sums, T *y, int64_t n, bool exclusive, bool aligned) {
	Tile tile;
	tile.load(x, blockIdx.x, n, aligned);
	SumType<T> before;
	if constexpr (Few) {
		SumType<T> own = 0;
		for (unsigned i = threadIdx.x; i < blockIdx.x; i += threads) own += sums[i];
		before_in_block<threads>(own, before);
	} else {
		before = sums[blockIdx.x];
	}
	tile.scan();
	tile.store(y, blockIdx.x, n, before, exclusive, aligned);
}

__global__ void prefix_sum_clear_kernel(unsigned long long *words, unsigned n) {
	const unsigned i = blockIdx.x * threads + threadIdx.x;
	if (i < n) words[i] = 0;
}

// A tile waits for all before it, the slowest too, so the number of tiles in flight decides: they lie in shared memory, since six of 32 KB
// find room on a multiprocessor, and in registers four.
template <class T>
__global__ void __launch_bounds__(threads, 6) prefix_sum_lookback_kernel(const T *x, T *y, int64_t n, triad::Board board, bool exclusive) {
	using Tile = SharedTile<T>;
	__shared__ uint4 memory[Tile::elements / triad::vector<T>];
	__shared__ unsigned taken;
	__shared__ SumType<T> before;
	// Blocks start in any order. A tile is taken by who comes, so that the tiles before it have been taken by blocks that have started.
	if (threadIdx.x == 0) taken = atomicAdd(board.taken, 1u);
	__syncthreads();
	const unsigned index = taken;
	Tile tile = {{memory + threadIdx.x}, {}};
	tile.copy(x, index, n);
	const SumType<T> sum = tile.scan();
	if (threadIdx.x < 32) {
		if (threadIdx.x == 0) board.publish(index, sum, index == 0 ? triad::of_all_before_too : triad::of_tile);
		const SumType<T> earlier = board.before<SumType<T>>(index);
		if (threadIdx.x == 0) {
			if (index > 0) board.publish(index, earlier + sum, triad::of_all_before_too);
			before = earlier;
		}
	}
	__syncthreads();
	tile.store(y, index, n, before, exclusive, true);
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call) { return static_cast<const T *>(call->in[0].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
bool exclusive(const triad_call *call) { return call->attr[0] != 0; }

template <class T> int prefix_sum_fwd_block(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	prefix_sum_block_kernel<T>
	    <<<1, block_threads, 0, triad::stream_of(call)>>>(input<T>(call), output<T>(call), static_cast<int>(n), exclusive(call));
	return triad::launched();
}

template <class T> int prefix_sum_fwd_blelloch(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	prefix_sum_blelloch_kernel<T><<<1, tree_threads, 0, triad::stream_of(call)>>>(input<T>(call), output<T>(call), n, exclusive(call));
	return triad::launched();
}

template <class T, class Tile, bool Few> int three_kernel_of(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned tiles = triad::blocks_for(n, Tile::elements);
	const bool aligned = (reinterpret_cast<uintptr_t>(call->in[0].data) | reinterpret_cast<uintptr_t>(call->out[0].data)) % 16 == 0;
	auto *sums = static_cast<SumType<T> *>(call->workspace);
	const cudaStream_t stream = triad::stream_of(call);
	prefix_sum_tile_sums_kernel<T, Tile><<<tiles, threads, 0, stream>>>(input<T>(call), sums, n, aligned);
	if constexpr (!Few) prefix_sum_sums_kernel<<<1, block_threads, 0, stream>>>(sums, tiles);
	prefix_sum_tiles_kernel<T, Tile, Few><<<tiles, threads, 0, stream>>>(input<T>(call), sums, output<T>(call), n, exclusive(call), aligned);
	return triad::launched();
}

// Few tiles: a GPU's multiprocessors have them all at once, and adding up their sums costs each less than another kernel.
template <class T> int prefix_sum_fwd_three_kernel(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]), few = 8 * static_cast<int64_t>(triad::device_attribute(cudaDevAttrMultiProcessorCount));
	if (n == 0) return TRIAD_OK;
	return n <= few * SmallTile<T>::elements ? three_kernel_of<T, SmallTile<T>, true>(call) : three_kernel_of<T, HeldTile<T>, false>(call);
}

// No tiles are smaller than the small ones of fp32.
int64_t sum_a_tile(const triad_call *call) {
	return triad::blocks_for(triad::elements(call->in[0]), SmallTile<float>::elements) * static_cast<int64_t>(sizeof(float));
}

// The words of all tiles, and behind them the count of those taken.
int64_t board_bytes(const triad_call *call) {
	const int64_t tile = SharedTile<float>::elements * (4 / triad::element_bytes(call->in[0].dtype));
	return (static_cast<int64_t>(triad::blocks_for(triad::elements(call->in[0]), tile)) + 1) * 8;
}

template <class T> int prefix_sum_fwd_lookback(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	const unsigned tiles = triad::blocks_for(n, SharedTile<T>::elements);
	auto *words = static_cast<unsigned long long *>(call->workspace);
	const triad::Board board = {words, reinterpret_cast<unsigned *>(words + tiles)};
	const cudaStream_t stream = triad::stream_of(call);
	// sooner done than a memset
	prefix_sum_clear_kernel<<<triad::blocks_for(int64_t{tiles} + 1, threads), threads, 0, stream>>>(words, tiles + 1);
	prefix_sum_lookback_kernel<T><<<tiles, threads, 0, stream>>>(input<T>(call), output<T>(call), n, board, exclusive(call));
	return triad::launched();
}

struct CubScan;
#ifndef __CUEMU__
struct CubScan {
	template <class T> static cudaError_t run(const triad_call *call, void *scratch, size_t &bytes) {
		const auto x = triad::cub_input<T>(call->in[0]);
		const auto y = triad::cub_output<T>(call->out[0]);
		const int64_t n = triad::elements(call->in[0]);
		const triad::CubPlus plus;
		return exclusive(call) ? cub::DeviceScan::ExclusiveScan(scratch, bytes, x, y, plus, triad::cub_zero<T>(), n, triad::stream_of(call))
		                       : cub::DeviceScan::InclusiveScan(scratch, bytes, x, y, plus, n, triad::stream_of(call));
	}
};
#endif

template <class T> int prefix_sum_fwd_cub(const triad_call *call) { return triad::cub_run<CubScan, T>(call); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

// the first takes every call: who asks for any of CUDA gets it where nothing was measured
TRIAD_KERNEL(prefix_sum, three_kernel, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_tile).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(prefix_sum_fwd_three_kernel)))
TRIAD_KERNEL(prefix_sum, block, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous(), triad::at_most("n", block_threads))
             .launch(TRIAD_BY_DTYPE(prefix_sum_fwd_block)))
TRIAD_KERNEL(prefix_sum, blelloch, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous(), triad::at_most("n", 1 << 20))
             .launch(TRIAD_BY_DTYPE(prefix_sum_fwd_blelloch)))
TRIAD_KERNEL(prefix_sum, lookback, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(board_bytes).limits(triad::whole_vectors()).asynchronous()
             .launch(TRIAD_BY_DTYPE(prefix_sum_fwd_lookback)))
TRIAD_KERNEL(prefix_sum, cub, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(triad::cub_bytes<CubScan>)
             .limits(triad::contiguous(), triad::cub_limit()).launch(TRIAD_BY_DTYPE(prefix_sum_fwd_cub)))

// integers: right to the bit, in whatever order they are added
TRIAD_KERNEL(prefix_sum, three_kernel, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).workspace(sum_a_tile).limits(triad::contiguous())
             .launch(prefix_sum_fwd_three_kernel<int32_t>))
TRIAD_KERNEL(prefix_sum, block, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).limits(triad::contiguous(), triad::at_most("n", block_threads))
             .launch(prefix_sum_fwd_block<int32_t>))
TRIAD_KERNEL(prefix_sum, blelloch, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).limits(triad::contiguous(), triad::at_most("n", 1 << 20))
             .launch(prefix_sum_fwd_blelloch<int32_t>))
TRIAD_KERNEL(prefix_sum, lookback, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).workspace(board_bytes).limits(triad::whole_vectors()).asynchronous()
             .launch(prefix_sum_fwd_lookback<int32_t>))
TRIAD_KERNEL(prefix_sum, cub, forward,
             .contract("exact").dtypes(triad::bit(TRIAD_I32)).outputs(1).workspace(triad::cub_bytes_of<CubScan, int32_t>)
             .limits(triad::contiguous(), triad::cub_limit()).launch(prefix_sum_fwd_cub<int32_t>))
