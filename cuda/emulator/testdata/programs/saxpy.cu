// y = a x + y with a checking macro, events and a stream.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CHECK(call)                                                                     \
	do {                                                                                  \
		cudaError_t e = (call);                                                             \
		if (e != cudaSuccess) {                                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e));        \
			exit(1);                                                                          \
		}                                                                                   \
	} while (0)

__global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y) {
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main() {
	const int n = 100003;
	std::vector<float> x(n), y(n), want(n);
	for (int i = 0; i < n; i++) x[i] = i % 100, y[i] = i % 17, want[i] = 2.5f * x[i] + y[i];
	float *dx, *dy;
	CHECK(cudaMalloc(&dx, n * sizeof(float)));
	CHECK(cudaMalloc(&dy, n * sizeof(float)));
	cudaStream_t stream;
	CHECK(cudaStreamCreate(&stream));
	cudaEvent_t begin, end;
	CHECK(cudaEventCreate(&begin));
	CHECK(cudaEventCreate(&end));
	CHECK(cudaMemcpyAsync(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
	CHECK(cudaMemcpyAsync(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream));
	CHECK(cudaEventRecord(begin, stream));
	saxpy<<<32, 256, 0, stream>>>(n, 2.5f, dx, dy);
	CHECK(cudaGetLastError());
	CHECK(cudaEventRecord(end, stream));
	CHECK(cudaMemcpyAsync(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost, stream));
	CHECK(cudaStreamSynchronize(stream));
	float ms = 0;
	CHECK(cudaEventElapsedTime(&ms, begin, end));
	CHECK(cudaEventDestroy(begin));
	CHECK(cudaEventDestroy(end));
	CHECK(cudaStreamDestroy(stream));
	CHECK(cudaFree(dx));
	CHECK(cudaFree(dy));
	for (int i = 0; i < n; i++)
		if (y[i] != want[i]) return printf("wrong at %d\n", i), 1;
	printf("right\n");
}
