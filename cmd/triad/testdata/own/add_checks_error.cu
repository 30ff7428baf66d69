#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                       \
    do {                                                                  \
        cudaError_t error = (call);                                       \
        if (error != cudaSuccess) {                                       \
            fprintf(stderr, "CUDA error: %s\n", cudaGetErrorString(error)); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

__global__ void add(const float* x, const float* y, float* z, size_t n) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) z[i] = x[i] + y[i];
}

void add_gpu(const float* x, const float* y, float* z, size_t n) {
    add<<<(n + 127) / 128, 128>>>(x, y, z, n);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}
