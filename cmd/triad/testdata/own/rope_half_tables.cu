// cos and sin hold one angle for two elements of x, and are read with the index of the first of them.
__global__ void rotate_halves(const float* x, const float* cos, const float* sin, float* output, int M, int D) {
    int row = blockIdx.x, half = D / 2;
    x += row * D;
    output += row * D;
    cos += row * half;
    sin += row * half;
    for (int i = threadIdx.x; i < half; i += blockDim.x) {
        output[i] = x[i] * cos[i] - x[i + half] * sin[i];
        output[i + half] = x[i + half] * cos[i] + x[i] * sin[i];
    }
}

extern "C" void solve(float* Q, float* cos, float* sin, float* output, int M, int D) {
    rotate_halves<<<M, 64>>>(Q, cos, sin, output, M, D);
}
