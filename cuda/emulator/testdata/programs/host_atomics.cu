// The host adds to counters in managed memory while a kernel does, both by atomic operations: neither waits for the other.
#include <cstdio>

__global__ void vote(int *counters, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd_system(&counters[0], 1);
    atomicMax_system(&counters[1], i);
    atomicOr_system(&counters[2], 1 << i % 8);
    atomicExch_system(&counters[3], 7);
}

int main() {
    const int n = 1000;
    int *counters;
    cudaMallocManaged(&counters, 4 * sizeof(int));
    for (int i = 0; i < 4; i++) counters[i] = 0;
    vote<<<(n + 127) / 128, 128>>>(counters, n);
    for (int i = n; i < 2 * n; i++) {
        __sync_fetch_and_add(&counters[0], 1);
        int seen = counters[1];
        while (seen < i) {
            int before = __sync_val_compare_and_swap(&counters[1], seen, i);
            if (before == seen) break;
            seen = before;
        }
        __atomic_fetch_or(&counters[2], 256, __ATOMIC_RELAXED);
        __atomic_exchange_n(&counters[3], 7, __ATOMIC_SEQ_CST);
    }
    cudaDeviceSynchronize();

    int *taken;
    cudaMallocManaged(&taken, sizeof(int));
    *taken = 0;
    vote<<<1, 1>>>(counters, 1);
    bool first = __atomic_exchange_n(taken, 1, __ATOMIC_ACQ_REL) == 0;
    cudaDeviceSynchronize();

    bool right = counters[0] == 2 * n + 1 && counters[1] == 2 * n - 1 && counters[2] == 511 && counters[3] == 7 && first && *taken == 1;
    printf(right ? "right\n" : "wrong %d %d %d %d\n", counters[0], counters[1], counters[2], counters[3]);
    cudaFree(taken);
    cudaFree(counters);
    return right ? 0 : 1;
}
