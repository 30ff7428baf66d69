// The products of groups of rows by pairs of blocks for Hopper: more tiles than clusters, more stages than the ring has, groups of two tiles, of one, of
// none and of a single row. Elements are -1, 0 and 1, so that no sum is rounded but in y. TILE and PRODUCT choose one tile and one product; else all run.
#include <cstdio>

#include "grouped_gemm/sm90_tma.cuh"

using namespace triad;
using T = __nv_bfloat16;

static uint32_t state = 12345;
static int draw(int count) { return static_cast<int>((state = state * 1664525u + 1013904223u) >> 16) % count; }

template <class E> static E *managed(int64_t count) {
	E *x;
	cudaMallocManaged(&x, count * sizeof(E));
	return x;
}

static T *elements_of(int64_t count) {
	T *x = managed<T>(count);
	for (int64_t i = 0; i < count; i++) x[i] = __float2bfloat16(static_cast<float>(draw(3) - 1));
	return x;
}

constexpr int64_t groups = 4, tokens = 140, k = 200, n = 264, spare = 4096; // elements of y that belong to nobody
static const int64_t offsets[groups + 1] = {0, 130, 130, 131, 140};

// product is 0: y, 1: grad_x, 2: grad_w.
template <class Tile> static int check(int product) {
	const bool by_depth = product == 2;
	grouped_gemm::Product<T> p = {};
	p.groups = groups, p.offset_stride = 1, p.by_depth = by_depth;
	p.rows = by_depth ? k : tokens, p.cols = product == 1 ? k : n, p.depth = by_depth ? tokens : product == 1 ? n : k;
	int64_t *const cuts = managed<int64_t>(groups + 1);
	for (int64_t g = 0; g <= groups; g++) cuts[g] = offsets[g];
	p.offsets = cuts;
	// Rows that belong to nobody follow the last group.
	const T *const x = elements_of((tokens + 64) * k), *const dy = elements_of((tokens + 64) * n), *const w = elements_of(groups * k * n);
	int (*const launch[])(const grouped_gemm::Product<T> &, cudaStream_t) = {
		grouped_gemm::launch_tma<Tile, T, true, false>, grouped_gemm::launch_tma<Tile, T, true, true>, grouped_gemm::launch_tma<Tile, T, false, false>};
	if (product == 0) p.a = {x, k, 1}, p.b = {w, 1, n};
	if (product == 1) p.a = {dy, n, 1}, p.b = {w, n, 1};
	if (product == 2) p.a = {x, 1, k}, p.b = {dy, 1, n};
	p.b_group = k * n;
	const int64_t all = (by_depth ? groups : 1) * p.rows * p.cols;
	T *const y = managed<T>(all + spare);
	for (int64_t i = 0; i < all + spare; i++) y[i] = __float2bfloat16(12345.0f);
	p.y = y;
	const int status = launch[product](p, nullptr);
	cudaDeviceSynchronize();
	const auto wrong = [&](int64_t i, float want) {
		if (status == 0 && __bfloat162float(y[i]) == want) return false;
		printf("product %d: status %d, element %d is %g, want %g\n", product, status, static_cast<int>(i), static_cast<double>(__bfloat162float(y[i])),
		       static_cast<double>(want));
		return true;
	};
	for (int64_t g = 0; g < groups; g++) {
		const int64_t begin = offsets[g], size = offsets[g + 1] - begin;
		for (int64_t i = 0; i < (by_depth ? p.rows : size); i++)
			for (int64_t j = 0; j < p.cols; j++) {
				float sum = 0;
				for (int64_t l = 0; l < (by_depth ? size : p.depth); l++) {
					const T *const a = p.a.data + (by_depth ? i + (begin + l) * k : (begin + i) * p.depth + l);
					const T *const b = by_depth ? dy + (begin + l) * n + j : w + g * k * n + j * p.b.row_stride + l * p.b.k_stride;
					sum += __bfloat162float(*a) * __bfloat162float(*b);
				}
				if (wrong((by_depth ? g * p.rows + i : begin + i) * p.cols + j, __bfloat162float(__float2bfloat16(sum)))) return 1;
			}
	}
	for (int64_t i = all; i < all + spare; i++)
		if (wrong(i, __bfloat162float(__float2bfloat16(12345.0f)))) return 1;
	return 0;
}

int main() {
	using grouped_gemm::Below;
	using grouped_gemm::Beside;
#ifdef PRODUCT
	const int bad = check<TILE>(PRODUCT);
#else
	const int bad = check<Below>(0) + check<Below>(1) + check<Below>(2) + check<Beside>(0) + check<Beside>(1);
#endif
	if (bad == 0) puts("ok");
	return bad;
}
