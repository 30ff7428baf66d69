// Another file of the program defines what only main() calls.
#include <cuda_runtime.h>

int runBenchmark(int argc, char **argv, void (*add)(const float *, const float *, float *, int));

__global__ void addKernel(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) c[i] = a[i] + b[i];
}

void launchAdd(const float *a, const float *b, float *c, int n) {
	addKernel<<<(n + 255) / 256, 256>>>(a, b, c, n);
}

int main(int argc, char **argv) { return runBenchmark(argc, argv, launchAdd); }
