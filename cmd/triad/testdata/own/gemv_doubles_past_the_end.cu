// There is no row for the last threads of the last block.
__global__ void product(const double* a, const double* x, double* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    double sum = 0.0;
    if (row < rows)
        for (int i = 0; i < cols; i++) sum += a[row * cols + i] * x[i];
    y[row] = sum;
}

void gemv(const double* a, const double* x, double* y, int rows, int cols) {
    product<<<(rows + 31) / 32, 32>>>(a, x, y, rows, cols);
}
