// hidden is hidden, weight is weight, labels is target, loss is loss, N is tokens, D is dim, V is classes
#include <cuda_runtime.h>
#include <math.h>

__device__ float logit(const float* x, const float* w, int D) {
    float sum = 0.0f;
    for (int d = 0; d < D; d++) sum += x[d] * w[d];
    return sum;
}

__global__ void token_losses(const float* hidden, const float* weight, const long long* labels, float* losses, int N, int D, int V) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    const float* x = hidden + (long long)i * D;
    float max = -INFINITY, total = 0.0f;
    for (int v = 0; v < V; v++) max = fmaxf(max, logit(x, weight + (long long)v * D, D));
    for (int v = 0; v < V; v++) total += expf(logit(x, weight + (long long)v * D, D) - max);
    losses[i] = labels[i] < 0 ? 0.0f : (max - logit(x, weight + labels[i] * D, D)) + logf(total);
}

__global__ void mean_loss(const float* losses, const long long* labels, float* loss, int N) {
    float sum = 0.0f;
    int count = 0;
    for (int i = 0; i < N; i++) {
        if (labels[i] < 0) continue;
        sum += losses[i];
        count++;
    }
    *loss = sum / (count > 0 ? count : 1);
}

// hidden, weight, labels, loss are device pointers; tokens whose label is negative are not counted
extern "C" void solve(const float* hidden, const float* weight, const long long* labels, float* loss, int N, int D, int V) {
    float* losses;
    cudaMalloc(&losses, (N > 0 ? N : 1) * sizeof(float));
    token_losses<<<(N + 255) / 256, 256>>>(hidden, weight, labels, losses, N, D, V);
    mean_loss<<<1, 1>>>(losses, labels, loss, N);
    cudaDeviceSynchronize();
    cudaFree(losses);
}
