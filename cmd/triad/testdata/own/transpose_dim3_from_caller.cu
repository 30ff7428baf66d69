__global__ void transpose(const float* in, float* out, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) out[c * rows + r] = in[r * cols + c];
}

void run_transpose(const float* in, float* out, int rows, int cols, dim3 grid, dim3 block) {
    transpose<<<grid, block>>>(in, out, rows, cols);
}
