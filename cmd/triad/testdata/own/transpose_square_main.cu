#include <cstdio>
#include <cstdlib>

__global__ void transposeRows(const float *in, float *out, int height, int width) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    int c = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < height && c < width) {
        out[c * height + r] = in[r * width + c];
    }
}

int main() {
    const int rows = 2048, cols = 2048;
    float *a, *b;
    cudaMalloc(&a, rows * cols * sizeof(float));
    cudaMalloc(&b, rows * cols * sizeof(float));
    dim3 threads(16, 16);
    dim3 blocks((cols + 15) / 16, (rows + 15) / 16);
    transposeRows<<<blocks, threads>>>(a, b, rows, cols);
    cudaDeviceSynchronize();
    return 0;
}
