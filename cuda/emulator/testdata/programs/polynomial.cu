// Polynomials of many degrees by templates and function objects, called through a pointer to a device function.
#include <cmath>
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float coefficients[8];

template <int degree> struct Horner {
	__device__ static float at(float x) { return coefficients[8 - 1 - degree] + x * Horner<degree - 1>::at(x); }
};
template <> struct Horner<0> {
	__device__ static float at(float) { return coefficients[7]; }
};

typedef float (*Function)(float);
__device__ float reciprocal(float x) { return 1 / (1 + x * x); }
__device__ Function chosen = reciprocal;

template <int degree> __global__ void evaluate(const float *x, float *y, int n) {
	for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = Horner<degree>::at(x[i]) * chosen(x[i]);
}

int main() {
	const int n = 100;
	float x[n], y[n], c[8] = {1, -2, 0.5f, 3, -1, 0.25f, 2, -0.5f}, *dx, *dy;
	for (int i = 0; i < n; i++) x[i] = i * 0.04f - 2;
	cudaMemcpyToSymbol(coefficients, c, sizeof c);
	cudaMalloc(&dx, sizeof x);
	cudaMalloc(&dy, sizeof y);
	cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
	bool right = true;
	for (int degree : {3, 7}) {
		if (degree == 3) evaluate<3><<<1, 32>>>(dx, dy, n);
		else evaluate<7><<<1, 32>>>(dx, dy, n);
		cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
		for (int i = 0; i < n; i++) {
			double want = 0;
			for (int k = degree; k >= 0; k--) want = want * x[i] + c[7 - degree + k];
			right = right && fabs(y[i] - want / (1 + x[i] * x[i])) < 1e-3;
		}
	}
	cudaFree(dx);
	cudaFree(dy);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
