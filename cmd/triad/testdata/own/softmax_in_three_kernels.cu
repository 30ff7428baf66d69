// The three are launched one after the other, with a thread for each row and then for each element.

__global__ void largest_of_rows(const float *x, float *largest, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float m = x[row * cols];
    for (int c = 1; c < cols; ++c) m = fmaxf(m, x[row * cols + c]);
    largest[row] = m;
}

__global__ void totals_of_rows(const float *x, const float *largest, float *totals, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0.0f;
    for (int c = 0; c < cols; ++c) total += expf(x[row * cols + c] - largest[row]);
    totals[row] = total;
}

__global__ void normalise(const float *x, const float *largest, const float *totals, float *y, int rows,
                          int cols) {
    int row = blockIdx.y, c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < cols) y[row * cols + c] = expf(x[row * cols + c] - largest[row]) / totals[row];
}
