// input is k, output is y, batch is batch, num_kv_heads is heads_kv, seq_len is seq, head_dim is head_dim, n_rep is groups
#include <cuda_runtime.h>

__global__ void repeat_kv_kernel(const float* input, float* output, int num_kv_heads, int seq_len, int head_dim, int n_rep,
                                 int total) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= total) return;
    int per_head = seq_len * head_dim;
    int inside = i % per_head;
    int head = i / per_head % (num_kv_heads * n_rep);
    int b = i / per_head / (num_kv_heads * n_rep);
    output[i] = input[(b * num_kv_heads + head / n_rep) * per_head + inside];
}

// input, output are device pointers
extern "C" void solve(const float* input, float* output, int batch, int num_kv_heads, int seq_len, int head_dim,
                      int n_rep) {
    int total = batch * num_kv_heads * n_rep * seq_len * head_dim;
    if (total == 0) return;
    repeat_kv_kernel<<<(total + 255) / 256, 256>>>(input, output, num_kv_heads, seq_len, head_dim, n_rep, total);
    cudaDeviceSynchronize();
}
