// cp.async as inline PTX, whose result is read before the wait for it.
#include <cstdio>

__global__ void take(const float *x, float *y) {
	__shared__ float s[128];
	const int t = threadIdx.x;
	const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&s[t]));
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(x + t));   // BUG(trap)
	asm volatile("cp.async.commit_group;" ::);
#ifdef FIXED
	asm volatile("cp.async.wait_all;" ::);
#endif
	y[t] = s[t];   // BUG(trap)
}

int main() {
	float h[128] = {}, *x, *y;
	cudaMalloc(&x, sizeof h);
	cudaMalloc(&y, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	take<<<1, 128>>>(x, y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	printf("%g\n", h[0] - h[0]);
	cudaFree(x);
	cudaFree(y);
}
