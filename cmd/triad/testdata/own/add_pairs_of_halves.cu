#include <cuda_fp16.h>
#include <cuda_runtime.h>

// One block a row; two halves at once where every row begins at a multiple of four bytes.
__global__ void add_rows(const half *x, const half *y, half *z, int cols) {
    const size_t start = (size_t)blockIdx.x * cols;
    int done = 0;
    if (cols % 2 == 0) {
        const half2 *a = reinterpret_cast<const half2 *>(x + start);
        const half2 *b = reinterpret_cast<const half2 *>(y + start);
        half2 *c = reinterpret_cast<half2 *>(z + start);
        for (int i = threadIdx.x; i < cols / 2; i += blockDim.x) c[i] = __hadd2(a[i], b[i]);
        done = cols;
    }
    for (int i = done + threadIdx.x; i < cols; i += blockDim.x) z[start + i] = __hadd(x[start + i], y[start + i]);
}

extern "C" void solve(const half *x, const half *y, half *z, int rows, int cols) {
    if (rows > 0) add_rows<<<rows, 128>>>(x, y, z, cols);
}
