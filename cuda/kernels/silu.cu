// silu: y = x * sigmoid(x), sigmoid(x) = 1 / (1 + exp(-x))          backward with s = sigmoid(x): dx = dy * s * (1 + x * (1 - s))
// Layout   x, y, dy, dx: [n], contiguous; fp32, fp16, bf16; computed in fp32.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  x = -inf gives -inf * 0 = NaN, as the formula says.
// Source   Elfwing et al. 2017, arXiv:1702.03118
//   naive   a thread an element; the readable one, and the one to trust first
//   vec     16-byte accesses, two of them a thread and tensor before the first use; an exponential and a
//           quotient an element. Costs: contiguous tensors that begin at a multiple of 16 bytes
#include "elementwise.cuh"
#include "sigmoid.cuh"
#include "spec/silu.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

template <class T> __global__ void silu_fwd_naive_kernel(const T *x, T *y, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]);
		y[i] = from_float<T>(v / (1.0f + expf(-v)));
	}
}

template <class T> __global__ void silu_bwd_naive_kernel(const T *x, const T *dy, T *dx, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]), s = 1.0f / (1.0f + expf(-v));
		dx[i] = from_float<T>(to_float(dy[i]) * (s * (1.0f + v * (1.0f - s))));
	}
}

struct Forward {
	static constexpr int inputs = 1, outputs = 1;
	__device__ void operator()(const float (&in)[1], float (&out)[1]) const { out[0] = in[0] * triad::sigmoid(in[0]).value; }
};

struct Backward {
	static constexpr int inputs = 2, outputs = 1;
	__device__ void operator()(const float (&in)[2], float (&out)[1]) const {
		const triad::Sigmoid s = triad::sigmoid(in[0]);
		out[0] = in[1] * (s.value * (1.0f + in[0] * s.rest));
	}
};

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 256;

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }

template <class T> int silu_fwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	silu_fwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), output<T>(call), n);
	return triad::launched();
}

template <class T> int silu_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	silu_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), input<T>(call, 1),
	                                                                                               output<T>(call), n);
	return triad::launched();
}

template <class T> int silu_fwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Forward()); }
template <class T> int silu_bwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Backward()); }

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(silu, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(silu_fwd_naive)))
TRIAD_KERNEL(silu, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(silu_fwd_vec)))
TRIAD_KERNEL(silu, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(silu_bwd_naive)))
TRIAD_KERNEL(silu, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(silu_bwd_vec)))
