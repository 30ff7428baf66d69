// Two kernels for arrays of a fixed length each, of which the second adds the first array twice.
#include <cuda_runtime.h>

#define LONG 2048
#define SHORT 320

__global__ void addLong(const float *a, const float *b, float *c)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < LONG) c[i] = a[i] + b[i];
}

__global__ void addShort(const float *a, const float *b, float *c)
{
    int i = threadIdx.x;
    if (i < SHORT) c[i] = a[i] + a[i];
}

int main()
{
    float *a, *b, *c, *d, *e, *f;
    cudaMalloc(&a, LONG * sizeof(float));
    cudaMalloc(&b, LONG * sizeof(float));
    cudaMalloc(&c, LONG * sizeof(float));
    cudaMalloc(&d, SHORT * sizeof(float));
    cudaMalloc(&e, SHORT * sizeof(float));
    cudaMalloc(&f, SHORT * sizeof(float));
    addLong<<<LONG / 256, 256>>>(a, b, c);
    addShort<<<1, SHORT>>>(d, e, f);
    cudaDeviceSynchronize();
}
