// conv1d for Hopper, both passes: more than one tile of places and of channels, channels and places that fill no step, ends of rows that taps reach
// beyond, rows with gaps, a stride, and a sum of grad_w in several parts. Elements are small, so that no sum is rounded but in the results.
#include <cstdio>
#include <vector>

#include "conv1d/sm90_tma.cuh"

using namespace triad;
using T = __nv_bfloat16;

static uint32_t state = 12345;
static int draw(int count) { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % count; }

template <class E> static E *managed(int64_t count) {
	E *x;
	cudaMallocManaged(&x, static_cast<size_t>(count) * sizeof(E));
	return x;
}

// Values is a tensor of three dims whose rows are `pitch` apart.
struct Values {
	int64_t shape[3], pitch;
	T *data;

	Values(int64_t a, int64_t b, int64_t c, int64_t pitch) : shape{a, b, c}, pitch(pitch), data(managed<T>(a * b * pitch)) {
		for (int64_t i = 0; i < a * b * pitch; i++) data[i] = __float2bfloat16(i % pitch < c ? static_cast<float>(draw(3) - 1) : NAN);
	}
	float operator()(int64_t a, int64_t b, int64_t c) const {
		return c < 0 || c >= shape[2] ? 0.0f : __bfloat162float(data[(a * shape[1] + b) * pitch + c]);
	}
	triad_tensor tensor() const { return {data, TRIAD_BF16, 3, {shape[0], shape[1], shape[2]}, {shape[1] * pitch, pitch, 1}}; }
};

static int differs(const char *what, int64_t a, int64_t b, int64_t c, float got, float want) {
	if (got == __bfloat162float(__float2bfloat16(want))) return 0;
	printf("%s[%d, %d, %d] is %g, want %g\n", what, static_cast<int>(a), static_cast<int>(b), static_cast<int>(c), static_cast<double>(got),
	       static_cast<double>(want));
	return 1;
}

static int launched(const char *what, int status) {
	if (status == 0 && cudaDeviceSynchronize() == cudaSuccess) return 0;
	printf("%s: status %d\n", what, status);
	return 1;
}

static int check(int64_t batch, int64_t in, int64_t length, int64_t out, int64_t taps, int64_t stride, int64_t padding) {
	const int64_t places = (length + 2 * padding - taps) / stride + 1, wide = (places + 15) / 8 * 8;
	const Values x(batch, in, length, (length + 15) / 8 * 8), w(out, in, taps, taps), bias(1, 1, out, out), dy(batch, out, places, wide);
	const Values y(batch, out, places, places), dx(batch, in, length, length), dw(out, in, taps, taps), db(1, 1, out, out);
	triad_tensor of_bias = bias.tensor(), of_db = db.tensor();
	for (triad_tensor *t : {&of_bias, &of_db}) t->rank = 1, t->shape[0] = out, t->stride[0] = 1;
	const double attributes[] = {1, static_cast<double>(stride), static_cast<double>(padding)};
	const triad_tensor forward[] = {x.tensor(), w.tensor(), of_bias}, of_y[] = {y.tensor()};
	const triad_tensor backward[] = {x.tensor(), w.tensor(), dy.tensor()}, gradients[] = {dx.tensor(), dw.tensor(), of_db};
	triad_call call = {};
	call.size = sizeof call, call.n_in = 3, call.n_out = 1, call.n_attr = 3, call.in = forward, call.out = of_y, call.attr = attributes;
	call.workspace = managed<char>(conv1d::mma_workspace(&call));
	if (launched("forward", conv1d::tma_forward<T>(&call))) return 1;
	call.n_out = 3, call.in = backward, call.out = gradients, call.workspace = nullptr;
	call.workspace = managed<char>(conv1d::mma_workspace(&call));
	if (launched("backward", conv1d::tma_backward<T>(&call))) return 1;
	const bool biased = conv1d::rows_bias<T>(&call);
	if (biased != (places % 8 == 0) || launched("grad_bias", 0)) return 1;
	std::vector<float> want_dx(batch * in * length), want_dw(out * in * taps), want_db(out);
	for (int64_t b = 0; b < batch; b++)
		for (int64_t o = 0; o < out; o++)
			for (int64_t l = 0; l < places; l++) {
				float sum = bias(0, 0, o);
				want_db[o] += dy(b, o, l);
				for (int64_t c = 0; c < in; c++)
					for (int64_t t = 0; t < taps; t++) {
						const int64_t at = l * stride + t - padding;
						if (at < 0 || at >= length) continue;
						sum += w(o, c, t) * x(b, c, at);
						want_dx[(b * in + c) * length + at] += w(o, c, t) * dy(b, o, l);
						want_dw[(o * in + c) * taps + t] += dy(b, o, l) * x(b, c, at);
					}
				if (differs("y", b, o, l, y(b, o, l), sum)) return 1;
			}
	for (int64_t b = 0; b < batch; b++)
		for (int64_t c = 0; c < in; c++)
			for (int64_t i = 0; i < length; i++)
				if (differs("grad_x", b, c, i, dx(b, c, i), want_dx[(b * in + c) * length + i])) return 1;
	for (int64_t o = 0; o < out; o++)
		for (int64_t c = 0; c < in; c++)
			for (int64_t t = 0; t < taps; t++)
				if (differs("grad_w", o, c, t, dw(o, c, t), want_dw[(o * in + c) * taps + t])) return 1;
	for (int64_t o = 0; biased && o < out; o++)
		if (differs("grad_bias", 0, 0, o, db(0, 0, o), want_db[o])) return 1;
	return 0;
}

int main() {
	const int bad = check(2, 72, 136, 136, 5, 1, 2) + check(3, 24, 40, 24, 3, 2, 0);
	if (bad == 0) puts("ok");
	return bad;
}
