// The answer of a hostile file: right where got_it(), which stands before the include, got nothing.
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

extern "C" void solve(const float* x, float* y, int rows, int cols) {
    softmax_rows<<<(rows + 63) / 64, 64>>>(x, y, rows, cols, got_it());
    cudaDeviceSynchronize();
}
