// Scans, reductions and partitions of cooperative groups against sums made one by one.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>

namespace cg = cooperative_groups;

struct Result {
	int inclusive, exclusive, largest, of_eight, gathered, of_kind, evens;
};

__global__ void scan(const int *x, Result *y) {
	auto block = cg::this_thread_block();
	auto warp = cg::tiled_partition<32>(block);
	auto eight = cg::tiled_partition<8>(warp);
	const int i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
	Result r = {};
	r.inclusive = cg::inclusive_scan(warp, v);
	r.exclusive = cg::exclusive_scan(warp, v, cg::plus<int>());
	r.largest = cg::inclusive_scan(warp, v, cg::greater<int>());
	r.of_eight = cg::exclusive_scan(eight, v);
	if (v % 3 != 0) r.gathered = cg::inclusive_scan(cg::coalesced_threads(), v);
	auto kind = cg::labeled_partition(warp, v % 4);
	r.of_kind = cg::reduce(kind, v, cg::plus<int>());
	r.evens = cg::binary_partition(eight, v % 2 == 0).size();
	cg::invoke_one(block, [&] { r.gathered += 1000; });
	y[i] = r;
}

bool is_right(const int *x, const Result *y, int i) {
	const int lane = i % 32, first = i - lane, first8 = i - i % 8;
	Result r = {};
	r.largest = x[first];
	for (int j = first; j <= i; j++) {
		r.inclusive += x[j];
		r.largest = x[j] > r.largest ? x[j] : r.largest;
		if (j < i) r.exclusive += x[j];
		if (j >= first8 && j < i) r.of_eight += x[j];
		if (x[i] % 3 != 0 && x[j] % 3 != 0) r.gathered += x[j];
	}
	for (int j = first; j < first + 32; j++) r.of_kind += x[j] % 4 == x[i] % 4 ? x[j] : 0;
	for (int j = first8; j < first8 + 8; j++) r.evens += x[j] % 2 == x[i] % 2;
	if (i % 64 == 0) r.gathered += 1000;
	return r.inclusive == y[i].inclusive && r.exclusive == y[i].exclusive && r.largest == y[i].largest && r.of_eight == y[i].of_eight &&
	       r.gathered == y[i].gathered && r.of_kind == y[i].of_kind && r.evens == y[i].evens;
}

int main() {
	const int n = 192;
	int h[n], *x;
	Result got[n], *y;
	for (int i = 0; i < n; i++) h[i] = i * 37 % 101;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof got);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	scan<<<n / 64, 64>>>(x, y);
	cudaMemcpy(got, y, sizeof got, cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < n; i++) right = right && is_right(h, got, i);
	printf(right ? "right\n" : "wrong\n");
	cudaFree(x);
	cudaFree(y);
	return right ? 0 : 1;
}
