// A system of linear equations by elimination with pivots, in one block, the matrix in dynamic shared memory.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void solve_system(const double *a, const double *b, double *x, int n) {
	extern __shared__ double m[];                    // n rows of n + 1
	__shared__ int pivot;
	const int t = threadIdx.x, w = n + 1;
	for (int i = t; i < n * n; i += blockDim.x) m[i / n * w + i % n] = a[i];
	for (int i = t; i < n; i += blockDim.x) m[i * w + n] = b[i];
	__syncthreads();
	for (int k = 0; k < n; k++) {
		if (t == 0) {
			pivot = k;
			for (int i = k + 1; i < n; i++)
				if (fabs(m[i * w + k]) > fabs(m[pivot * w + k])) pivot = i;
		}
		__syncthreads();
		if (pivot != k)
			for (int j = t; j < w; j += blockDim.x) {
				const double kept = m[k * w + j];
				m[k * w + j] = m[pivot * w + j];
				m[pivot * w + j] = kept;
			}
		__syncthreads();
		for (int i = t; i < n; i += blockDim.x) {
			if (i == k) continue;
			const double f = m[i * w + k] / m[k * w + k];
			for (int j = k; j < w; j++) m[i * w + j] -= f * m[k * w + j];
		}
		__syncthreads();
	}
	for (int i = t; i < n; i += blockDim.x) x[i] = m[i * w + n] / m[i * w + i];
}

int main() {
	const int n = 24;
	std::vector<double> a(n * n), b(n), x(n);
	for (int i = 0; i < n * n; i++) a[i] = i * 37 % 23 - 11 + (i / n == i % n ? 0.5 : 0);
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) b[i] += a[i * n + j] * (j - 4);
	double *da, *db, *dx;
	cudaMalloc(&da, n * n * sizeof(double));
	cudaMalloc(&db, n * sizeof(double));
	cudaMalloc(&dx, n * sizeof(double));
	cudaMemcpy(da, a.data(), n * n * sizeof(double), cudaMemcpyHostToDevice);
	cudaMemcpy(db, b.data(), n * sizeof(double), cudaMemcpyHostToDevice);
	solve_system<<<1, 40, n * (n + 1) * sizeof(double)>>>(da, db, dx, n);
	cudaMemcpy(x.data(), dx, n * sizeof(double), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int i = 0; i < n; i++) right = right && fabs(x[i] - (i - 4)) < 1e-6;
	for (double *p : {da, db, dx}) cudaFree(p);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
