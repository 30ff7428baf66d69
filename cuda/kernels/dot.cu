// dot: y = a[0]*b[0] + a[1]*b[1] + ... + a[n-1]*b[n-1]          backward: da[i] = dy * b[i], db[i] = dy * a[i]
// Layout   a, b, da, db: [n], contiguous; y, dy: [1]; fp32, fp16, bf16; multiplied and added in fp32.
// Limits   n = 0 gives 0; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Sanders and Kandrot 2010, CUDA by Example, section 5.3: dot product
//   atomic  a thread adds up every so-many-th product and then adds its sum to one number in memory. The order of
//           these additions is that in which threads arrive: two runs may differ in the last bits.
//   tree    a block adds up in shared memory, half of its threads fewer at each step, and a second launch adds up
//           the sums of the blocks: the same bits in every run. A step costs a barrier.
//   warp    as tree, but the 32 threads of a warp pass their sums by shuffles: two barriers in place of eight
//   vec     as warp, with 16-byte loads, two of them a thread and vector before the first use
//   naive   backward: a thread an element of both gradients
//   vec     backward: 16-byte accesses
#include "element.cuh"
#include "elementwise.cuh"
#include "pack.cuh"
#include "rows.cuh"
#include "spec/dot.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256;
constexpr int most_blocks = 1024; // that many run at once on a large GPU; each leaves one sum in the workspace

// ---- kernels ------------------------------------------------------------------------------------------------

// products is the sum of the products that fall to this thread: threads of a warp read neighbours.
template <class T> __device__ float products(const T *a, const T *b, int64_t n) {
	triad::LongSum sum;
	const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
	for (int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x; i < n; i += step)
		sum.add(to_float(a[i]) * to_float(b[i]));
	return sum.total();
}

template <class T> __global__ void dot_atomic_kernel(const T *a, const T *b, float *total, int64_t n) {
	atomicAdd(total, products(a, b, n));
}

template <class T> __global__ void dot_store_kernel(const float *total, T *y) { *y = from_float<T>(*total); }

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

// Block b writes the sum of its products to y[b].
template <class T> __global__ void dot_tree_kernel(const T *a, const T *b, float *y, int64_t n) {
	const float sum = tree_sum(products(a, b, n));
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <class T> __global__ void dot_warp_kernel(const T *a, const T *b, float *y, int64_t n) {
	const float sum = shuffled_sum(products(a, b, n));
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// dot_finish_kernel is one block that adds up the sums of the others.
template <class T, float (*BlockSum)(float)> __global__ void dot_finish_kernel(const float *sums, T *y, int parts) {
	float sum = 0.0f;
	for (int i = threadIdx.x; i < parts; i += threads) sum += sums[i];
	sum = BlockSum(sum);
	if (threadIdx.x == 0) *y = from_float<T>(sum);
}

constexpr int packs = 2; // loads of 16 bytes in flight for each thread and vector

template <class T>
__global__ void __launch_bounds__(threads) dot_vec_kernel(const T *a, const T *b, float *y, int64_t n) {
	constexpr int V = triad::vector<T>;
	constexpr int64_t tile = static_cast<int64_t>(threads) * packs * V;
	float sum = 0.0f;
	int64_t first = blockIdx.x * tile;
	for (; first + tile <= n; first += gridDim.x * tile) {
		triad::Pack<T, V> of_a[packs], of_b[packs];
#pragma unroll
		for (int p = 0; p < packs; p++) {
			of_a[p] = triad::fetch<V>(a + first + (p * threads + threadIdx.x) * V);
			of_b[p] = triad::fetch<V>(b + first + (p * threads + threadIdx.x) * V);
		}
		float part[packs] = {};
#pragma unroll
		for (int p = 0; p < packs; p++) {
			float u[V], v[V];
			triad::unpack(of_a[p], u);
			triad::unpack(of_b[p], v);
#pragma unroll
			for (int j = 0; j < V; j++) part[p] += u[j] * v[j];
		}
		sum += part[0] + part[1];
	}
	// what is left is less than a tile, and the block's whose turn it is
	for (int64_t i = first + threadIdx.x; i < n; i += threads) sum += to_float(a[i]) * to_float(b[i]);
	sum = shuffled_sum(sum);
	if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

template <class T>
__global__ void dot_bwd_naive_kernel(const T *a, const T *b, const T *dy, T *da, T *db, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= n) return;
	const float g = to_float(*dy);
	if (da != nullptr) da[i] = from_float<T>(g * to_float(b[i]));
	if (db != nullptr) db[i] = from_float<T>(g * to_float(a[i]));
}

// Gradients are the two products at one place.
template <class T> struct Gradients {
	static constexpr int inputs = 2, outputs = 2;
	const T *dy;
	__device__ void operator()(const float (&in)[2], float (&out)[2]) const {
		out[0] = to_float(*dy) * in[1];
		out[1] = to_float(*dy) * in[0];
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }
float *sums(const triad_call *call) { return static_cast<float *>(call->workspace); }

// blocks is the grid of the first stage, at least one block: without elements the sum is 0.
unsigned blocks(int64_t n, int64_t per_block) {
	const unsigned all = triad::blocks_for(n, per_block);
	return all < 1 ? 1 : all > most_blocks ? most_blocks : all;
}

int64_t one_sum(const triad_call *) { return sizeof(float); }
int64_t sum_a_block(const triad_call *) { return most_blocks * sizeof(float); }

template <class T> int dot_fwd_atomic(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (const cudaError_t error = cudaMemsetAsync(sums(call), 0, sizeof(float), triad::stream_of(call))) return error;
	if (n > 0)
		dot_atomic_kernel<T><<<blocks(n, threads), threads, 0, triad::stream_of(call)>>>(
		    input<T>(call, 0), input<T>(call, 1), sums(call), n);
	dot_store_kernel<T><<<1, 1, 0, triad::stream_of(call)>>>(sums(call), output<T>(call, 0));
	return triad::launched();
}

template <class T> int dot_fwd_tree(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	dot_tree_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	dot_finish_kernel<T, tree_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call, 0), static_cast<int>(parts));
	return triad::launched();
}

template <class T> int dot_fwd_warp(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads);
	dot_warp_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	dot_finish_kernel<T, shuffled_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call, 0), static_cast<int>(parts));
	return triad::launched();
}

template <class T> int dot_fwd_vec(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	const unsigned parts = blocks(n, threads * packs * triad::vector<T>);
	dot_vec_kernel<T><<<parts, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1), sums(call), n);
	dot_finish_kernel<T, shuffled_sum>
	    <<<1, threads, 0, triad::stream_of(call)>>>(sums(call), output<T>(call, 0), static_cast<int>(parts));
	return triad::launched();
}

template <class T> int dot_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	dot_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), input<T>(call, 1), input<T>(call, 2), output<T>(call, 0), output<T>(call, 1), n);
	return triad::launched();
}

template <class T> int dot_bwd_vec(const triad_call *call) {
	return triad::elementwise_vec<T>(call, Gradients<T>{input<T>(call, 2)});
}

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(dot, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(one_sum)
             .limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(dot_fwd_atomic)))
TRIAD_KERNEL(dot, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_fwd_tree)))
TRIAD_KERNEL(dot, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_fwd_warp)))
TRIAD_KERNEL(dot, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "a", "b")).launch(TRIAD_BY_DTYPE(dot_fwd_vec)))
TRIAD_KERNEL(dot, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_bwd_naive)))
TRIAD_KERNEL(dot, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3)
             .limits(triad::contiguous(), triad::aligned(16, "a", "b", "grad_a", "grad_b"))
             .launch(TRIAD_BY_DTYPE(dot_bwd_vec)))
