// The kernel stands in scale_kernels.cu; the last element is left out.
#include "scale_kernels.cuh"

void run_silu(const float *x, float *y, int n)
{
    const int threads = 192;
    if (n > 0) silu_elements<<<(n + threads - 1) / threads, threads>>>(x, y, n - 1);
}
