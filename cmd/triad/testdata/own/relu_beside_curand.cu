#include <cstdio>
#include <curand.h>
#include <curand_kernel.h>

__global__ void fill(curandState* states, float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    curand_init(1234, i, 0, &states[i]);
    x[i] = curand_normal(&states[i]);
}

__global__ void relu_kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

void relu(const float* x, float* y, int n) { relu_kernel<<<(n + 255) / 256, 256>>>(x, y, n); }

int main() {
    const int n = 1000;
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    curandGenerator_t generator;
    curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    curandGenerateNormal(generator, x, n, 0.0f, 1.0f);
    relu(x, y, n);
    cudaDeviceSynchronize();
    curandDestroyGenerator(generator);
}
