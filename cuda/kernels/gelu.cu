// gelu: y = x * Phi(x), Phi the normal distribution function: x/2 * (1 + erf(x/sqrt(2))), or with approximate = tanh
//       x/2 * (1 + tanh(z)), z = sqrt(2/pi) * (x + 0.044715 x^3)
// backward: dx = dy * (Phi(x) + x * exp(-x^2/2)/sqrt(2 pi)), or the derivative of the approximation
// Layout   x, y, dy, dx: [n], contiguous; fp32, fp16, bf16; computed in fp32.
// Limits   n = 0 launches nothing; a call outside a variant's own limit answers UNSUPPORTED.
// Special  x = -inf gives -inf * 0 = NaN, as the formula says; gradients of infinities are NaN likewise.
// Source   Hendrycks and Gimpel 2016, arXiv:1606.08415
//   naive   a thread an element, erff and tanhf; the readable one, and the one to trust first
//   vec     16-byte accesses; Phi by one exponential and a polynomial (normal.cuh), cheaper than erff;
//           tanh(z) by a sigmoid. Costs: a polynomial that had to be verified; contiguous tensors that begin
//           at a multiple of 16 bytes
#include "elementwise.cuh"
#include "normal.cuh"
#include "sigmoid.cuh"
#include "spec/gelu.cuh"

namespace {

using triad::from_float;
using triad::to_float;

constexpr float root_half = 0.707106781f, root_2_pi = 0.797884561f, density_0 = 0.398942280f, cubic = 0.044715f;

// ---- formulas ---------------------------------------------------------------------------------------------------------------------------

template <bool Tanh> __device__ inline float forward_of(float x) {
	if (Tanh) return 0.5f * x * (1.0f + tanhf(root_2_pi * (x + cubic * x * x * x)));
	return 0.5f * x * (1.0f + erff(x * root_half));
}

template <bool Tanh> __device__ inline float slope_of(float x) {
	if (!Tanh) return 0.5f * (1.0f + erff(x * root_half)) + x * density_0 * expf(-0.5f * x * x);
	const float t = tanhf(root_2_pi * (x + cubic * x * x * x));
	return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * (root_2_pi * (1.0f + 3.0f * cubic * x * x));
}

template <bool Tanh> struct Forward {
	static constexpr int inputs = 1, outputs = 1;
	__device__ void operator()(const float (&in)[1], float (&out)[1]) const {
		const float x = in[0];
		out[0] = x * (Tanh ? triad::sigmoid(2.0f * root_2_pi * x * (1.0f + cubic * x * x)).value : triad::normal(x).phi);
	}
};

template <bool Tanh> struct Backward {
	static constexpr int inputs = 2, outputs = 1;
	__device__ void operator()(const float (&in)[2], float (&out)[1]) const {
		const float x = in[0];
		if (Tanh) {
			const triad::Sigmoid s = triad::sigmoid(2.0f * root_2_pi * x * (1.0f + cubic * x * x));
			const float slope = 2.0f * root_2_pi * (1.0f + 3.0f * cubic * x * x);
			out[0] = in[1] * (s.value + x * slope * (s.value * s.rest));
		} else {
			const triad::Normal n = triad::normal(x);
			out[0] = in[1] * (n.phi + x * n.e * density_0);
		}
	}
};

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

template <bool Tanh, class T> __global__ void gelu_fwd_naive_kernel(const T *x, T *y, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) y[i] = from_float<T>(forward_of<Tanh>(to_float(x[i])));
}

template <bool Tanh, class T> __global__ void gelu_bwd_naive_kernel(const T *x, const T *dy, T *dx, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < n) dx[i] = from_float<T>(to_float(dy[i]) * slope_of<Tanh>(to_float(x[i])));
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 256;

template <class T> const T *input(const triad_call *call, int i) { return static_cast<const T *>(call->in[i].data); }
template <class T> T *output(const triad_call *call) { return static_cast<T *>(call->out[0].data); }
bool by_tanh(const triad_call *call) { return call->attr[0] != 0; } // approximate: none, tanh

template <class T> int gelu_fwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	const unsigned blocks = triad::blocks_for(n, threads);
	if (by_tanh(call)) {
		gelu_fwd_naive_kernel<true, T><<<blocks, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), output<T>(call), n);
	} else {
		gelu_fwd_naive_kernel<false, T><<<blocks, threads, 0, triad::stream_of(call)>>>(input<T>(call, 0), output<T>(call), n);
	}
	return triad::launched();
}

template <class T> int gelu_bwd_naive(const triad_call *call) {
	const int64_t n = triad::elements(call->in[0]);
	if (n == 0) return TRIAD_OK;
	const unsigned blocks = triad::blocks_for(n, threads);
	const T *x = input<T>(call, 0), *dy = input<T>(call, 1);
	if (by_tanh(call)) {
		gelu_bwd_naive_kernel<true, T><<<blocks, threads, 0, triad::stream_of(call)>>>(x, dy, output<T>(call), n);
	} else {
		gelu_bwd_naive_kernel<false, T><<<blocks, threads, 0, triad::stream_of(call)>>>(x, dy, output<T>(call), n);
	}
	return triad::launched();
}

template <class T> int gelu_fwd_vec(const triad_call *call) {
	return by_tanh(call) ? triad::elementwise_vec<T>(call, Forward<true>()) : triad::elementwise_vec<T>(call, Forward<false>());
}

template <class T> int gelu_bwd_vec(const triad_call *call) {
	return by_tanh(call) ? triad::elementwise_vec<T>(call, Backward<true>()) : triad::elementwise_vec<T>(call, Backward<false>());
}

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(gelu, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(gelu_fwd_naive)))
TRIAD_KERNEL(gelu, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(gelu_fwd_vec)))
TRIAD_KERNEL(gelu, naive, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(gelu_bwd_naive)))
TRIAD_KERNEL(gelu, vec, backward,
             .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::whole_vectors()).launch(TRIAD_BY_DTYPE(gelu_bwd_vec)))
