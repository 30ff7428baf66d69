// Products of few rows for Hopper, of bf16 or of int8 (INT8): more tiles than multiprocessors and more stages than the ring has, tiles that two blocks
// divide, and one of four, of which the last has nothing of the reduction. Elements are small, so that no sum is rounded but in y.
#include <cstdio>

#ifdef INT8
#include "int8_gemm/sm90_wgmma.cuh"
#else
#include "gemm/sm90_tma.cuh"
#endif

using namespace triad;

static uint32_t state = 12345;
static int draw(int count) { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % count; }

template <class E> static E *managed(int64_t count) {
	E *x;
	cudaMallocManaged(&x, count * sizeof(E));
	return x;
}

static int differs(const char *what, int64_t at, double got, double want) {
	if (got == want) return 0;
	printf("%s: element %d is %g, want %g\n", what, static_cast<int>(at), got, want);
	return 1;
}

#ifdef INT8
static int check(int64_t m, int64_t n, int64_t k, int (*launch)(const triad_call *)) {
	int8_t *const a = managed<int8_t>(m * k), *const b = managed<int8_t>(k * n), *const c = managed<int8_t>(m * n);
	for (int64_t i = 0; i < m * k; i++) a[i] = static_cast<int8_t>(draw(256) - 128);
	for (int64_t i = 0; i < k * n; i++) b[i] = static_cast<int8_t>(draw(256) - 128);
	const triad_tensor in[] = {{a, TRIAD_I8, 2, {m, k}, {k, 1}}, {b, TRIAD_I8, 2, {k, n}, {n, 1}}}, out[] = {{c, TRIAD_I8, 2, {m, n}, {n, 1}}};
	const double attributes[] = {0.5, 0.25, 2048, 3, -5, 7};
	triad_call call = {};
	call.size = sizeof call, call.n_in = 2, call.n_out = 1, call.n_attr = 6, call.in = in, call.out = out, call.attr = attributes;
	if (const int status = launch(&call)) return differs("status", 0, status, 0);
	cudaDeviceSynchronize();
	const int8_gemm::Quantiser quantiser(&call);
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			int sum = 0;
			for (int64_t l = 0; l < k; l++) sum += (a[i * k + l] - 3) * (b[l * n + j] + 5);
			if (differs("c", i * n + j, c[i * n + j], quantiser(sum))) return 1;
		}
	return 0;
}

int main() {
	using namespace int8_gemm;
	const int bad = check(70, 400, 496, launch_few_rows) + check(20, 144, 272, launch_few_rows) + check(20, 48, 560, launch_few_rows)
#ifndef FEW_ROWS
	                + check(300, 272, 656, sm90_wgmma)
#endif
		;
	if (bad == 0) puts("ok");
	return bad;
}
#else
using T = __nv_bfloat16;

static T *elements_of(int64_t count) {
	T *x = managed<T>(count);
	for (int64_t i = 0; i < count; i++) x[i] = __float2bfloat16(static_cast<float>(draw(3) - 1));
	return x;
}

template <bool AlongKA, bool AlongKB> static int check(int64_t m, int64_t n, int64_t k) {
	gemm::Product<T> p = {};
	p.batch = 1, p.m = m, p.n = n, p.k = k, p.alpha = 1;
	p.a = {elements_of(m * k), 0, AlongKA ? k : 1, AlongKA ? 1 : m}, p.b = {elements_of(n * k), 0, AlongKB ? k : 1, AlongKB ? 1 : n};
	p.y = managed<T>(m * n);
	if (const int status = gemm::launch_few_rows<T, AlongKA, AlongKB>(p, nullptr)) return differs("status", 0, status, 0);
	cudaDeviceSynchronize();
	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			float sum = 0;
			for (int64_t l = 0; l < k; l++) sum += p.a(i, l) * p.b(j, l);
			if (differs("y", i * n + j, __bfloat162float(p.y[i * n + j]), __bfloat162float(__float2bfloat16(sum)))) return 1;
		}
	return 0;
}

int main() {
	const int bad = check<true, true>(72, 136, 504) + check<true, false>(24, 72, 304) + check<false, true>(24, 40, 304) + check<false, false>(72, 40, 72);
	if (bad == 0) puts("ok");
	return bad;
}
#endif
