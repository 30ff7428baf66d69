// Each half of a block sums what its threads brought: its tile of 128 threads is four warps, which have to wait for each other.
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__global__ void sums(const float *x, float *y) {
    __shared__ float s[256];
    auto tile = cg::tiled_partition<128>(cg::this_thread_block());
    float *mine = s + tile.meta_group_rank() * tile.size();
    mine[tile.thread_rank()] = x[threadIdx.x];
#ifdef FIXED
    tile.sync();
#endif
    if (tile.thread_rank() == 0) {
        float sum = 0;
        for (unsigned i = 0; i < tile.size(); i++) sum += mine[i];   // BUG(race)
        y[tile.meta_group_rank()] = sum;
    }
}

int main() {
    float h[256], *x, *y;
    for (int i = 0; i < 256; i++) h[i] = i % 7;
    cudaMalloc(&x, sizeof h);
    cudaMalloc(&y, 2 * sizeof(float));
    cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
    sums<<<1, 256>>>(x, y);
    cudaMemcpy(h, y, 2 * sizeof(float), cudaMemcpyDeviceToHost);
    printf("%g %g\n", h[0], h[1]);
    cudaFree(x);
    cudaFree(y);
}
