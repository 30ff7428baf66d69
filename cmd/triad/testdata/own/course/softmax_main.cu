// Softmax of each row of a matrix: the kernels lie in a header, as the course hands them out.
#include <cstdio>

#include "softmax_kernels.cuh"

int main() {
	const int rows = 4, cols = 100;
	float *x, *y;
	cudaMallocManaged(&x, rows * cols * sizeof(float));
	cudaMallocManaged(&y, rows * cols * sizeof(float));
	for (int i = 0; i < rows * cols; i++) x[i] = static_cast<float>(i % 7);
	launch_softmax(x, y, rows, cols);
	cudaDeviceSynchronize();
	printf("%f\n", y[0]);
	return 0;
}
