// Only main() uses the flags of the command line.
#include <gflags/gflags.h>

#include <cuda_runtime.h>

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

DEFINE_int32(n, 1000, "elements");

int main(int argc, char **argv)
{
    gflags::ParseCommandLineFlags(&argc, &argv, true);
    float *d;
    cudaMalloc(&d, 3 * FLAGS_n * sizeof(float));
    add<<<(FLAGS_n + 255) / 256, 256>>>(d, d + FLAGS_n, d + 2 * FLAGS_n, FLAGS_n);
    return cudaDeviceSynchronize() != cudaSuccess;
}
