// sum: y = x[0] + x[1] + ... + x[n-1]          backward: dx[i] = dy
// Layout   x, dx: [n], contiguous; y, dy: [1]; fp32, fp16, bf16; added in fp32.
// Limits   n = 0 gives 0; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Harris 2007, Optimizing Parallel Reduction in CUDA
//   atomic  a thread adds up every so-many-th element and then adds its sum to one number in memory. The order of these additions is that in
//           which threads arrive: two runs may differ in the last bits. They queue up at one address.
//   tree    a block adds up in shared memory, half of its threads fewer at each step, and a second launch of the same kernel adds up the
//           sums of the blocks: the same bits in every run. A step costs a barrier.
//   warp    as tree, but the 32 threads of a warp pass their sums by shuffles: two barriers in place of eight
//   vec     as warp, with 16-byte loads, four of them a thread before the first use
//   naive   backward: a thread an element
//   vec     backward: 16-byte stores
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/sum.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;
constexpr int most_blocks = 1024; // that many run at once on a large GPU; each leaves one sum in the workspace

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// every_so_many is the sum of the elements that fall to this thread: threads of a warp read neighbours.
template <class T> __device__ float every_so_many(const T *x, int64_t n) {
	triad::LongSum sum;
	const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step) sum.add(to_float(x[i]));
	return sum.total();
}

template <class T> __global__ void sum_atomic_kernel(const T *x, float *total, int64_t n) { atomicAdd(total, every_so_many(x, n)); }

template <class T> __global__ void sum_store_kernel(const float *total, T *y) { *y = from_float<T>(*total); }

// Block b writes the sum of its elements to y[b].
template <class T, class Y> __global__ void sum_tree_kernel(const T *x, Y *y, int64_t n) {
	__shared__ float sums[threads];
	sums[threadIdx.x] = every_so_many(x, n);
	for (int half = threads / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	if (threadIdx.x == 0) y[blockIdx.x] = from_float<Y>(sums[0]);
}

// warp_sum: lane 0 gets the sum over the warp.
__device__ float warp_sum(float v) {
	for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
	return v;
}

// block_sum: thread 0 gets the sum over the block: that of each warp, and of these in the first warp.
__device__ float block_sum(float v) {
	__shared__ float sums[threads / 32];
	v = warp_sum(v);
	if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
	__syncthreads();
	return threadIdx.x < 32 ? warp_sum(threadIdx.x < threads / 32 ? sums[threadIdx.x] : 0.0f) : 0.0f;
}

template <class T, class Y> __global__ void sum_warp_kernel(const T *x, Y *y, int64_t n) {
	const float sum = block_sum(every_so_many(x, n));
	if (threadIdx.x == 0) y[blockIdx.x] = from_float<Y>(sum);
}

constexpr int packs = 4; // loads of 16 bytes in flight for each thread

template <class T> __global__ void __launch_bounds__(threads) sum_vec_kernel(const T *x, float *y, int64_t n) {
	constexpr int V = triad::vector<T>;
	constexpr int64_t tile = static_cast<int64_t>(threads) * packs * V;
	float sum = 0.0f;
	int64_t first = blockIdx.x * tile;
	for (; first + tile <= n; first += gridDim.x * tile) {
		triad::Pack<T, V> pack[packs];
#pragma unroll
		for (int p = 0; p < packs; p++) pack[p] = triad::fetch<V>(x + first + (p * threads + threadIdx.x) * V);
		float part[packs] = {};
#pragma unroll
		for (int p = 0; p < packs; p++) {
			float v[V];
			triad::unpack(pack[p], v);
#pragma unroll
			for (int j = 0; j < V; j++) part[p] += v[j];
		}
		sum += (part[0] + part[1]) + (part[2] + part[3]);
	}
	// what is left is less than a tile, and the block's whose turn it is
	for (int64_t i = first + threadIdx.x; i < n; i += threads) sum += to_float(x[i]);
	sum = block_sum(sum);
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <class T> __global__ void sum_bwd_naive_kernel(const T *dy, T *dx, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) dx[i] = *dy;
}

template <class T> __global__ void sum_bwd_vec_kernel(const T *dy, T *dx, int64_t n) {
	constexpr int V = triad::vector<T>;
	triad::Pack<T, V> pack;
#pragma unroll
	for (int j = 0; j < V; j++) pack.at[j] = *dy;
	const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x * V;
	for (int64_t i = (blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x) * V; i < n; i += step) {
		if (i + V <= n) {
			triad::put(dx + i, pack);
		} else {
			for (int64_t j = i; j < n; j++) dx[j] = *dy;
		}
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
float *sums(const triad_call *call) { return static_cast<float *>(call->workspace); }

// blocks is the grid of the first stage, at least one block: without elements the sum is 0.
unsigned blocks(int64_t n, int64_t per_block) {
	const unsigned all = triad::blocks_for(n, per_block);
	return all < 1 ? 1 : all > most_blocks ? most_blocks : all;
}

int64_t one_sum(const triad_call *) { return sizeof(float); }
int64_t sum_a_block(const triad_call *) { return most_blocks * sizeof(float); }

template <class T> int sum_fwd_atomic(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (const cudaError_t error = cudaMemsetAsync(sums(call), 0, sizeof(float), triad::stream_of(call))) return error;
	if (n > 0) sum_atomic_kernel<T><<<blocks(n, threads), threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), sums(call), n);
	sum_store_kernel<T><<<1, 1, 0, triad::stream_of(call)>>>(sums(call), output<T>(call));
	return triad::launched();
}

template <class T> int sum_fwd_tree(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	sum_tree_kernel<T, float><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), sums(call), n);
	sum_tree_kernel<float, T><<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), parts);
	return triad::launched();
}

template <class T> int sum_fwd_warp(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	sum_warp_kernel<T, float><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), sums(call), n);
	sum_warp_kernel<float, T><<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), parts);
	return triad::launched();
}

template <class T> int sum_fwd_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads * packs * triad::vector<T>);
	sum_vec_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), sums(call), n);
	sum_warp_kernel<float, T><<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), parts);
	return triad::launched();
}

template <class T> int sum_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->out[0]);
	if (n == 0) return TRIAD_OK;
	sum_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(input<T>(call, 1), output<T>(call), n);
	return triad::launched();
}

template <class T> int sum_bwd_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->out[0]);
	if (n == 0) return TRIAD_OK;
	const unsigned grid = triad::blocks_for(n, threads * triad::vector<T>);
	sum_bwd_vec_kernel<T><<<grid, threads, 0, triad::stream_of(call)>>>(input<T>(call, 1), output<T>(call), n);
	return triad::launched();
}

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(sum, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(one_sum).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_atomic)))
TRIAD_KERNEL(sum, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_tree)))
TRIAD_KERNEL(sum, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_warp)))
TRIAD_KERNEL(sum, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "x")).launch(TRIAD_BY_DTYPE(sum_fwd_vec)))
TRIAD_KERNEL(sum, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(sum_bwd_naive)))
TRIAD_KERNEL(sum, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::aligned(16, "grad_x")).launch(TRIAD_BY_DTYPE(sum_bwd_vec)))
