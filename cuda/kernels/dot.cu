// dot: y = a[0]*b[0] + a[1]*b[1] + ... + a[n-1]*b[n-1]          backward: da[i] = dy * b[i], db[i] = dy * a[i]
// Layout   a, b, da, db: [n], contiguous; y, dy: [1]; fp32, fp16, bf16; multiplied and added in fp32.
// Limits   n = 0 gives 0; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Sanders and Kandrot 2010, CUDA by Example, section 5.3: dot product
// The forwards are the ladder of total.cuh, which explains each step; the term is below.
//   atomic  the threads' sums of products are added to one number in memory, in the order in which they
//           arrive. Costs: they queue up at one address, and last bits that differ from run to run
//   tree    each block adds up in shared memory, a second launch adds up the blocks: the same bits in every
//           run. Costs: a barrier for each step
//   warp    as tree, but a warp adds up by shuffles. Two barriers in place of eight. Costs: every lane of a
//           warp has to reach the shuffles
//   vec     as warp, with 16-byte loads, four of them a thread before the first use. Costs: registers for
//           what is under way
//   naive   backward: a thread an element of both gradients
//   vec     backward: 16-byte accesses
#include "element.cuh"
#include "elementwise.cuh"
#include "total.cuh"
#include "spec/dot.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr int threads = 256; // of a block of the backward

// Product is the term: a[i] * b[i].
struct Product {
	static constexpr int inputs = 2;
	__device__ float operator()(const float (&in)[2]) const { return in[0] * in[1]; }
	__device__ static float result(float total, float) { return total; }
};

// ---- kernels -----------------------------------------------------------------------------------------------

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

// ---- launchers ---------------------------------------------------------------------------------------------

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call, int i) { return static_cast<T *>(call->out[i].data); }

template <class T> int dot_fwd_atomic(const triad_call *call) { return triad::total_atomic<T, Product>(call); }
template <class T> int dot_fwd_tree(const triad_call *call) { return triad::total_tree<T, Product>(call); }
template <class T> int dot_fwd_warp(const triad_call *call) { return triad::total_warp<T, Product>(call); }
template <class T> int dot_fwd_vec(const triad_call *call) { return triad::total_vec<T, Product>(call); }

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

// ---- registration ------------------------------------------------------------------------------------------

TRIAD_KERNEL(dot, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(triad::one_sum)
             .limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(dot_fwd_atomic)))
TRIAD_KERNEL(dot, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_fwd_tree)))
TRIAD_KERNEL(dot, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_fwd_warp)))
TRIAD_KERNEL(dot, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "a", "b")).launch(TRIAD_BY_DTYPE(dot_fwd_vec)))
TRIAD_KERNEL(dot, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(dot_bwd_naive)))
TRIAD_KERNEL(dot, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(3)
             .limits(triad::contiguous(), triad::aligned(16, "a", "b", "grad_a", "grad_b"))
             .launch(TRIAD_BY_DTYPE(dot_bwd_vec)))
