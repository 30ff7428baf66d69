__global__ void softmax(const float* x, float* y, int rows, int cols) {
    int r = blockIdx.x;
    if (threadIdx.x) return;
    float m = -INFINITY, s = 0;
    for (int c = 0; c < cols; c++) m = fmaxf(m, x[r * cols + c]);
    for (int c = 0; c < cols; c++) s += expf(x[r * cols + c] - m);
    for (int c = 0; c < cols; c++) y[c * rows + r] = expf(x[r * cols + c] - m) / s;
}
