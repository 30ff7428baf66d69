// cp.async that reads a part of its 16 bytes and fills the rest with zeros: its result is read before the wait for it.
#include <cstdio>

__global__ void take(const float *x, float *y, int n) {
	__shared__ __align__(16) float s[128];
	const int t = threadIdx.x, valid = min(4, max(0, n - 4 * t)) * 4;
	const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&s[4 * t]));
	asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(x + 4 * t), "r"(valid));   // BUG(trap)
	asm volatile("cp.async.commit_group;" ::);
#ifdef FIXED
	asm volatile("cp.async.wait_all;" ::);
#endif
	for (int i = 4 * t; i < 4 * t + 4; i++) y[i] = s[i];   // BUG(trap)
}

int main() {
	const int n = 126;
	float h[128], *x, *y;
	for (int i = 0; i < 128; i++) h[i] = i < n ? 1 : 0;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, n * sizeof(float), cudaMemcpyHostToDevice);
	take<<<1, 32>>>(x, y, n);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	float sum = 0;
	for (float v : h) sum += v;
	printf("%g\n", sum - n);
	cudaFree(x);
	cudaFree(y);
}
