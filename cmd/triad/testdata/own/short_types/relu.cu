#include "types.h"

__global__ void ReluKernel(const f32 *Input, f32 *Output, u32 N) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) Output[i] = Input[i] <= 0 ? 0 : Input[i];
}

void Relu(const f32 *Input, f32 *Output, u32 N) { ReluKernel<<<(N + 255) / 256, 256>>>(Input, Output, N); }
