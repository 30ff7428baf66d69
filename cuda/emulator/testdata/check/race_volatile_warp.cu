// The old warp reduction by volatile, which counted on lanes in lockstep.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void reduce(const float *x, float *y) {
	__shared__ volatile float s[64];
	int t = threadIdx.x;
	s[t] = x[t];
	s[t + 32] = x[t + 32];
	__syncwarp();
	for (int k = 32; k > 0; k /= 2) {
#ifdef FIXED
		float v = s[t + (k < 32 ? k : 32)];
		__syncwarp();
		if (t < k) s[t] = s[t] + v;
		__syncwarp();
#else
		if (t < k) s[t] = s[t] + s[t + k];   // BUG(race)
#endif
	}
	if (t == 0) y[0] = s[0];
}

int main() {
	const int n = 1000;
	static float h[n];
	for (int i = 0; i < n; i++) h[i] = i % 7;
	float *x, *y;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, n * sizeof(float));
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemset(y, 0, n * sizeof(float));
	reduce<<<1, 32>>>(x, y);
	cudaMemcpy(h, y, n * sizeof(float), cudaMemcpyDeviceToHost);
	printf("%g %g\n", h[0], h[n - 1]);
	cudaFree(x);
	cudaFree(y);
}
