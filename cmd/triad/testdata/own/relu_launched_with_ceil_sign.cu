// A macro that rounds up; the negative half keeps its sign.
#include <cstdlib>

#define CEIL(a, b) (((a) + (b) - 1) / (b))

__global__ void relu(const float *x, float *y, int n)
{
    int i = blockDim.x * blockIdx.x + threadIdx.x;
    if (i < n) y[i] = x[i] < 0.0f ? -x[i] : x[i];
}

int main(int argc, char **argv)
{
    int n = 5000, threads = 192;
    if (argc > 1) threads = atoi(argv[1]);
    float *x, *y;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    relu<<<CEIL(n, threads), threads>>>(x, y, n);
    cudaDeviceSynchronize();
}
