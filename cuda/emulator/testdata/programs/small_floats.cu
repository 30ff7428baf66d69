// Pairs of halves and of bfloat16: arithmetic, comparisons, sums by atomic additions, and four of them in the bytes of 8-bit numbers.
#include <cmath>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__global__ void halves(const half2 *x, half *sum, half2 *pair, half *most, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	half2 v = __hfma2(x[i], __float2half2_rn(2.0f), __float2half2_rn(-1.0f));
	v = __hmax2(v, __float2half2_rn(0.0f)) + __hmul2(v, make_half2(0, 0));
	if (__hbge2(v, __float2half2_rn(0.0f))) atomicAdd(pair, v);
	atomicAdd(sum, __low2half(v));
	if (!__hbeq2(v, v) || __any_sync(__activemask(), __hisnan(v.x))) atomicAdd(most, __float2half(1));
}

__global__ void brains(const __nv_bfloat16 *x, __nv_bfloat16 *sum, __nv_bfloat162 *pair, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	__nv_bfloat16 v = __hadd(x[i], __float2bfloat16(1.0f));
	atomicAdd(sum, v);
	atomicAdd(pair, __bfloat162bfloat162(-v));
}

// Two pairs become four numbers of 8 bits each, which add up to the same.
__global__ void packed(const half2 *x, float *sum, int n) {
	int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
	if (i + 1 >= n) return;
	const __nv_fp8x4_e4m3 four(x[i], x[i + 1]);
	const __nv_fp8x2_e5m2 two(x[i]);
	const float4 f = static_cast<float4>(four);
	const half2 h = static_cast<half2>(two);
	atomicAdd(sum, f.x + f.y + f.z + f.w - __half2float(h.x) - __half2float(h.y));
}

int main() {
	const int n = 100;
	half2 x[n], pair;
	half sum, nans;
	__nv_bfloat16 b[n], total;
	__nv_bfloat162 both;
	float want = 0, want_b = 0;
	for (int i = 0; i < n; i++) {
		x[i] = __floats2half2_rn(i % 4, 1);
		b[i] = __float2bfloat16(i % 2 ? 1.0f : -1.0f);
		want += fmaxf(2 * (i % 4) - 1, 0);
		want_b += i % 2 ? 2 : 0;
	}
	char *d;
	cudaMalloc(&d, 64);
	cudaMemset(d, 0, 64);
	half2 *dx;
	cudaMalloc(&dx, sizeof x);
	cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
	halves<<<2, 64>>>(dx, (half *)d, (half2 *)(d + 4), (half *)(d + 8), n);
	packed<<<1, 64>>>(dx, (float *)(d + 12), n);
	float second = 0, want_second = 0;           // what the second pairs add up to
	for (int i = 1; i < n; i += 2) want_second += i % 4 + 1;
	cudaMemcpy(&second, d + 12, 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(dx, b, sizeof b, cudaMemcpyHostToDevice);
	brains<<<2, 64>>>((__nv_bfloat16 *)dx, (__nv_bfloat16 *)(d + 16), (__nv_bfloat162 *)(d + 20), n);
	cudaMemcpy(&sum, d, 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(&pair, d + 4, 4, cudaMemcpyDeviceToHost);
	cudaMemcpy(&nans, d + 8, 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(&total, d + 16, 2, cudaMemcpyDeviceToHost);
	cudaMemcpy(&both, d + 20, 4, cudaMemcpyDeviceToHost);
	bool right = (float)sum == want && (float)pair.x == want && (float)pair.y == n && (float)nans == 0 && second == want_second;
	right = right && __bfloat162float(total) == want_b && __high2float(both) == -want_b;
	cudaFree(d);
	cudaFree(dx);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
