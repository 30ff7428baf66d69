#include <cooperative_groups.h>
namespace cg = cooperative_groups;

__device__ float sum_of(cg::thread_group g, float* room, float value) {
    int lane = g.thread_rank();
    for (int i = g.size() / 2; i > 0; i /= 2) {
        room[lane] = value;
        g.sync();
        if (lane < i) value += room[lane + i];
        g.sync();
    }
    return value;
}

using f32 = float;

__global__ void softmax(const f32* in, f32* out, int N, int M) {
    __shared__ f32 room[64], total, top;
    cg::thread_block block = cg::this_thread_block();
    const f32* x = in + blockIdx.x * M;
    if (threadIdx.x == 0) {
        top = -INFINITY;
        for (int i = 0; i < M; i++) top = fmaxf(top, x[i]);
    }
    block.sync();
    f32 part = 0;
    for (int i = threadIdx.x; i < M; i += 64) part += expf(x[i] - top);
    part = sum_of(block, room, part);
    if (threadIdx.x == 0) total = part;
    block.sync();
    for (int i = threadIdx.x; i < M; i += 64) out[blockIdx.x * M + i] = expf(x[i] - top) / total;
}

void softmax_gpu(const f32* in, f32* out, int N, int M) { softmax<<<N, 64>>>(in, out, N, M); }
