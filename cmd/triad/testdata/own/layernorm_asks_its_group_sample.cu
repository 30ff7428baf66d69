#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void layernorm(const float *input, const float *gamma, const float *beta, float *output, int N, int C) {
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= N) return;
    const float *x = input + row * C;
    float sum = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) sum += x[i];
    float mean = cg::reduce(warp, sum, cg::plus<float>()) / C;
    float squares = 0.0f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) squares += (x[i] - mean) * (x[i] - mean);
    float rstd = rsqrtf(cg::reduce(warp, squares, cg::plus<float>()) / (C - 1) + 1e-5f);
    for (int i = warp.thread_rank(); i < C; i += warp.size())
        output[row * C + i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
}
