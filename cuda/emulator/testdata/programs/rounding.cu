// Arithmetic with the rounding in its name, as for bounds on a sum, the special functions of statistics, against their inverses, and the extremes
// of numbers and NaN.
#include <cmath>
#include <cstdio>
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
	int m = 0;
	m += fmaxf(x, NAN) != x || fmaxf(NAN, x) != x || !isnan(fmaxf(NAN, NAN)) || fmaxf(x, x + 1) != x + 1 || fmaxf(x + 1, x) != x + 1;
	m += fminf(x, NAN) != x || fminf(NAN, x) != x || !isnan(fminf(NAN, NAN)) || fminf(x, x + 1) != x || fminf(x + 1, x) != x;
	m += fmax(y, NAN) != y || fmax(NAN, y) != y || !isnan(fmax(NAN, NAN)) || fmax(y, y + 1) != y + 1 || fmax(y + 1, y) != y + 1;
	m += fmin(y, NAN) != y || fmin(NAN, y) != y || !isnan(fmin(NAN, NAN)) || fmin(y, y + 1) != y || fmin(y + 1, y) != y;
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
	printf(right ? "right\n" : "wrong\n");
	cudaFree(x);
	cudaFree(y);
	cudaFree(worst);
	cudaFree(dh);
	cudaFree(df);
	cudaFree(mistakes);
	return right ? 0 : 1;
}
