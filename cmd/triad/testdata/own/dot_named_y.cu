#include <cstdio>

#define N (8 * 1024)
#define WIDTH 256

__global__ void dot(float *x, float *y, float *z) {
    __shared__ float part[WIDTH];
    float sum = 0.0f;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < N; i += blockDim.x * gridDim.x) {
        sum += x[i] * y[i];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = WIDTH / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) z[blockIdx.x] = part[0];
}

int main() {
    float *x, *y, *z;
    cudaMallocManaged(&x, sizeof(float) * N);
    cudaMallocManaged(&y, sizeof(float) * N);
    cudaMallocManaged(&z, sizeof(float) * 32);
    dot<<<32, WIDTH>>>(x, y, z);
    cudaDeviceSynchronize();
    return 0;
}
