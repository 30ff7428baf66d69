// cos and sin are as wide as x: each angle stands twice, one beside the other.
__global__ void rotate_pairs(const float* x, const float* cos, const float* sin, float* output, int M, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * D) return;
    float other = i % 2 == 0 ? -x[i + 1] : x[i - 1];
    output[i] = x[i] * cos[i] + other * sin[i];
}

extern "C" void solve(float* Q, float* cos, float* sin, float* output, int M, int D) {
    rotate_pairs<<<(M * D + 127) / 128, 128>>>(Q, cos, sin, output, M, D);
}
