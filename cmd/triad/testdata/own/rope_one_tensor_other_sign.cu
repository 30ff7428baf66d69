__global__ void rope(const float* Q, const float* cos, const float* sin, float* output, int M, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= M * D) return;
    int j = i % D, half = D / 2;
    float turned = j < half ? Q[i + half] : -Q[i - half];
    output[i] = Q[i] * cos[i] + turned * sin[i];
}

extern "C" void solve(float* Q, float* cos, float* sin, float* output, int M, int D) {
    rope<<<(M * D + 255) / 256, 256>>>(Q, cos, sin, output, M, D);
}
