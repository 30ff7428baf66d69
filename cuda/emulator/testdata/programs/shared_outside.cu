// Shared memory that is declared outside functions, as old programs do: each block has its own, in every function that names it.
#include <cstdio>

const int THREADS = 128;

__shared__ float row[THREADS];
static __shared__ int least, most;

__device__ float sum_of_row() {
    float sum = 0;
    for (int i = 0; i < sizeof row / sizeof row[0]; i++) sum += row[i];
    return sum;
}

__global__ void sums(const int *x, float *y) {
    const int t = threadIdx.x;
    if (t == 0) {
        least = 1 << 30;
        most = -least;
    }
    __syncthreads();
    row[t] = x[blockIdx.x * THREADS + t];
    atomicMin(&least, x[blockIdx.x * THREADS + t]);
    atomicMax(&most, x[blockIdx.x * THREADS + t]);
    __syncthreads();
    if (t == 0) y[blockIdx.x] = sum_of_row() + most - least;
}

__global__ void half(float *y) {
    row[threadIdx.x] = y[threadIdx.x];
    int most = 2;
    y[threadIdx.x] = row[threadIdx.x] / most;
}

float expected(const int *x, int least) {
    float row = 0;
    int most = -least;
    for (int i = 0; i < THREADS; i++) {
        row += x[i];
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    return (row + most - least) / 2;
}

int main() {
    const int blocks = 5;
    static int x[blocks * THREADS];
    float y[blocks], *dy;
    int *dx;
    for (int i = 0; i < blocks * THREADS; i++) x[i] = i * 7 % 101 - 50;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    sums<<<blocks, THREADS>>>(dx, dy);
    half<<<1, blocks>>>(dy);
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
    bool right = true;
    for (int b = 0; b < blocks; b++) right = right && y[b] == expected(x + b * THREADS, 1 << 30);
    printf(right ? "right\n" : "wrong\n");
    cudaFree(dx);
    cudaFree(dy);
    return right ? 0 : 1;
}
