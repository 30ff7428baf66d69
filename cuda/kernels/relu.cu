// relu: y = x <= 0 ? 0 : x          backward: dx = x <= 0 ? 0 : dy
// Layout   x, y, dy, dx: [n], contiguous; fp32, fp16, bf16; computed in fp32.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  NaN stays NaN, which fmaxf(x, 0) does not do; the gradient at NaN is dy, and at 0 it is 0.
// Source   Nair and Hinton 2010, Rectified Linear Units Improve Restricted Boltzmann Machines
//   naive   a thread an element; the readable one, and the one to trust first
//   vec     16-byte accesses, two of them a thread and tensor before the first use; no branch. Costs:
//           contiguous tensors that begin at a multiple of 16 bytes
#include "elementwise.cuh"
#include "spec/relu.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- kernels ------------------------------------------------------------------------------------------------

template <class T> __global__ void relu_fwd_naive_kernel(const T *x, T *y, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]);
		y[i] = from_float<T>(v <= 0.0f ? 0.0f : v);
	}
}

template <class T> __global__ void relu_bwd_naive_kernel(const T *x, const T *dy, T *dx, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]), g = to_float(dy[i]);
		dx[i] = from_float<T>(v <= 0.0f ? 0.0f : g);
	}
}

struct Forward {
	static constexpr int inputs = 1, outputs = 1;
	__device__ void operator()(const float (&in)[1], float (&out)[1]) const {
		const float v = in[0];
		out[0] = v <= 0.0f ? 0.0f : v;
	}
};

struct Backward {
	static constexpr int inputs = 2, outputs = 1;
	__device__ void operator()(const float (&in)[2], float (&out)[1]) const {
		const float v = in[0], g = in[1];
		out[0] = v <= 0.0f ? 0.0f : g;
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------

constexpr int threads = 256;

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int relu_fwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	relu_fwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), output<T>(call), n);
	return triad::launched();
}

template <class T> int relu_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	relu_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), input<T>(call, 1), output<T>(call), n);
	return triad::launched();
}

template <class T> int relu_fwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Forward{}); }
template <class T> int relu_bwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Backward{}); }

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(relu, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(relu_fwd_naive)))
TRIAD_KERNEL(relu, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(relu_fwd_vec)))
TRIAD_KERNEL(relu, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(relu_bwd_naive)))
TRIAD_KERNEL(relu, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(relu_bwd_vec)))
