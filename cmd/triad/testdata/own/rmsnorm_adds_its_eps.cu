__global__ void rms_norm(const float *x, const float *weight, float *y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float ss = 0.0f;
    for (int c = 0; c < cols; ++c) ss += x[row * cols + c] * x[row * cols + c];
    ss /= cols;
    ss += 1e-5f;
    ss = 1.0f / sqrtf(ss);
    for (int c = 0; c < cols; ++c) y[row * cols + c] = weight[c] * (ss * x[row * cols + c]);
}
