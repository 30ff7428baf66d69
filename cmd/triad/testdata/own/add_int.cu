#include <cstdio>

__global__ void addArrays(const int *a, const int *b, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main() {
    const int n = 1000;
    int *a, *b, *c;
    cudaMallocManaged(&a, n * sizeof(int));
    cudaMallocManaged(&b, n * sizeof(int));
    cudaMallocManaged(&c, n * sizeof(int));
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 2 * i;
    addArrays<<<(n + 127) / 128, 128>>>(a, b, c, n);
    cudaDeviceSynchronize();
    printf("%d\n", c[n - 1]);
}
