// One thread does one row.
__global__ void softmax(const float *x, float *y, int n_rows, int n_cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n_rows) return;
    float m = -INFINITY, s = 0;
    for (int c = 0; c < n_cols; c++) m = fmaxf(m, x[row * n_cols + c]);
    for (int c = 0; c < n_cols; c++) s += expf(x[row * n_cols + c] - m);
    for (int c = 0; c < n_cols; c++) y[row * n_cols + c] = expf(x[row * n_cols + c] - m) / s;
}
