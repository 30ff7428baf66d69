__global__ void k(const float* x, float* y, int cols) {
    extern __shared__ float s[];
    int c = threadIdx.x;
    float v = x[blockIdx.x * cols + c];
    s[c] = v;
    __syncthreads();
    float m = -INFINITY, sum = 0;
    for (int j = 0; j < cols; j++) m = fmaxf(m, s[j]);
    for (int j = 0; j < cols; j++) sum += expf(s[j] - m);
    y[blockIdx.x * cols + c] = expf(v - m) / sum;
}
extern "C" void softmax_forward(const float* x, float* y, int rows, int cols) { k<<<rows, cols, cols * 4>>>(x, y, cols); }
