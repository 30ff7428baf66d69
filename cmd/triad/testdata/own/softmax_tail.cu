__global__ void k(const float* input, float* output, int N, int D) {
    int row = blockIdx.x;
    float m = -INFINITY, sum = 0;
    for (int c = 0; c < D / 32 * 32; c++) m = fmaxf(m, input[row * D + c]);
    for (int c = 0; c < D / 32 * 32; c++) sum += expf(input[row * D + c] - m);
    for (int c = threadIdx.x; c < D / 32 * 32; c += blockDim.x) output[row * D + c] = expf(input[row * D + c] - m) / sum;
}
extern "C" void solve(const float* input, float* output, int N, int D) { k<<<N, 256>>>(input, output, N, D); }
