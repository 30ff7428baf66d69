__global__ void work(const float* from, float* to, int p, int q) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= q) return;
    float m = -INFINITY, s = 0;
    for (int c = 0; c < p; c++) m = fmaxf(m, from[i * p + c]);
    for (int c = 0; c < p; c++) s += expf(from[i * p + c] - m);
    for (int c = 0; c < p; c++) to[i * p + c] = expf(from[i * p + c] - m) / s;
}
