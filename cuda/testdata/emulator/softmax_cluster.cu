// Softmax of rows spread over clusters of 2 to 16 blocks, forward and backward, against sums in double: whole shares, a last one that is short
// and empty ones. Prints "right".
#include <cmath>
#include <cstdio>
#include <cuda_bf16.h>

#include "softmax/cluster.cuh"

using Element = __nv_bfloat16;

static triad_tensor matrix(Element *data, int64_t rows, int64_t cols) {
	triad_tensor t = {};
	t.data = data;
	t.dtype = TRIAD_BF16;
	t.rank = 2;
	t.shape[0] = rows;
	t.shape[1] = t.stride[0] = cols;
	t.stride[1] = 1;
	return t;
}

static Element *filled(int64_t n, uint32_t state, double scale) {
	Element *x;
	cudaMallocManaged(&x, static_cast<size_t>(n) * sizeof(Element));
	for (int64_t i = 0; i < n; i++) {
		state = state * 1664525u + 1013904223u;
		x[i] = __float2bfloat16(static_cast<float>(scale * static_cast<int>(state >> 24)));
	}
	return x;
}

static double value(const Element *x, int64_t at) { return static_cast<double>(__bfloat162float(x[at])); }

static bool close(const char *pass, const Element *out, int64_t cols, int64_t at, double want) {
	const double got = value(out, at);
	if (std::fabs(got - want) <= 0.005 * std::fabs(want) + 1e-9) return true;
	printf("%s, %lld columns: element %lld is %g, not %g\n", pass, static_cast<long long>(cols), static_cast<long long>(at), got, want);
	return false;
}

static bool right(int64_t rows, int64_t cols) {
	const int64_t n = rows * cols;
	Element *x = filled(n, 7, 1.0 / 32), *dy = filled(n, 8, 1.0), *y = filled(n, 0, 0), *dx = filled(n, 0, 0);
	const triad::Rows<const Element> from(matrix(x, rows, cols)), given(matrix(dy, rows, cols)), forward(matrix(y, rows, cols));
	int error = triad::softmax::cluster::launch_forward(from, y, rows, cols, nullptr);
	if (!error) error = triad::softmax::cluster::launch_backward(forward, given, dx, rows, cols, nullptr);
	if (error) return printf("error %d\n", error), false;
	bool all = true;
	for (int64_t row = 0; row < rows && all; row++) {
		const int64_t first = row * cols, end = first + cols;
		double sum = 0, dot = 0;
		for (int64_t i = first; i < end; i++) {
			sum += std::exp(value(x, i));
			dot += value(y, i) * value(dy, i);
		}
		for (int64_t i = first; i < end && all; i++) {
			all = close("forward", y, cols, i, std::exp(value(x, i)) / sum);
			const double want = value(y, i) * (value(dy, i) - dot);
			if (std::fabs(value(dy, i) - dot) > 1) all = all && close("backward", dx, cols, i, want);
		}
	}
	for (Element *p : {x, dy, y, dx}) cudaFree(p);
	return all;
}

// By default also rows that ask for 16 blocks.
int main(int argc, char **) {
	bool all = right(3, 8) && right(2, 8 * 1001) && right(2, 65536);
	if (argc == 1) all = all && right(1, 262144);
	if (all) printf("right\n");
	return all ? 0 : 1;
}
