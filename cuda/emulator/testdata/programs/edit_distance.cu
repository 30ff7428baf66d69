// The edit distance of two words, diagonal by diagonal in one block.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>
#include <cuda_runtime.h>

const int MOST = 128;

__global__ void distance(const char *a, int n, const char *b, int m, int *result) {
	__shared__ int line[3][MOST + 1];
	const int i = threadIdx.x;
	for (int d = 0; d <= n + m; d++) {
		const int j = d - i;
		int *now = line[d % 3];
		const int *before = line[(d + 2) % 3], *two_before = line[(d + 1) % 3];
		if (i <= n && j >= 0 && j <= m) {
			if (i == 0) now[i] = j;
			else if (j == 0) now[i] = i;
			else now[i] = min(min(before[i - 1], before[i]) + 1, two_before[i - 1] + (a[i - 1] != b[j - 1]));
		}
		__syncthreads();
	}
	if (i == n) *result = line[(n + m) % 3][n];
}

int on_the_host(const std::string &a, const std::string &b) {
	std::vector<int> row(b.size() + 1);
	for (size_t j = 0; j <= b.size(); j++) row[j] = (int)j;
	for (size_t i = 1; i <= a.size(); i++) {
		int corner = row[0];
		row[0] = (int)i;
		for (size_t j = 1; j <= b.size(); j++) {
			const int kept = row[j];
			row[j] = std::min(std::min(row[j], row[j - 1]) + 1, corner + (a[i - 1] != b[j - 1]));
			corner = kept;
		}
	}
	return row[b.size()];
}

int main() {
	std::string a, b;
	for (int i = 0; i < 100; i++) a += "abcd"[i * 7 % 11 % 4];
	for (int i = 0; i < 83; i++) b += "abcd"[i * 5 % 13 % 4];
	char *da, *db;
	int *dr, got;
	cudaMalloc(&da, a.size());
	cudaMalloc(&db, b.size());
	cudaMalloc(&dr, sizeof(int));
	cudaMemcpy(da, a.data(), a.size(), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data(), b.size(), cudaMemcpyHostToDevice);
	distance<<<1, MOST>>>(da, (int)a.size(), db, (int)b.size(), dr);
	cudaMemcpy(&got, dr, sizeof(int), cudaMemcpyDeviceToHost);
	cudaFree(da);
	cudaFree(db);
	cudaFree(dr);
	const bool right = got == on_the_host(a, b);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
