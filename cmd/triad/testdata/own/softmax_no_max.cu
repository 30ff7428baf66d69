__global__ void softmax(const float *in, float *out, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float s = 0;
    for (int c = 0; c < cols; c++) s += expf(in[row * cols + c]);
    for (int c = 0; c < cols; c++) out[row * cols + c] = expf(in[row * cols + c]) / s;
}
