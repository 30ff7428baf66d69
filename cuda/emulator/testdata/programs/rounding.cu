// Arithmetic with the rounding in its name, as for bounds on a sum, the special functions of statistics, against their inverses, and the extremes
// of numbers and NaN.
#include <cmath>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Bounds {
	float down, nearest, up, towards_zero;
};

__global__ void bounds(const float *x, int n, Bounds *y) {
	Bounds b = {0, 0, 0, 0};
	for (int i = 0; i < n; i++) {
		b.down = __fadd_rd(b.down, x[i]);
		b.nearest = __fadd_rn(b.nearest, x[i]);
		b.up = __fadd_ru(b.up, x[i]);
		b.towards_zero = __fadd_rz(b.towards_zero, x[i]);
	}
	*y = b;
}

__global__ void inverses(double *worst) {
	double w = 0;
	for (int i = 1; i < 200; i++) {
		const double p = i / 200.0;
		w = fmax(w, fabs(normcdf(normcdfinv(p)) - p));
		w = fmax(w, fabs(erf(erfinv(p)) - p));
		w = fmax(w, fabs(erfc(erfcinv(2 * p)) - 2 * p));
		w = fmax(w, fabs(erfcx(p) * exp(-p * p) - erfc(p)));
		w = fmax(w, fabs(rhypot(p, 1.0) * hypot(p, 1.0) - 1));
	}
	*worst = w;
}

__global__ void pairs(const half *x, float2 *y) {
	const half2 both = __halves2half2(x[0], x[1]), doubled = __hadd2(both, both);
	*y = __half22float2(doubled * half2(1.f, 2.f));
}

// Of NaN and a number both extremes are the number.
__global__ void extremes(float x, double y, int *mistakes) {
	const double none = NAN; // one type: fmax of a double and a float is a host function
	int m = 0;
	m += fmaxf(x, NAN) != x || fmaxf(NAN, x) != x || !isnan(fmaxf(NAN, NAN)) || fmaxf(x, x + 1) != x + 1 || fmaxf(x + 1, x) != x + 1;
	m += fminf(x, NAN) != x || fminf(NAN, x) != x || !isnan(fminf(NAN, NAN)) || fminf(x, x + 1) != x || fminf(x + 1, x) != x;
	m += fmax(y, none) != y || fmax(none, y) != y || !isnan(fmax(none, none)) || fmax(y, y + 1) != y + 1 || fmax(y + 1, y) != y + 1;
	m += fmin(y, none) != y || fmin(none, y) != y || !isnan(fmin(none, none)) || fmin(y, y + 1) != y || fmin(y + 1, y) != y;
	*mistakes = m;
}

__device__ int differs(half x, unsigned bits) { return __half_as_ushort(x) != bits; }
__device__ int differs(__nv_bfloat16 x, unsigned bits) { return __bfloat16_as_ushort(x) != bits; }

// What narrows to 16 bits in a direction, and comparisons that hold of NaN.
__global__ void narrowed(float one, float tiny, long long large, int *mistakes) {
	int m = 0;
	m += differs(__float2half_rd(one + 1e-4f), 0x3c00) + differs(__float2half_ru(one + 1e-4f), 0x3c01) + differs(__float2half_rz(-one - 1e-4f), 0xbc00);
	m += differs(__float2half_ru(tiny), 0x0001) + differs(__float2half_rd(-tiny), 0x8001) + differs(__float2half_rz(-tiny), 0x8000);
	m += differs(__float2half_rz(7e4f), 0x7bff) + differs(__float2half_ru(7e4f), 0x7c00) + differs(__float2half_rd(INFINITY), 0x7c00);
	m += differs(__float2bfloat16_ru(one + 1e-4f), 0x3f81) + differs(__float2bfloat16_rz(-one - 1e-4f), 0xbf80) + differs(__float2bfloat16_rd(-one - 1e-4f), 0xbf81);
	m += differs(__ll2bfloat16_ru(large + 1), 0x5e81) + differs(__ll2bfloat16_rd(large - 1), 0x5e7f) + differs(__ull2half_rz(large), 0x7bff);
	m += __half2int_rd(__float2half(-1.5f)) != -2 || __half2ll_rn(__float2half(NAN)) != LLONG_MIN || __half2char_rz(__float2half(300)) != 127;
	m += __ll2float_ru(16777217) != 16777218.0f || __ll2float_rd(16777217) != 16777216.0f || INT_MIN != -2147483647 - 1;
	const half n = __float2half(NAN), o = __float2half(1);
	m += !__hequ(n, o) || __hneu(o, o) || !__hltu(n, o) || __hgtu(o, o) || !__hgeu(n, n) || !__hbequ2(half2(n, o), half2(o, o));
	*mistakes = m;
}

int main() {
	const int n = 1000;
	float h[n], *x;
	double sum = 0;
	for (int i = 0; i < n; i++) sum += h[i] = 1.0f / (i + 1);
	cudaMalloc(&x, sizeof h);
	cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
	Bounds *y, b;
	cudaMalloc(&y, sizeof b);
	bounds<<<1, 1>>>(x, n, y);
	cudaMemcpy(&b, y, sizeof b, cudaMemcpyDeviceToHost);
	bool right = b.down < sum && sum < b.up && b.towards_zero == b.down && b.down <= b.nearest && b.nearest <= b.up;
	double *worst, w;
	cudaMalloc(&worst, sizeof w);
	inverses<<<1, 1>>>(worst);
	cudaMemcpy(&w, worst, sizeof w, cudaMemcpyDeviceToHost);
	right = right && w < 1e-14;
	half two[2] = {__float2half(1.5f), __float2half(-2.f)}, *dh;
	float2 *df, f;
	cudaMalloc(&dh, sizeof two);
	cudaMalloc(&df, sizeof f);
	cudaMemcpy(dh, two, sizeof two, cudaMemcpyHostToDevice);
	pairs<<<1, 1>>>(dh, df);
	cudaMemcpy(&f, df, sizeof f, cudaMemcpyDeviceToHost);
	right = right && f.x == 3 && f.y == -8;
	int *mistakes, m;
	cudaMalloc(&mistakes, sizeof m);
	extremes<<<1, 1>>>(-3, 4, mistakes);
	cudaMemcpy(&m, mistakes, sizeof m, cudaMemcpyDeviceToHost);
	right = right && m == 0;
	narrowed<<<1, 1>>>(1, 1e-9f, 1ll << 62, mistakes);
	cudaMemcpy(&m, mistakes, sizeof m, cudaMemcpyDeviceToHost);
	right = right && m == 0;
	printf(right ? "right\n" : "wrong\n");
	cudaFree(x);
	cudaFree(y);
	cudaFree(worst);
	cudaFree(dh);
	cudaFree(df);
	cudaFree(mistakes);
	return right ? 0 : 1;
}
