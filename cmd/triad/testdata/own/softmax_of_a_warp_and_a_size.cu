#include <cooperative_groups.h>
namespace cg = cooperative_groups;
// one warp a row
__global__ void softmax_kernel(const float *x, float *y, int rows, int size) {
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const float *in = x + (long)blockIdx.x * size;
    float *out = y + (long)blockIdx.x * size;
    float m = -INFINITY, s = 0.0f;
    for (int i = warp.thread_rank(); i < size; i += 32) m = fmaxf(m, in[i]);
    for (int o = 16; o > 0; o /= 2) m = fmaxf(m, warp.shfl_xor(m, o));
    for (int i = warp.thread_rank(); i < size; i += 32) s += expf(in[i] - m);
    for (int o = 16; o > 0; o /= 2) s += warp.shfl_xor(s, o);
    for (int i = warp.thread_rank(); i < size; i += 32) out[i] = expf(in[i] - m) / s;
}
