__global__ void work(const float* from, float* to, int p, int q) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= p) return;
    float m = -INFINITY, s = 0;
    for (int c = 0; c < q; c++) m = fmaxf(m, from[i * q + c]);
    for (int c = 0; c < q; c++) s += expf(from[i * q + c] - m);
    for (int c = 0; c < q; c++) to[i * q + c] = expf(from[i * q + c] - m);
}
