// Loads and stores in inline PTX, with vectors, hints for caches, guards and narrow types, beside the same in C++.
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>

struct Options {
	int n;
};

__device__ float4 load_once(const float *p) {
	float4 v;
	asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(p));
	return v;
}

__device__ void store_streaming(float *p, float a, float b) { asm volatile("st.global.cs.v2.f32 [%0 + 8], {%1, %2};" ::"l"(p), "f"(a), "f"(b) : "memory"); }

__device__ float load_if(const float *p, bool is) {
	float v = -1;
	asm volatile("{ .reg .pred q; setp.ne.b32 q, %2, 0; @q ld.global.f32 %0, [%1]; }" : "+f"(v) : "l"(p), "r"((int)is));
	return v;
}

__global__ void move(const float *x, float *y, const int8_t *narrow, int *widened, Options options) {
	__shared__ float tile[128];
	const int t = threadIdx.x, i = 4 * t;
	const uint32_t at = (uint32_t)__cvta_generic_to_shared(tile + i);
	if (i + 4 <= options.n) {
		const float4 v = load_once(x + i);
		asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(at), "f"(v.w), "f"(v.z), "f"(v.y), "f"(v.x));
	}
	__syncthreads();
	float a, b;
	asm volatile("ld.shared.f32 %0, [%1 + 4];" : "=f"(a) : "r"(at));
	asm volatile("ld.shared.b32 %0, [%1];" : "=f"(b) : "r"(at));
	store_streaming(y + i, a, b);
	asm volatile("prefetch.global.L2 [%0];" ::"l"(x));
	float c, d;
	asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];" : "=f"(c), "=f"(d) : "r"(at));
	asm volatile("st.volatile.global.v2.f32 [%0 + 8], {%1, %2};" ::"l"(y + i), "f"(d), "f"(c) : "memory");
	asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(y + i), "r"(__float_as_uint(load_if(x + i, t % 2))), "r"(__float_as_uint(2.0f)));
	int low, high;
	asm("ld.global.s8 %0, [%1];" : "=r"(low) : "l"(narrow + t));
	asm("ld.global.u8 %0, [%1];" : "=r"(high) : "l"(narrow + t));
	asm volatile("st.global.wb.s32 [%0], %1;" ::"l"(widened + t), "r"(low + 1000 * high) : "memory");
}

int main() {
	const int n = 128;
	float *x, *y;
	int8_t *narrow;
	int *widened;
	cudaMallocManaged(&x, n * sizeof(float));
	cudaMallocManaged(&y, n * sizeof(float));
	cudaMallocManaged(&narrow, 32);
	cudaMallocManaged(&widened, 32 * sizeof(int));
	for (int i = 0; i < n; i++) x[i] = i * 0.5f;
	for (int i = 0; i < 32; i++) narrow[i] = static_cast<int8_t>(8 * i - 128);
	move<<<1, 32>>>(x, y, narrow, widened, Options{n});
	cudaDeviceSynchronize();
	bool right = true;
	for (int t = 0; t < 32; t++) {
		const float *to = y + 4 * t, *from = x + 4 * t;
		right = right && to[0] == (t % 2 ? from[0] : -1) && to[1] == 2 && to[2] == from[2] && to[3] == from[3];
		right = right && widened[t] == narrow[t] + 1000 * static_cast<uint8_t>(narrow[t]);
	}
	printf(right ? "right\n" : "wrong\n");
	cudaFree(x);
	cudaFree(y);
	cudaFree(narrow);
	cudaFree(widened);
	return right ? 0 : 1;
}
