#include <cstdio>
#define THREADS 128

__global__ void dotProduct(const int *a, const int *b, int *partial, int n) {
    __shared__ int cache[THREADS];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
    cache[threadIdx.x] = sum;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
}

int main() {
    const int n = 5000, blocks = 32;
    int *a, *b, *partial, total = 0;
    cudaMallocManaged(&a, n * sizeof(int));
    cudaMallocManaged(&b, n * sizeof(int));
    cudaMallocManaged(&partial, blocks * sizeof(int));
    for (int i = 0; i < n; i++) a[i] = i % 7, b[i] = i % 5;
    dotProduct<<<blocks, THREADS>>>(a, b, partial, n);
    cudaDeviceSynchronize();
    for (int i = 0; i < blocks; i++) total += partial[i];
    printf("%d\n", total);
}
