// hardtanh: y = x <= low ? low : x >= high ? high : x          backward: dx = x <= low || x >= high ? 0 : dy
// Layout   x, y, dy, dx: [n], contiguous; fp32, fp16, bf16; computed in fp32.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  NaN stays NaN, which fminf and fmaxf do not do; the gradient at NaN is dy, and at both bounds it is 0.
// Source   Collobert 2004, Large Scale Machine Learning, section 2.3
//   naive   a thread an element; the readable one, and the one to trust first
//   vec     16-byte accesses, two of them a thread and tensor before the first use; no branch. Costs:
//           contiguous tensors that begin at a multiple of 16 bytes
#include "elementwise.cuh"
#include "spec/hardtanh.cuh"

namespace {

using triad::from_float;
using triad::to_float;

// ---- kernels ------------------------------------------------------------------------------------------------

template <class T> __global__ void hardtanh_fwd_naive_kernel(const T *x, T *y, int64_t n, float low, float high) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]);
		y[i] = from_float<T>(v <= low ? low : v >= high ? high : v);
	}
}

template <class T> __global__ void hardtanh_bwd_naive_kernel(const T *x, const T *dy, T *dx, int64_t n, float low, float high) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) {
		const float v = to_float(x[i]), g = to_float(dy[i]);
		dx[i] = from_float<T>(v <= low || v >= high ? 0.0f : g);
	}
}

struct Forward {
	static constexpr int inputs = 1, outputs = 1;
	float low, high;
	__device__ void operator()(const float (&in)[1], float (&out)[1]) const {
		const float v = in[0];
		out[0] = v <= low ? low : v >= high ? high : v;
	}
};

struct Backward {
	static constexpr int inputs = 2, outputs = 1;
	float low, high;
	__device__ void operator()(const float (&in)[2], float (&out)[1]) const {
		const float v = in[0], g = in[1];
		out[0] = v <= low || v >= high ? 0.0f : g;
	}
};

// ---- launchers ----------------------------------------------------------------------------------------------

constexpr int threads = 256;

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
float low(const triad_call *call) { return static_cast<float>(call->attr[0]); }
float high(const triad_call *call) { return static_cast<float>(call->attr[1]); }

template <class T> int hardtanh_fwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	hardtanh_fwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), output<T>(call), n, low(call), high(call));
	return triad::launched();
}

template <class T> int hardtanh_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	hardtanh_bwd_naive_kernel<T><<<triad::blocks_for(n, threads), threads, 0, triad::stream_of(call)>>>(
	    input<T>(call, 0), input<T>(call, 1), output<T>(call), n, low(call), high(call));
	return triad::launched();
}

template <class T> int hardtanh_fwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Forward{low(call), high(call)}); }
template <class T> int hardtanh_bwd_vec(const triad_call *call) { return triad::elementwise_vec<T>(call, Backward{low(call), high(call)}); }

} // namespace

// ---- registration -------------------------------------------------------------------------------------------

TRIAD_KERNEL(hardtanh, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(hardtanh_fwd_naive)))
TRIAD_KERNEL(hardtanh, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(hardtanh_fwd_vec)))
TRIAD_KERNEL(hardtanh, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(hardtanh_bwd_naive)))
TRIAD_KERNEL(hardtanh, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors())
             .launch(TRIAD_BY_DTYPE(hardtanh_bwd_vec)))
