// The gradients of linear_cross_entropy for Hopper where the classes need several bands: a last band of one class, an ignored token that holds NaN, a
// reduction with a tail. There is so little room for gradients of logits that a band is one tile wide.
#include <cmath>
#include <cstdio>
#include <vector>

#include "linear_cross_entropy/sm90_tma_backward.cuh"

using namespace triad;
using T = __nv_bfloat16;

template <class E> static E *managed(int64_t count) {
	E *x;
	cudaMallocManaged(&x, count * sizeof(E));
	return x;
}

static uint32_t state = 12345;
static float draw() { return static_cast<float>(static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % 5 - 2) / 4; }

constexpr int64_t tokens = 70, dim = 72, classes = 257, ignored_token = 3, ignored = -100;

static bool wrong(const char *what, int64_t i, float got, double want, double size) {
	if (fabs(got - want) <= 0x1p-7 * fabs(want) + 0x1p-8 * size) return false;
	printf("%s %d is %g, want %g\n", what, static_cast<int>(i), static_cast<double>(got), want);
	return true;
}

int main() {
	T *const hidden = managed<T>(tokens * dim), *const weight = managed<T>(classes * dim), *const dhidden = managed<T>(tokens * dim),
	        *const dweight = managed<T>(classes * dim);
	int64_t *const target = managed<int64_t>(tokens);
	float *const lse = managed<float>(tokens), *const dloss = managed<float>(1), *const counted = managed<float>(1);
	for (int64_t i = 0; i < tokens * dim; i++) hidden[i] = __float2bfloat16(draw());
	for (int64_t i = 0; i < classes * dim; i++) weight[i] = __float2bfloat16(draw());
	for (int64_t r = 0; r < tokens; r++) target[r] = r == ignored_token ? ignored : r == 0 ? classes - 1 : r * 7 % classes;
	for (int64_t k = 0; k < dim; k++) hidden[ignored_token * dim + k] = __float2bfloat16(NAN);
	*dloss = 3.0f, *counted = static_cast<float>(tokens - 1);
	std::vector<double> dz(tokens * classes), want_hidden(tokens * dim), want_weight(classes * dim);
	for (int64_t r = 0; r < tokens; r++) {
		if (r == ignored_token) continue;
		double sum = 0;
		for (int64_t c = 0; c < classes; c++) {
			double z = 0;
			for (int64_t k = 0; k < dim; k++) z += static_cast<double>(__bfloat162float(hidden[r * dim + k])) * __bfloat162float(weight[c * dim + k]);
			sum += dz[r * classes + c] = exp(z);
		}
		lse[r] = static_cast<float>(log(sum));
		for (int64_t c = 0; c < classes; c++) {
			const double g = dz[r * classes + c] = 3.0 / (tokens - 1) * (dz[r * classes + c] / sum - (c == target[r]));
			for (int64_t k = 0; k < dim; k++) {
				want_hidden[r * dim + k] += g * __bfloat162float(weight[c * dim + k]);
				want_weight[c * dim + k] += g * __bfloat162float(hidden[r * dim + k]);
			}
		}
	}
	triad_tensor targets = {}, losses = {};
	targets.data = target, targets.stride[0] = 1, losses.data = dloss, losses.stride[0] = 1;
	const linear_cross_entropy::Tokens all = {Vector<const int64_t>(targets), ignored, 0, tokens, classes, linear_cross_entropy::mean};
	float *const room = managed<float>(linear_cross_entropy::GradientRoom<T>::bytes(tokens, dim, classes, 1) / 4 + 1);
	if (linear_cross_entropy::Bands(tokens, classes, 1).count != 3) return printf("want three bands\n"), 1;
	const int status = linear_cross_entropy::launch_gradients<T>(all, {hidden, dim, 1}, {weight, dim, 1}, dim, lse, Vector<const float>(losses), counted,
	                                                             room, dhidden, dweight, nullptr, 1);
	cudaDeviceSynchronize();
	if (status != 0) return printf("status %d\n", status), 1;
	for (int64_t i = 0; i < tokens * dim; i++)
		if (wrong("dhidden", i, __bfloat162float(dhidden[i]), want_hidden[i], 0.04)) return 1;
	for (int64_t i = 0; i < classes * dim; i++)
		if (wrong("dweight", i, __bfloat162float(dweight[i]), want_weight[i], 0.04)) return 1;
	printf("ok\n");
	return 0;
}
