// mse: y = ((x[0]-t[0])^2 + (x[1]-t[1])^2 + ... + (x[n-1]-t[n-1])^2) / n
// Layout   x, t: [n], contiguous; y: [1]; fp32, fp16, bf16; everything in fp32.
// Limits   n is at least 1; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Gauss 1821, Theoria combinationis observationum erroribus minimis obnoxiae
//   atomic  a thread adds up every so-many-th square and then adds its sum to one number in memory. The order of
//           these additions is that in which threads arrive: two runs may differ in the last bits.
//   tree    a block adds up in shared memory, half of its threads fewer at each step, and a second launch adds up
//           the sums of the blocks and divides: the same bits in every run. A step costs a barrier.
//   warp    as tree, but the 32 threads of a warp pass their sums by shuffles: two barriers in place of eight
//   vec     as warp, with 16-byte loads, two of them a thread and vector before the first use
#include "element.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/mse.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;
constexpr int most_blocks = 1024; // that many run at once on a large GPU; each leaves one sum in the workspace

// ---- kernels ------------------------------------------------------------------------------------------------

__device__ float square(float v) { return v * v; }

// squares is the sum of the squares that fall to this thread: threads of a warp read neighbours.
template <class T> __device__ float squares(const T *x, const T *t, int64_t n) {
	triad::LongSum sum;
	const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
		sum.add(square(to_float(x[i]) - to_float(t[i])));
	return sum.total();
}

template <class T> __global__ void mse_atomic_kernel(const T *x, const T *t, float *total, int64_t n) {
	atomicAdd(total, squares(x, t, n));
}

template <class T> __global__ void mse_store_kernel(const float *total, T *y, float n) { *y = from_float<T>(*total / n); }

// tree_sum: thread 0 gets the sum over the block.
__device__ float tree_sum(float v) {
	__shared__ float sums[threads];
	sums[threadIdx.x] = v;
	for (int half = threads / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
	}
	return sums[0];
}

// warp_sum: lane 0 gets the sum over the warp.
__device__ float warp_sum(float v) {
	for (int lanes = 16; lanes > 0; lanes /= 2) v += __shfl_down_sync(0xffffffffu, v, lanes);
	return v;
}

// shuffled_sum: thread 0 gets the sum over the block: that of each warp, and of these in the first warp.
__device__ float shuffled_sum(float v) {
	__shared__ float sums[threads / 32];
	v = warp_sum(v);
	if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
	__syncthreads();
	return threadIdx.x < 32 ? warp_sum(threadIdx.x < threads / 32 ? sums[threadIdx.x] : 0.0f) : 0.0f;
}

// Block b writes the sum of its squares to y[b].
template <class T> __global__ void mse_tree_kernel(const T *x, const T *t, float *y, int64_t n) {
	const float sum = tree_sum(squares(x, t, n));
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <class T> __global__ void mse_warp_kernel(const T *x, const T *t, float *y, int64_t n) {
	const float sum = shuffled_sum(squares(x, t, n));
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// mse_finish_kernel is one block that adds up the sums of the others and divides by the number of elements.
template <class T, float (*BlockSum)(float)> __global__ void mse_finish_kernel(const float *sums, T *y, int parts, float n) {
	float sum = 0.0f;
	for (int i = threadIdx.x; i < parts; i += threads) sum += sums[i];
	sum = BlockSum(sum);
	if (threadIdx.x == 0) *y = from_float<T>(sum / n);
}

constexpr int packs = 2; // loads of 16 bytes in flight for each thread and vector

template <class T>
__global__ void __launch_bounds__(threads) mse_vec_kernel(const T *x, const T *t, float *y, int64_t n) {
	constexpr int V = triad::vector<T>;
	constexpr int64_t tile = static_cast<int64_t>(threads) * packs * V;
	float sum = 0.0f;
	int64_t first = blockIdx.x * tile;
	for (; first + tile <= n; first += gridDim.x * tile) {
		triad::Pack<T, V> of_x[packs], of_t[packs];
#pragma unroll
		for (int p = 0; p < packs; p++) {
			of_x[p] = triad::fetch<V>(x + first + (p * threads + threadIdx.x) * V);
			of_t[p] = triad::fetch<V>(t + first + (p * threads + threadIdx.x) * V);
		}
		float part[packs] = {};
#pragma unroll
		for (int p = 0; p < packs; p++) {
			float u[V], v[V];
			triad::unpack(of_x[p], u);
			triad::unpack(of_t[p], v);
#pragma unroll
			for (int j = 0; j < V; j++) part[p] += square(u[j] - v[j]);
		}
		sum += part[0] + part[1];
	}
	// what is left is less than a tile, and the block's whose turn it is
	for (int64_t i = first + threadIdx.x; i < n; i += threads) sum += square(to_float(x[i]) - to_float(t[i]));
	sum = shuffled_sum(sum);
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// ---- launchers ----------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
float *sums(const triad_call *call) { return static_cast<float *>(call->workspace); }

// blocks is the grid of the first stage.
unsigned blocks(int64_t n, int64_t per_block) {
	const unsigned all = triad::blocks_for(n, per_block);
	return all > most_blocks ? most_blocks : all;
}

int64_t one_sum(const triad_call *) { return sizeof(float); }
int64_t sum_a_block(const triad_call *) { return most_blocks * sizeof(float); }

template <class T> int mse_fwd_atomic(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (const cudaError_t error = cudaMemsetAsync(sums(call), 0, sizeof(float), triad::stream_of(call))) return error;
	mse_atomic_kernel<T><<<blocks(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), input<T>(call, 1), sums(call), n);
	mse_store_kernel<T><<<1, 1, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), static_cast<float>(n));
	return triad::launched();
}

template <class T> int mse_fwd_tree(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	mse_tree_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	mse_finish_kernel<T, tree_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), static_cast<int>(parts), static_cast<float>(n));
	return triad::launched();
}

template <class T> int mse_fwd_warp(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	mse_warp_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	mse_finish_kernel<T, shuffled_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), static_cast<int>(parts), static_cast<float>(n));
	return triad::launched();
}

template <class T> int mse_fwd_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads * packs * triad::vector<T>);
	mse_vec_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	mse_finish_kernel<T, shuffled_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call), static_cast<int>(parts), static_cast<float>(n));
	return triad::launched();
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(mse, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(one_sum)
             .limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(mse_fwd_atomic)))
TRIAD_KERNEL(mse, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(mse_fwd_tree)))
TRIAD_KERNEL(mse, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(mse_fwd_warp)))
TRIAD_KERNEL(mse, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "x", "t")).launch(TRIAD_BY_DTYPE(mse_fwd_vec)))
