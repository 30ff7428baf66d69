// sum: y = x[0] + x[1] + ... + x[n-1]          backward: dx[i] = dy
// Layout   x, dx: [n], contiguous; y, dy: [1]; fp32, fp16, bf16; added in fp32.
// Limits   n = 0 gives 0; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Harris 2007, Optimizing Parallel Reduction in CUDA
// The forwards are the ladder of total.cuh, which explains each step; the term is below.
//   atomic  the threads' sums of elements are added to one number in memory, in the order in which they
//           arrive. Costs: they queue up at one address, and last bits that differ from run to run
//   tree    each block adds up in shared memory, a second launch adds up the blocks: the same bits in every
//           run. Costs: a barrier for each step
//   warp    as tree, but a warp adds up by shuffles. Two barriers in place of eight. Costs: every lane of a
//           warp has to reach the shuffles
//   vec     as warp, with 16-byte loads, four of them a thread before the first use. Costs: registers for
//           what is under way
//   cub     NVIDIA's DeviceReduce, compiled with our kernels; see include/cub_library.cuh
//   naive   backward: a thread an element
//   vec     backward: 16-byte stores
#include "cub_library.cuh"
#include "pack.cuh"
#include "total.cuh"
#include "spec/sum.cuh"

namespace {

constexpr int threads = 256; // of a block of the backward

// Element is the term: x[i].
struct Element {
	static constexpr int inputs = 1;
	__device__ float operator()(const float (&in)[1]) const { return in[0]; }
	__device__ static float result(float total, float) { return total; }
};

// ---- kernels -----------------------------------------------------------------------------------------------

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

// ---- launchers ---------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int sum_fwd_atomic(const triad_call *call) { return triad::total_atomic<T, Element>(call); }
template <class T> int sum_fwd_tree(const triad_call *call) { return triad::total_tree<T, Element>(call); }
template <class T> int sum_fwd_warp(const triad_call *call) { return triad::total_warp<T, Element>(call); }
template <class T> int sum_fwd_vec(const triad_call *call) { return triad::total_vec<T, Element>(call); }

struct CubSum;
#ifndef __CUEMU__
struct CubSum {
	template <class T> static cudaError_t run(const triad_call *call, void *scratch, size_t &bytes) {
		return cub::DeviceReduce::Reduce(scratch, bytes, triad::cub_input<T>(call->in[0]), triad::cub_output<T>(call->out[0]),
		                                 triad::elements(call->in[0]), triad::CubPlus(), triad::cub_zero<T>(), triad::stream_of(call));
	}
};
#endif

template <class T> int sum_fwd_cub(const triad_call *call) { return triad::cub_run<CubSum, T>(call); }

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

// ---- registration ------------------------------------------------------------------------------------------

TRIAD_KERNEL(sum, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(triad::one_sum).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_atomic)))
TRIAD_KERNEL(sum, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_tree)))
TRIAD_KERNEL(sum, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(sum_fwd_warp)))
TRIAD_KERNEL(sum, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "x")).launch(TRIAD_BY_DTYPE(sum_fwd_vec)))
TRIAD_KERNEL(sum, cub, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::cub_bytes<CubSum>)
             .limits(triad::contiguous(), triad::cub_limit()).launch(TRIAD_BY_DTYPE(sum_fwd_cub)))
TRIAD_KERNEL(sum, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).launch(TRIAD_BY_DTYPE(sum_bwd_naive)))
TRIAD_KERNEL(sum, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::aligned(16, "grad_x")).launch(TRIAD_BY_DTYPE(sum_bwd_vec)))
