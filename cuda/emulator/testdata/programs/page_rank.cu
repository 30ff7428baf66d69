// PageRank on a graph in rows of links that come in, until the ranks stand.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void rank_pages(const int *first, const int *from, const int *outgoing, const float *old, float *now, float *change, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	float moved = 0;
	if (i < n) {
		float sum = 0;
		for (int e = first[i]; e < first[i + 1]; e++) sum += old[from[e]] / outgoing[from[e]];
		now[i] = 0.15f / n + 0.85f * sum;
		moved = fabsf(now[i] - old[i]);
	}
	for (int k = 16; k > 0; k /= 2) moved += __shfl_xor_sync(0xffffffff, moved, k);
	if (threadIdx.x % 32 == 0) atomicAdd(change, moved);
}

template <class T> T *to_device(const std::vector<T> &v) {
	T *p;
	cudaMalloc(&p, v.size() * sizeof(T));
	cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice);
	return p;
}

int main() {
	const int n = 150;
	std::vector<int> first(1), from, outgoing(n);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 1 + i % 5; k++) from.push_back((i * 7 + k * 13 + 1) % n);
		from.push_back((i + 1) % n);
		first.push_back((int)from.size());
	}
	for (int f : from) outgoing[f]++;
	std::vector<float> start(n, 1.0f / n), got(n);
	int *d_first = to_device(first), *d_from = to_device(from), *d_outgoing = to_device(outgoing);
	float *a = to_device(start), *b = to_device(start), *change, moved = 1;
	cudaMalloc(&change, sizeof(float));
	int rounds = 0;
	for (; moved > 1e-5f && rounds < 100; rounds++) {
		cudaMemset(change, 0, sizeof(float));
		rank_pages<<<(n + 63) / 64, 64>>>(d_first, d_from, d_outgoing, a, b, change, n);
		cudaMemcpy(&moved, change, sizeof(float), cudaMemcpyDeviceToHost);
		std::swap(a, b);
	}
	cudaMemcpy(got.data(), a, n * sizeof(float), cudaMemcpyDeviceToHost);
	bool right = rounds < 100;
	float total = 0;
	for (int i = 0; i < n; i++) {
		float sum = 0;
		for (int e = first[i]; e < first[i + 1]; e++) sum += got[from[e]] / outgoing[from[e]];
		right = right && fabsf(0.15f / n + 0.85f * sum - got[i]) < 1e-5f;
		total += got[i];
	}
	for (void *p : {(void *)d_first, (void *)d_from, (void *)d_outgoing, (void *)a, (void *)b, (void *)change}) cudaFree(p);
	right = right && fabsf(total - 1) < 1e-3f;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
