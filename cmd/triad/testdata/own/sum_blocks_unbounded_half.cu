#include <algorithm>
#include <cstdio>

template <int WIDTH>
__global__ void reduce(const float *in, float *out, int size) {
    __shared__ float part[WIDTH];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < size ? in[i] : 0.0f;
    __syncthreads();
    for (int step = 1; 2 * step < blockDim.x; step *= 2) {
        if ((threadIdx.x & (2 * step - 1)) == 0) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

int main() {
    const int N = 25600000;
    cudaDeviceProp device;
    cudaGetDeviceProperties(&device, 0);
    const int width = 256;
    int blocks = std::min((N + width - 1) / width, device.maxGridSize[0]);
    float *a, *b;
    cudaMalloc(&a, N * sizeof(float));
    cudaMalloc(&b, blocks * sizeof(float));
    reduce<width><<<dim3(blocks), dim3(width)>>>(a, b, N);
    return 0;
}
