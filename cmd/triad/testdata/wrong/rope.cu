// Planted bugs in rotary embeddings: a thread a pair. `right` is right; every other variant is it with one line changed.
#include "arguments.cuh"
#include "element.cuh"
#include "register.cuh"

namespace {

using triad::from_float;
using triad::to_float;

enum Bug { right, interleaved_for_halves, sign, position_plus_1, cos_and_sin_swapped, offset_ignored, tail_not_launched, one_past_the_end,
           scribbles, in_place_pair, minus_angle_for_both, k_copied };

constexpr int threads = 64;

struct Shape {
	int64_t batch, seq, heads, half, offset, positions;
	bool interleaved;
};

template <class T, Bug B> __global__ void rope(T *x, const float *cos, const float *sin, T *out, Shape s, float direction) {
	const int64_t n = s.batch * s.seq * s.heads * s.half, i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (B == one_past_the_end && i == n) out[2 * n] = from_float<T>(0);
	if (i >= n) return;
	const int64_t pair = i % s.half, head = i / s.half, token = head / s.heads % s.seq;
	int64_t position = token + (B == offset_ignored ? 0 : s.offset);
	if (B == position_plus_1 && position + 1 < s.positions) position++;
	const bool neighbours = s.interleaved || B == interleaved_for_halves;
	const int64_t first = head * 2 * s.half + (neighbours ? 2 * pair : pair), second = first + (neighbours ? 1 : s.half);
	const float a = to_float(x[first]), b = to_float(x[second]);
	float c = cos[position * s.half + pair], d = direction * sin[position * s.half + pair];
	if (B == cos_and_sin_swapped) { const float e = c; c = d; d = e; }
	out[first] = from_float<T>(B == sign ? a * c + b * d : a * c - b * d);
	out[second] = from_float<T>(b * c + (B == in_place_pair ? to_float(out[first]) : a) * d);
	if (B == scribbles) x[first] = out[first];
}

template <Bug B> struct Rotation {
	// One of q and k.
	template <class T> static void one(const triad_call *call, int input, int output, int tables, float direction) {
		const triad_tensor &x = call->in[input];
		const Shape s = {x.shape[0], x.shape[1], x.shape[2], x.shape[3] / 2, static_cast<int64_t>(call->attr[1]), call->in[tables].shape[0], call->attr[0] != 0};
		const int64_t n = x.shape[0] * x.shape[1] * x.shape[2] * s.half, blocks = B == tail_not_launched ? n / threads : n / threads + 1;
		if (n == 0 || blocks == 0) return;
		if (B == k_copied && output == 1) {
			cudaMemcpyAsync(call->out[1].data, x.data, 2 * n * sizeof(T), cudaMemcpyDeviceToDevice, triad::stream_of(call));
			return;
		}
		rope<T, B><<<static_cast<unsigned>(blocks), threads, 0, triad::stream_of(call)>>>(
		    static_cast<T *>(x.data), static_cast<const float *>(call->in[tables].data), static_cast<const float *>(call->in[tables + 1].data),
		    static_cast<T *>(call->out[output].data), s, direction);
	}
	template <class T> static int forward(const triad_call *call) {
		one<T>(call, 0, 0, 2, 1);
		one<T>(call, 1, 1, 2, 1);
		return triad::launched();
	}
	template <class T> static int backward(const triad_call *call) {
		one<T>(call, 2, 0, 0, B == minus_angle_for_both ? 1 : -1);
		one<T>(call, 3, 1, 0, B == minus_angle_for_both ? 1 : -1);
		return triad::launched();
	}
};

int accepts(const triad_call *call, char *why, int32_t bytes) {
	triad::Check check(why, bytes);
	for (int i = 0; i < call->n_in; i++) check.contiguous(call->in[i], "an input");
	return check.status();
}

} // namespace

#define FORWARD(bug) TRIAD_KERNEL(rope, bug, forward, .contract("fp32").dtypes(triad::floats).outputs(3).accepts(accepts).launch(TRIAD_BY_DTYPE(Rotation<bug>::forward)))
#define BACKWARD(bug) TRIAD_KERNEL(rope, bug, backward, .contract("fp32").dtypes(triad::floats).outputs(3).accepts(accepts).launch(TRIAD_BY_DTYPE_OF(2, Rotation<bug>::backward)))
FORWARD(right)
FORWARD(interleaved_for_halves)
FORWARD(sign)
FORWARD(position_plus_1)
FORWARD(cos_and_sin_swapped)
FORWARD(offset_ignored)
FORWARD(k_copied)
FORWARD(tail_not_launched)
FORWARD(one_past_the_end)
FORWARD(scribbles)
FORWARD(in_place_pair)
BACKWARD(right)
BACKWARD(minus_angle_for_both)
BACKWARD(k_copied)
BACKWARD(offset_ignored)
