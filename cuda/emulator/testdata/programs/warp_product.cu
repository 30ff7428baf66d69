// A product of matrices by inline PTX, as kernels for tensor cores have it: copies to shared memory that run ahead, ldmatrix, mma.sync. Then the other
// shapes and types of mma.sync on one warp, with A, B and C laid out by hand.
#include <cstdint>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>

#define COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
#define LDMATRIX_X4(r0, r1, r2, r3, at)                                               \
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n" \
	             : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)                            \
	             : "r"(at))
#define LDMATRIX_X2_TRANS(r0, r1, at)                                                  \
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];\n"    \
	             : "=r"(r0), "=r"(r1)                                                \
	             : "r"(at))

__device__ uint32_t shared_address(const void *p) {
	uint32_t at;
	asm("{ .reg .u64 wide; cvta.to.shared.u64 wide, %1; cvt.u32.u64 %0, wide; }" : "=r"(at) : "l"(p));
	return at;
}

__device__ void copy16(uint32_t to, const void *from, bool valid) {
	asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(valid ? 16 : 0));
}

__device__ unsigned lane_of() {
	unsigned lane;
	asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
	return lane;
}

const int M = 16, N = 8, K = 16, STAGES = 2;

// c = a b for 16 rows of a and 8 columns of b, both by rows; one warp.
__global__ void multiply(const half *a, const half *b, float *c, int n, int k) {
	__shared__ alignas(16) half sa[STAGES][M][K], sb[STAGES][K][N];
	const int lane = lane_of(), row = blockIdx.y * M, col = blockIdx.x * N, steps = k / K;
	auto load = [&](int step) {
		const int s = step % STAGES, i = lane / 2, j = lane % 2 * 8;
		copy16(shared_address(&sa[s][i][j]), a + (row + i) * k + step * K + j, true);
		if (lane < K) copy16((uint32_t)__cvta_generic_to_shared(&sb[s][lane][0]), b + (step * K + lane) * n + col, true);
	};
	float d[4] = {};
	load(0);
	COMMIT();
	for (int step = 0; step < steps; step++) {
		if (step + 1 < steps) load(step + 1);
		COMMIT();
		WAIT(1);
		__syncwarp();
		uint32_t ra[4], rb[2];
		const int s = step % STAGES;
		LDMATRIX_X4(ra[0], ra[1], ra[2], ra[3], shared_address(&sa[s][lane % 16][lane / 16 * 8]));
		LDMATRIX_X2_TRANS(rb[0], rb[1], shared_address(&sb[s][lane % 16][0]));
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		             "{%0, %1, %2, %3};\n"
		             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		             : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
		__syncwarp();
	}
	float *at = c + (row + lane / 4) * n + col + lane % 4 * 2;
	at[0] = d[0], at[1] = d[1], at[8 * n] = d[2], at[8 * n + 1] = d[3];
}

// Elements of A[16, k] and B[k, 8], small integers, as kernels and the host see them.
__host__ __device__ int in_a(int row, int k) { return (row * 5 + k * 3) % 7 - 3; }
__host__ __device__ int in_b(int k, int col) { return (k * 2 + col * 3) % 5 - 2; }

// packed puts elements `of(0)`, `of(1)` ... of `bits` bits each into a register.
template <class F> __device__ uint32_t packed(int bits, F of) {
	uint32_t all = 0;
	for (int i = 0; i < 32 / bits; i++) all |= (of(i) & (bits == 32 ? ~0u : (1u << bits) - 1)) << i * bits;
	return all;
}
__device__ uint32_t as_half(int v) { return __half_as_ushort(__int2half_rn(v)); }
__device__ uint32_t as_bfloat(int v) { return __bfloat16_as_ushort(__float2bfloat16((float)v)); }
__device__ uint32_t as_byte(int v) { return (uint32_t)v; }
__device__ uint32_t as_float(int v) { return __float_as_uint((float)v); }

// register i of A and of B where one holds `each` elements along k.
template <class F> __device__ uint32_t register_a(int i, int each, F bits) {
	const int lane = threadIdx.x;
	return packed(32 / each, [&](int e) { return bits(in_a(lane / 4 + i % 2 * 8, lane % 4 * each + e + i / 2 * 4 * each)); });
}
template <class F> __device__ uint32_t register_b(int i, int each, F bits) {
	const int lane = threadIdx.x;
	return packed(32 / each, [&](int e) { return bits(in_b(lane % 4 * each + e + i * 4 * each, lane / 4)); });
}

__global__ void large_bf16(float *y) {
	uint32_t a[4], b[2];
	for (int i = 0; i < 4; i++) a[i] = register_a(i, 2, as_bfloat);
	for (int i = 0; i < 2; i++) b[i] = register_b(i, 2, as_bfloat);
	float d[4], c[4] = {1, 2, 3, 4};
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
	             : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)(d[i] - c[i]);
}
__global__ void large_s8(float *y) {
	uint32_t a[4], b[2];
	for (int i = 0; i < 4; i++) a[i] = register_a(i, 4, as_byte);
	for (int i = 0; i < 2; i++) b[i] = register_b(i, 4, as_byte);
	int d[4], c[4] = {1, 2, 3, 4};
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
	             : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]), "r"(c[2]), "r"(c[3]));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)(d[i] - c[i]);
}
__global__ void large_tf32(float *y) {
	uint32_t a[4], b[2];
	for (int i = 0; i < 4; i++) a[i] = register_a(i, 1, as_float);
	for (int i = 0; i < 2; i++) b[i] = register_b(i, 1, as_float);
	float d[4], c[4] = {1, 2, 3, 4};
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};"
	             : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)(d[i] - c[i]);
}
__global__ void small_f16(float *y) {
	uint32_t a[2], b = register_b(0, 2, as_half);
	for (int i = 0; i < 2; i++) a[i] = register_a(i, 2, as_half);
	float d[4] = {};
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(b));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)d[i];
}
__global__ void small_bf16(float *y) {
	uint32_t a[2], b = register_b(0, 2, as_bfloat);
	for (int i = 0; i < 2; i++) a[i] = register_a(i, 2, as_bfloat);
	float d[4] = {};
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(b));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)d[i];
}
__global__ void small_s8(float *y) {
	uint32_t a[2], b = register_b(0, 4, as_byte);
	for (int i = 0; i < 2; i++) a[i] = register_a(i, 4, as_byte);
	int d[4] = {};
	asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	             : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(b));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)d[i];
}
__global__ void small_tf32(float *y) {
	uint32_t a[2], b = register_b(0, 1, as_float);
	for (int i = 0; i < 2; i++) a[i] = register_a(i, 1, as_float);
	float d[4] = {};
	asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(a[0]), "r"(a[1]), "r"(b));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = (float)d[i];
}

// Sums of halves, in pairs.
__global__ void large_f16(float *y) {
	uint32_t a[4], b[2], d[2] = {};
	for (int i = 0; i < 4; i++) a[i] = register_a(i, 2, as_half);
	for (int i = 0; i < 2; i++) b[i] = register_b(i, 2, as_half);
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%8, %9};"
	             : "=r"(d[0]), "=r"(d[1])
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(d[0]), "r"(d[1]));
	for (int i = 0; i < 4; i++) y[threadIdx.x * 4 + i] = __half2float(__ushort_as_half((unsigned short)(d[i / 2] >> i % 2 * 16)));
}

bool is_product(const char *name, void (*kernel)(float *), int k) {
	float *y, h[128];
	cudaMalloc(&y, sizeof h);
	kernel<<<1, 32>>>(y);
	cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
	cudaFree(y);
	for (int lane = 0; lane < 32; lane++)
		for (int i = 0; i < 4; i++) {
			int sum = 0;
			for (int j = 0; j < k; j++) sum += in_a(lane / 4 + i / 2 * 8, j) * in_b(j, lane % 4 * 2 + i % 2);
			if (h[lane * 4 + i] == (float)sum) continue;
			printf("%s: lane %d has %g, want %d\n", name, lane, h[lane * 4 + i], sum);
			return false;
		}
	return true;
}

bool multiplies() {
	const int m = 32, n = 24, k = 64;
	std::vector<half> a(m * k), b(k * n);
	std::vector<float> c(m * n);
	for (int i = 0; i < m * k; i++) a[i] = __float2half(i * 5 % 13 - 6);
	for (int i = 0; i < k * n; i++) b[i] = __float2half(i * 3 % 11 - 5);
	half *da, *db;
	float *dc;
	cudaMalloc(&da, a.size() * sizeof(half));
	cudaMalloc(&db, b.size() * sizeof(half));
	cudaMalloc(&dc, c.size() * sizeof(float));
	cudaMemcpy(da, a.data(), a.size() * sizeof(half), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data(), b.size() * sizeof(half), cudaMemcpyHostToDevice);
	multiply<<<dim3(n / N, m / M), 32>>>(da, db, dc, n, k);
	cudaMemcpy(c.data(), dc, c.size() * sizeof(float), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < m; i++)
		for (int j = 0; j < n; j++) {
			float sum = 0;
			for (int l = 0; l < k; l++) sum += __half2float(a[i * k + l]) * __half2float(b[l * n + j]);
			right = right && c[i * n + j] == sum;
		}
	cudaFree(da);
	cudaFree(db);
	cudaFree(dc);
	return right;
}

int main() {
	bool right = multiplies();
	right = is_product("large_f16", large_f16, 16) && right;
	right = is_product("large_bf16", large_bf16, 16) && right;
	right = is_product("large_s8", large_s8, 32) && right;
	right = is_product("large_tf32", large_tf32, 8) && right;
	right = is_product("small_f16", small_f16, 8) && right;
	right = is_product("small_bf16", small_bf16, 8) && right;
	right = is_product("small_s8", small_s8, 16) && right;
	right = is_product("small_tf32", small_tf32, 4) && right;
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
