// Forces between bodies with float4 positions in shared tiles.
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

__global__ void forces(const float4 *p, float3 *a, int n) {
	__shared__ float4 s[64];
	int i = blockIdx.x * 64 + threadIdx.x;
	float4 mine = i < n ? p[i] : make_float4(0, 0, 0, 0);
	float3 sum = make_float3(0, 0, 0);
	for (int at = 0; at < n; at += 64) {
		s[threadIdx.x] = at + threadIdx.x < n ? p[at + threadIdx.x] : make_float4(0, 0, 0, 0);
		__syncthreads();
		for (int j = 0; j < 64; j++) {
			float dx = s[j].x - mine.x, dy = s[j].y - mine.y, dz = s[j].z - mine.z;
			float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), f = s[j].w * inverse * inverse * inverse;
			sum.x += dx * f;
			sum.y += dy * f;
			sum.z += dz * f;
		}
		__syncthreads();
	}
	if (i < n) a[i] = sum;
}

bool near(double a, double b) { return fabs(a - b) <= 1e-4 * (1 + fabs(b)); }

int main() {
	bool right = true;
	const int n = 150;
	std::vector<float4> p(n);
	for (int i = 0; i < n; i++) p[i] = make_float4(i % 7, i % 11, i % 13, 1 + i % 3);
	Array<float4> dp(p);
	Array<float3> da(n);
	forces<<<(n + 63) / 64, 64>>>(dp.data, da.data, n);
	std::vector<float3> a = da.host();
	for (int i = 0; i < n; i++) {
		double x = 0;
		for (int j = 0; j < n; j++) {
			double dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z, d = dx * dx + dy * dy + dz * dz + 0.01;
			x += dx * p[j].w / (d * sqrt(d));
		}
		right = right && fabs(a[i].x - x) < 1e-2 * (1 + fabs(x));
	}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
