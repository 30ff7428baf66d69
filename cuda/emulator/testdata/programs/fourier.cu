// A Fourier transform of 256 points in one block, and back.
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

const int N = 256;

__global__ void transform(float2 *data, float sign) {
	__shared__ float2 s[N];
	const int t = threadIdx.x;
	for (int i = t; i < N; i += blockDim.x) s[__brev(i) >> 24] = data[i];
	__syncthreads();
	for (int half = 1; half < N; half *= 2) {
		const int group = t / half, in_group = t % half, i = group * 2 * half + in_group, j = i + half;
		float sine, cosine;
		sincosf(sign * 3.14159265f * in_group / half, &sine, &cosine);
		const float2 a = s[i], b = make_float2(s[j].x * cosine - s[j].y * sine, s[j].x * sine + s[j].y * cosine);
		s[i] = make_float2(a.x + b.x, a.y + b.y);
		s[j] = make_float2(a.x - b.x, a.y - b.y);
		__syncthreads();
	}
	for (int i = t; i < N; i += blockDim.x) data[i] = sign > 0 ? make_float2(s[i].x / N, s[i].y / N) : s[i];
}

int main() {
	float2 h[N], back[N], *d;
	for (int i = 0; i < N; i++) h[i] = make_float2(cosf(2 * 3.14159265f * 5 * i / N) + 0.5f, i % 3 - 1.0f);
	cudaMalloc(&d, sizeof h);
	cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
	transform<<<1, N / 2>>>(d, -1);
	cudaMemcpy(back, d, sizeof h, cudaMemcpyDeviceToHost);
	float re = 0, im = 0;                            // of one frequency
	for (int i = 0; i < N; i++) {
		const float angle = -2 * 3.14159265f * (7 * i % N) / N;
		re += h[i].x * cosf(angle) - h[i].y * sinf(angle);
		im += h[i].x * sinf(angle) + h[i].y * cosf(angle);
	}
	bool right = fabsf(back[7].x - re) < 1e-2f && fabsf(back[7].y - im) < 1e-2f;
	transform<<<1, N / 2>>>(d, 1);
	cudaMemcpy(back, d, sizeof h, cudaMemcpyDeviceToHost);
	for (int i = 0; i < N; i++) right = right && fabsf(back[i].x - h[i].x) < 1e-4f && fabsf(back[i].y - h[i].y) < 1e-4f;
	cudaFree(d);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
