// q_lens is lengths_q, kv_lens is lengths_kv, mask is mask, batch is batch, seq_q is seq_q, seq_kv is seq_kv, causal is causal
#include <cuda_runtime.h>
#include <math.h>

__global__ void attention_mask_kernel(const int* q_lens, const int* kv_lens, float* mask, int batch, int seq_q, int seq_kv,
                                      int causal) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int b = blockIdx.z;
    if (i >= seq_q || j >= seq_kv) return;
    bool visible = i < q_lens[b] && j < kv_lens[b];
    if (causal && j > i + kv_lens[b] - q_lens[b]) visible = false;
    mask[((size_t)b * seq_q + i) * seq_kv + j] = visible ? 0.0f : -INFINITY;
}

// q_lens, kv_lens, mask are device pointers
extern "C" void solve(const int* q_lens, const int* kv_lens, float* mask, int batch, int seq_q, int seq_kv, int causal) {
    if (batch * seq_q * seq_kv == 0) return;
    dim3 block(32, 8);
    dim3 grid((seq_kv + 31) / 32, (seq_q + 7) / 8, batch);
    attention_mask_kernel<<<grid, block>>>(q_lens, kv_lens, mask, batch, seq_q, seq_kv, causal);
    cudaDeviceSynchronize();
}
