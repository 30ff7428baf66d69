// Planted bugs in SwiGLU: a thread an element. `right` is right; every other variant is it with one line changed.
#include "arguments.cuh"
#include "element.cuh"
#include "register.cuh"

namespace {

using triad::from_float;
using triad::to_float;

enum Bug { right, swapped, sigmoid_for_silu, gelu_for_silu, overflowing, up_ignored, tail_not_launched, one_past_the_end, scribbles, not_my_tile };

constexpr int threads = 64;

template <Bug B> __device__ float silu(float g) {
	if (B == sigmoid_for_silu) return 1 / (1 + expf(-g));
	if (B == gelu_for_silu) return g * 0.5f * (1 + erff(g * 0.70710678f));
	if (B == overflowing) return g * expf(g) / (1 + expf(g));
	return g / (1 + expf(-g));
}

template <class T, Bug B> __global__ void swiglu(T *gate, const T *up, T *y, int64_t n) {
	__shared__ float tile[threads];
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	const float g = i < n ? to_float((B == swapped ? up : gate)[i]) : 0, u = i < n ? to_float((B == swapped ? gate : up)[i]) : 0;
	if (B == not_my_tile) {
		tile[threads - 1 - threadIdx.x] = u; // read by its owner without a barrier in between
	} else {
		tile[threadIdx.x] = u;
	}
	const float mine = B == not_my_tile ? tile[threadIdx.x] : B == up_ignored ? 1.0f : tile[threadIdx.x];
	if (i < n) y[i] = from_float<T>(silu<B>(g) * mine);
	if (B == one_past_the_end && i == n) y[i] = from_float<T>(0);
	if (B == scribbles && i < n) gate[i] = from_float<T>(silu<B>(g));
}

template <Bug B> struct Forward {
	template <class T> static int launch(const triad_call *call) {
		const int64_t n = triad::elements(call->out[0]);
		const int64_t blocks = B == tail_not_launched ? n / threads : n / threads + 1;
		if (n == 0 || blocks == 0) return TRIAD_OK;
		swiglu<T, B><<<static_cast<unsigned>(blocks), threads, 0, triad::stream_of(call)>>>(
		    static_cast<T *>(call->in[0].data), static_cast<const T *>(call->in[1].data), static_cast<T *>(call->out[0].data), n);
		return triad::launched();
	}
};

enum BackwardBug { right_backward, term_missing, swapped_outputs, up_for_upstream, last_block_not_launched };

template <class T, BackwardBug B> __global__ void backward(const T *gate, const T *up, const T *dy, T *dgate, T *dup, int64_t n) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= n) return;
	const float g = to_float(gate[i]), u = to_float(up[i]), d = B == up_for_upstream ? 1.0f : to_float(dy[i]), s = 1 / (1 + expf(-g));
	const T to_gate = from_float<T>(d * u * (s * (B == term_missing ? 1.0f : 1 + g * (1 - s)))), to_up = from_float<T>(d * silu<right>(g));
	dgate[i] = B == swapped_outputs ? to_up : to_gate;
	dup[i] = B == swapped_outputs ? to_gate : to_up;
}

template <BackwardBug B> struct Backward {
	template <class T> static int launch(const triad_call *call) {
		const int64_t n = triad::elements(call->out[0]);
		if (n == 0) return TRIAD_OK;
		const auto in = [&](int i) { return static_cast<const T *>(call->in[i].data); };
		const int64_t blocks = B == last_block_not_launched && n > threads ? n / threads : (n + threads - 1) / threads;
		backward<T, B><<<static_cast<unsigned>(blocks), threads, 0, triad::stream_of(call)>>>(
		    in(0), in(1), in(2), static_cast<T *>(call->out[0].data), static_cast<T *>(call->out[1].data), n);
		return triad::launched();
	}
};

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous(call->in[i], "an input");
	return check.status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(swiglu, bug, forward, .contract("fp32").dtypes(triad::floats).outputs(1).accepts(accepts).launch(TRIAD_BY_DTYPE(Forward<bug>::launch)))
#define BACKWARD(bug) TRIAD_KERNEL(swiglu, bug, backward, .contract("fp32").dtypes(triad::floats).outputs(3).accepts(accepts).launch(TRIAD_BY_DTYPE(Backward<bug>::launch)))
FORWARD(right)
FORWARD(swapped)
FORWARD(sigmoid_for_silu)
FORWARD(gelu_for_silu)
FORWARD(overflowing)
FORWARD(up_ignored)
FORWARD(tail_not_launched)
FORWARD(one_past_the_end)
FORWARD(scribbles)
FORWARD(not_my_tile)
BACKWARD(right_backward)
BACKWARD(term_missing)
BACKWARD(swapped_outputs)
BACKWARD(up_for_upstream)
BACKWARD(last_block_not_launched)
