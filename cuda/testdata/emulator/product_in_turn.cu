// The product by pairs of blocks for Hopper, whose consumers take tiles in turn, with more tiles than clusters and more stages of the reduction than the
// ring has: codes are -1, 0 and 1 and scales powers of two, so that no sum is rounded but in c.
#include <cstdio>
#include <vector>

#include "fp8_gemm/sm90_tma_fast.cuh"

using namespace triad;

static uint32_t state = 12345;
static int draw(int count) { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % count; }

template <class T> static T *managed(int64_t count) {
	T *x;
	cudaMallocManaged(&x, count * sizeof(T));
	return x;
}

static uint8_t *codes(int64_t count) {
	static const uint8_t values[] = {0x38, 0xB8, 0x00};   // 1, -1, 0 in e4m3
	uint8_t *x = managed<uint8_t>(count);
	for (int64_t i = 0; i < count; i++) x[i] = values[draw(3)];
	return x;
}

static float value(uint8_t code) { return code == 0 ? 0.0f : code == 0x38 ? 1.0f : -1.0f; }

static float *scales(int64_t count, bool extreme) {
	float *x = managed<float>(count);
	for (int64_t i = 0; i < count; i++) x[i] = ldexpf(1.0f, draw(5) - 2 + (extreme ? 60 : 0));   // 60: not moderate
	return x;
}

static int check(int64_t m, int64_t n, int64_t k, int32_t scaling, bool extreme) {
	const uint8_t *const a = codes(m * k), *const b = codes(n * k);
	const float *const of_a = scales(m, extreme), *const of_b = scales(n, false);
	__nv_bfloat16 *const c = managed<__nv_bfloat16>(m * n);
	const int64_t row = scaling == row_scaling;
	const Product p = {{a, k, 1}, {b, k, 1}, {of_a, 1, row, 0}, {of_b, 1, row, 0}, m, n, k, c, TRIAD_BF16, scaling};
	const int status = TmaFast::launch<TRIAD_E4M3, TRIAD_E4M3>(p, nullptr, nullptr);
	cudaDeviceSynchronize();
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			float sum = 0;
			for (int64_t l = 0; l < k; l++) sum += value(a[i * k + l]) * value(b[j * k + l]);
			const __nv_bfloat16 want = __float2bfloat16(sum * of_a[row * i] * of_b[row * j]);
			if (status == 0 && __bfloat162float(c[i * n + j]) == __bfloat162float(want)) continue;
			printf("%d x %d x %d: status %d, c[%d, %d] is %g, want %g\n", static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), status,
			       static_cast<int>(i), static_cast<int>(j), static_cast<double>(__bfloat162float(c[i * n + j])),
			       static_cast<double>(__bfloat162float(want)));
			return 1;
		}
	return 0;
}

int main() {
	int wrong = check(264, 272, 1040, row_scaling, false);
#ifndef ONE_PLAN
	wrong += check(264, 272, 1040, tensor_scaling, false) + check(136, 144, 160, row_scaling, true) + check(264, 136, 912, tensor_scaling, true);
#endif
	if (wrong == 0) puts("ok");
	return wrong;
}
