// y\[\d+\] is .*, want 0, accepted is .*; \d+ of \d+ elements are wrong
#include <cuda_runtime.h>
#include <stdint.h>

// Philox-4x32-10: four random words for a counter and a key.
__device__ void philox(uint64_t counter, uint64_t key, uint32_t out[4]) {
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0};
    uint32_t low = (uint32_t)key, high = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t first = (uint64_t)c[0] * 0xD2511F53u, second = (uint64_t)c[2] * 0xCD9E8D57u;
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ low;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ high;
        c[1] = (uint32_t)second;
        c[3] = (uint32_t)first;
        low += 0x9E3779B9u;
        high += 0xBB67AE85u;
    }
    for (int i = 0; i < 4; i++) out[i] = c[i];
}

__global__ void dropout_kernel(const float* input, float* output, uint32_t threshold, float factor, uint64_t seed, uint64_t offset, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N) return;
    uint32_t words[4];
    philox(offset + i / 4, seed, words);
    output[i] = words[0] >= threshold ? input[i] * factor : 0.0f;
}

// input, output are device pointers
extern "C" void solve(const float* input, float* output, float p, long long seed, long long offset, int N) {
    uint32_t threshold = (uint32_t)llrint((double)p * 4294967296.0);
    float factor = (float)(1.0 / (1.0 - (double)p));
    if (N > 0) dropout_kernel<<<(N + 255) / 256, 256>>>(input, output, threshold, factor, (uint64_t)seed, (uint64_t)offset, N);
    cudaDeviceSynchronize();
}
