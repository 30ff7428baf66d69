#include <cuda_runtime.h>
#include <vector>
// A single row of N elements, as many exercises have it: three kernels and a buffer of its own.
__global__ void reduce_max(const float* x, float* m, int N) {
    float v = -INFINITY;
    for (int i = 0; i < N; i++) v = fmaxf(v, x[i]);
    *m = v;
}
__global__ void reduce_sum(const float* x, const float* m, float* s, int N) {
    float v = 0;
    for (int i = 0; i < N; i++) v += expf(x[i] - *m);
    *s = v;
}
__global__ void normalize(const float* x, float* y, const float* m, const float* s, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) y[i] = expf(x[i] - *m) / *s;
}
extern "C" void solve(const float* input, float* output, int N) {
    float* scratch;
    cudaMalloc(&scratch, 2 * sizeof(float));
    reduce_max<<<1, 1>>>(input, scratch, N);
    reduce_sum<<<1, 1>>>(input, scratch, scratch + 1, N);
    normalize<<<(N + 255) / 256, 256>>>(input, output, scratch, scratch + 1, N);
    cudaDeviceSynchronize();
    cudaFree(scratch);
}
