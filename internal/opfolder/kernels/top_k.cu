// logits is x, topk_values is values, topk_ids is indices, num_rows is rows, vocab_size is cols, k is k
#include <cuda_runtime.h>
#include <math.h>

// One thread a row: k times the largest element that has not been taken, by marking what is behind us.
__device__ bool before(float a, int i, float b, int j) {
    bool nan_a = isnan(a), nan_b = isnan(b);
    if (nan_a != nan_b) return nan_a;
    if (!nan_a && a != b) return a > b;
    return i < j;
}

__global__ void topk_kernel(const float* logits, float* topk_values, int* topk_ids, int num_rows, int vocab_size, int k) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= num_rows) return;
    const float* x = logits + (long long)row * vocab_size;
    int last = -1;
    for (int i = 0; i < k; i++) {
        int best = -1;
        for (int c = 0; c < vocab_size; c++) {
            if (last >= 0 && !before(x[last], last, x[c], c)) continue;
            if (best < 0 || before(x[c], c, x[best], best)) best = c;
        }
        topk_values[(long long)row * k + i] = x[best];
        topk_ids[(long long)row * k + i] = best;
        last = best;
    }
}

extern "C" void solve(const float* logits, float* topk_values, int* topk_ids, int num_rows, int vocab_size, int k) {
    topk_kernel<<<(num_rows + 63) / 64, 64>>>(logits, topk_values, topk_ids, num_rows, vocab_size, k);
}
