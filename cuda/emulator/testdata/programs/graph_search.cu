// Breadth-first search by levels, with a flag that says whether to go on.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

// Array is device memory that is given back at the end of its scope.
template <class T> struct Array {
	T *data;
	size_t n;
	explicit Array(size_t n) : n(n) {
		cudaMalloc(&data, n * sizeof(T));
		cudaMemset(data, 0, n * sizeof(T));
	}
	explicit Array(const std::vector<T> &h) : Array(h.size()) { cudaMemcpy(data, h.data(), n * sizeof(T), cudaMemcpyHostToDevice); }
	~Array() { cudaFree(data); }
	std::vector<T> host() const {
		std::vector<T> h(n);
		cudaMemcpy(h.data(), data, n * sizeof(T), cudaMemcpyDeviceToHost);
		return h;
	}
};

__global__ void expand(const int *row, const int *col, int *level, int depth, int n, int *again) {
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n || atomicAdd(&level[v], 0) != depth) return;
	for (int e = row[v]; e < row[v + 1]; e++)
		if (atomicCAS(&level[col[e]], -1, depth + 1) == -1) *again = 1;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 1000;
	std::vector<int> row(n + 1), col, level(n, -1), want(n, -1), todo = {0};
	for (int v = 0; v < n; v++) {
		for (int to : {v * 2 + 1, v * 2 + 2, v / 3})
			if (to < n) col.push_back(to);
		row[v + 1] = col.size();
	}
	level[0] = want[0] = 0;
	for (size_t i = 0; i < todo.size(); i++)
		for (int e = row[todo[i]]; e < row[todo[i] + 1]; e++)
			if (want[col[e]] < 0) want[col[e]] = want[todo[i]] + 1, todo.push_back(col[e]);
	Array<int> drow(row), dcol(col), dlevel(level);
	int *again;
	cudaMallocManaged(&again, sizeof(int));
	*again = 1;
	for (int depth = 0; *again; depth++) {
		*again = 0;
		expand<<<(n + 255) / 256, 256>>>(drow.data, dcol.data, dlevel.data, depth, n, again);
		cudaDeviceSynchronize();
	}
	cudaFree(again);
	right = dlevel.host() == want;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
