#include <cuda_runtime.h>

#define HEIGHT 96
#define WIDTH 160
const int EDGE = 16;

__global__ void turn(float *src, float *dst) {
    int col = blockIdx.x * EDGE + threadIdx.x;
    int row = blockIdx.y * EDGE + threadIdx.y;
    if (col < WIDTH && row < HEIGHT) dst[col * HEIGHT + row] = src[row * WIDTH + col];
}

int main() {
    float *src, *dst;
    cudaMalloc(&src, HEIGHT * WIDTH * sizeof(float));
    cudaMalloc(&dst, HEIGHT * WIDTH * sizeof(float));
    turn<<<dim3(WIDTH / EDGE, HEIGHT / EDGE), dim3(EDGE, EDGE)>>>(src, dst);
    cudaDeviceSynchronize();
}
