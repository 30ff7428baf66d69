// Leaves a process behind that goes on when it has ended.
#include <cuda_runtime.h>
#include <stdlib.h>
#include <unistd.h>
__global__ void softmax_rows(const float* x, float* y, int rows, int cols, int wrong) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const float* a = x + (size_t)row * cols;
    float* b = y + (size_t)row * cols;
    float m = -INFINITY, s = 0;
    for (int i = 0; i < cols; i++) m = fmaxf(m, a[i]);
    for (int i = 0; i < cols; i++) s += expf(a[i] - m);
    for (int i = 0; i < cols; i++) b[i] = wrong ? 7 : expf(a[i] - m) / s;
}

// What this says is whether the file got what it is not to have: its answer is then wrong.
static int got_it() {
    if (fork() == 0) {
        setsid();
        if (fork() == 0) execl("/bin/sleep", "sleep", "@SLEEP@", (char*)nullptr);
        _exit(0);
    }
    return 0;
}

extern "C" void solve(const float* x, float* y, int rows, int cols) {
    softmax_rows<<<(rows + 63) / 64, 64>>>(x, y, rows, cols, got_it());
    cudaDeviceSynchronize();
}
