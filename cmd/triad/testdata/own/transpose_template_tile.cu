template <int TILE, int ROWS> __global__ void transpose_tile(const float* in, float* out, int rows, int cols) {
    __shared__ float tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x, y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < rows && y + j < cols) out[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

int cdiv(int a, int b) { return (a + b - 1) / b; }

int main() {
    const int side = 32;
    int rows = 100, cols = 200;
    float *in, *out;
    cudaMalloc(&in, rows * cols * 4);
    cudaMalloc(&out, rows * cols * 4);
    dim3 grid(cdiv(cols, side), cdiv(rows, side)), block(side, 8);
    transpose_tile<side, 8><<<grid, block>>>(in, out, rows, cols);
}
