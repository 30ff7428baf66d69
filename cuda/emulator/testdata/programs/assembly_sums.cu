// Ordinary arithmetic in inline PTX, beside the same in C++: integers with overflow and shifts too far, floats, a choice, and the sum of a
// warp by its shuffle.
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__device__ int asm_add(int a, int b) {
	int d;
	asm("add.s32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
	return d;
}

__device__ float asm_polynomial(float x) {
	float y;
	asm("{\n\t"
	    ".reg .f32 square;\n\t"
	    "mul.f32 square, %1, %1;\n\t"
	    "fma.rn.f32 %0, square, %2, %1;\n\t"
	    "}" : "=f"(y) : "f"(x), "f"(0.5f));
	return y;
}

__device__ unsigned asm_warp_sum(unsigned v) {
	for (int lanes = 16; lanes > 0; lanes /= 2) {
		unsigned other;
		asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(other) : "r"(v), "r"(lanes));
		asm("add.u32 %0, %0, %1;" : "+r"(v) : "r"(other));
	}
	return v;
}

__global__ void compute(const int *x, int *wrong) {
	const int i = threadIdx.x, a = x[i], b = x[63 - i];
	bool right = asm_add(a, b) == (int)((unsigned)a + (unsigned)b);
	int low, quotient, least, shifted, sign, bits, zeros, logic, chosen, negative;
	long long wide;
	asm("mad.lo.s32 %0, %1, %2, 7;" : "=r"(low) : "r"(a), "r"(b));
	right = right && low == (int)((unsigned)a * (unsigned)b + 7u);
	asm("mul.wide.s32 %0, %1, %2;" : "=l"(wide) : "r"(a), "r"(b));
	right = right && wide == (long long)a * b;
	asm("div.s32 %0, %1, %2;" : "=r"(quotient) : "r"(a), "r"(i + 1));
	asm("min.s32 %0, %1, %2;" : "=r"(least) : "r"(a), "r"(b));
	right = right && quotient == a / (i + 1) && least == (a < b ? a : b);
	asm("shl.b32 %0, %1, %2;" : "=r"(shifted) : "r"(a), "r"(i));
	asm("shr.s32 %0, %1, %2;" : "=r"(sign) : "r"(a), "r"(i));
	right = right && shifted == (i > 31 ? 0 : (int)((unsigned)a << i)) && sign == (i > 31 ? (a < 0 ? -1 : 0) : a >> i);
	asm("popc.b32 %0, %1;" : "=r"(bits) : "r"(a));
	asm("clz.b32 %0, %1;" : "=r"(zeros) : "r"(a));
	right = right && bits == __popc(a) && zeros == __clz(a);
	asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(logic) : "r"(a), "r"(b), "r"(i));
	right = right && logic == ((a & b) | (a & i) | (b & i));
	asm("{ .reg .pred p; setp.lt.s32 p, %1, %2; selp.s32 %0, %1, %2, p; @p add.s32 %0, %0, 1; }" : "=r"(chosen) : "r"(a), "r"(b));
	right = right && chosen == (a < b ? a + 1 : b);
	asm("neg.s32 %0, %1;" : "=r"(negative) : "r"(a));
	right = right && negative == (int)(0u - (unsigned)a);

	const float f = i * 0.25f;
	double root;
	asm("sqrt.rn.f64 %0, %1;" : "=d"(root) : "d"((double)f));
	right = right && asm_polynomial(f) == fmaf(f * f, 0.5f, f) && root == sqrt((double)f);
	right = right && asm_warp_sum(i) == (i < 32 ? 496u : 1520u);
	if (!right) atomicAdd(wrong, 1);
}

int main() {
	int x[64], *dx, *wrong, count = 0;
	for (int i = 0; i < 64; i++) x[i] = (i % 3 - 1) * (int)(i * 54321987u % 2000000011u);
	x[5] = -2147483647 - 1;
	cudaMalloc(&dx, sizeof x);
	cudaMalloc(&wrong, sizeof(int));
	cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
	cudaMemset(wrong, 0, sizeof(int));
	compute<<<1, 64>>>(dx, wrong);
	cudaMemcpy(&count, wrong, sizeof(int), cudaMemcpyDeviceToHost);
	cudaFree(dx);
	cudaFree(wrong);
	printf(count ? "wrong in %d threads\n" : "right\n", count);
	return count ? 1 : 0;
}
