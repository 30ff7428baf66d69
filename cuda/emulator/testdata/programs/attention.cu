// Attention with the online softmax, keys and values in shared tiles.
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

const int HEAD = 32, TILE = 32;
__global__ void attend(const float *q, const float *k, const float *v, float *o, int n) {
	__shared__ float sk[TILE][HEAD], sv[TILE][HEAD];
	int row = blockIdx.x * TILE + threadIdx.x;
	float mine[HEAD], out[HEAD] = {}, most = -INFINITY, sum = 0;
	for (int d = 0; d < HEAD; d++) mine[d] = row < n ? q[row * HEAD + d] : 0;
	for (int at = 0; at < n; at += TILE) {
		int key = at + threadIdx.x;
		for (int d = 0; d < HEAD; d++) {
			sk[threadIdx.x][d] = key < n ? k[key * HEAD + d] : 0;
			sv[threadIdx.x][d] = key < n ? v[key * HEAD + d] : 0;
		}
		__syncthreads();
		for (int j = 0; j < TILE && at + j < n; j++) {
			float score = 0;
			for (int d = 0; d < HEAD; d++) score += mine[d] * sk[j][d];
			score *= rsqrtf(float(HEAD));
			float next = fmaxf(most, score), scale = expf(most - next), weight = expf(score - next);
			sum = sum * scale + weight;
			for (int d = 0; d < HEAD; d++) out[d] = out[d] * scale + weight * sv[j][d];
			most = next;
		}
		__syncthreads();
	}
	if (row < n)
		for (int d = 0; d < HEAD; d++) o[row * HEAD + d] = out[d] / sum;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 50;
	std::vector<float> q(n * HEAD), k(n * HEAD), v(n * HEAD);
	for (int i = 0; i < n * HEAD; i++) q[i] = i % 7 * 0.1f, k[i] = i % 5 * 0.2f - 0.3f, v[i] = i % 11 * 0.5f;
	Array<float> dq(q), dk(k), dv(v), out(n * HEAD);
	attend<<<(n + TILE - 1) / TILE, TILE>>>(dq.data, dk.data, dv.data, out.data, n);
	std::vector<float> y = out.host();
	for (int r = 0; r < n; r++) {
		std::vector<double> weight(n), want(HEAD);
		double sum = 0;
		for (int j = 0; j < n; j++) {
			double score = 0;
			for (int d = 0; d < HEAD; d++) score += q[r * HEAD + d] * k[j * HEAD + d];
			sum += weight[j] = exp(score / sqrt(double(HEAD)));
		}
		for (int j = 0; j < n; j++)
			for (int d = 0; d < HEAD; d++) want[d] += weight[j] / sum * v[j * HEAD + d];
		for (int d = 0; d < HEAD; d++) right = right && near(y[r * HEAD + d], want[d]);
	}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
