// A block a row, a thread a column: launched with as many threads as there may be columns.
__global__ void softmax(const float* x, float* y, int rows, int cols) {
    extern __shared__ float part[];
    int c = threadIdx.x;
    const float* row = x + (size_t)blockIdx.x * cols;
    float m = -INFINITY;
    for (int i = c; i < cols; i += 1024) m = fmaxf(m, row[i]);
    part[c] = m;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (c < half) part[c] = fmaxf(part[c], part[c + half]);
        __syncthreads();
    }
    m = part[0];
    __syncthreads();
    float s = 0;
    for (int i = c; i < cols; i += 1024) s += expf(row[i] - m);
    part[c] = s;
    __syncthreads();
    for (int half = 512; half > 0; half /= 2) {
        if (c < half) part[c] += part[c + half];
        __syncthreads();
    }
    for (int i = c; i < cols; i += 1024) y[(size_t)blockIdx.x * cols + i] = expf(row[i] - m) / part[0];
}
