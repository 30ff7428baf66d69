#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
using namespace cooperative_groups;

__global__ void softmax_kernel(const float* inp, float* out, int N, int C) {
    thread_block block = this_thread_block();
    thread_block_tile<32> warp = tiled_partition<32>(block);
    int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
    if (row >= N) return;
    const float* x = inp + row * C;
    float top = -INFINITY, sum = 0.f;
    for (int i = warp.thread_rank(); i < C; i += warp.size()) top = fmaxf(top, x[i]);
    top = reduce(warp, top, greater<float>{});
    for (int i = warp.thread_rank(); i < C; i += warp.size()) sum += expf(x[i] - top);
    sum = reduce(warp, sum, plus<float>{});
    for (int i = warp.thread_rank(); i < C; i += warp.size()) out[row * C + i] = expf(x[i] - top) / sum;
}

void softmax_forward(const float* inp, float* out, int N, int C) { softmax_kernel<<<(N + 3) / 4, 128>>>(inp, out, N, C); }
