// The k best of rows of several parts, in two further launches, against a sort: rows that rise, fall, are equal, or are in no order. Prints "right".
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_bf16.h>

#include "top_k/threshold.cuh"

using Element = __nv_bfloat16;

static triad_tensor matrix(void *data, int dtype, int64_t rows, int64_t cols) {
	triad_tensor t = {};
	t.data = data;
	t.dtype = dtype;
	t.rank = 2;
	t.shape[0] = rows;
	t.shape[1] = t.stride[0] = cols;
	t.stride[1] = 1;
	return t;
}

static float rising(int64_t c) { return static_cast<float>(c / 700) - 90; }
static float falling(int64_t c) { return -rising(c); }
static float equal(int64_t) { return -1; }
static float any(int64_t c) { return static_cast<float>(static_cast<int32_t>(static_cast<uint32_t>(c) * 2654435761u)); }

static bool right(const char *name, float (*value)(int64_t), int64_t cols, int64_t k) {
	Element *x, *values;
	int32_t *indices;
	cudaMallocManaged(&x, cols * sizeof(Element));
	cudaMallocManaged(&values, k * sizeof(Element));
	cudaMallocManaged(&indices, k * sizeof(int32_t));
	std::vector<int32_t> want(cols);
	for (int64_t c = 0; c < cols; c++) {
		x[c] = __float2bfloat16(value(c));
		want[c] = static_cast<int32_t>(c);
	}
	std::stable_sort(want.begin(), want.end(), [&](int32_t a, int32_t b) { return __bfloat162float(x[a]) > __bfloat162float(x[b]); });
	const triad_tensor in = matrix(x, TRIAD_BF16, 1, cols);
	const triad_tensor out[] = {matrix(values, TRIAD_BF16, 1, k), matrix(indices, TRIAD_I32, 1, k)};
	triad_call call = {};
	call.in = &in;
	call.out = out;
	cudaMalloc(&call.workspace, triad::top_k::left_of<Element>(&call).bytes);
	if (const int error = triad::top_k::launch<Element>(&call)) return printf("error %d\n", error), false;
	if (cudaDeviceSynchronize() != cudaSuccess) return false;
	for (int64_t i = 0; i < k; i++)
		if (indices[i] != want[i] || std::memcmp(&values[i], &x[want[i]], sizeof(Element)) != 0)
			return printf("%s, %lld columns: place %lld has column %d, not %d\n", name, static_cast<long long>(cols), static_cast<long long>(i),
			              indices[i], want[i]),
			       false;
	cudaFree(x), cudaFree(values), cudaFree(indices), cudaFree(call.workspace);
	return true;
}

int main() {
	const bool all = right("rising", rising, 140001, 128) && right("falling", falling, 9001, 100) && right("equal", equal, 4096, 64) &&
	                 right("any", any, 131072, 33) && right("any", any, 900, 128);
	if (all) puts("right");
	return all ? 0 : 1;
}
