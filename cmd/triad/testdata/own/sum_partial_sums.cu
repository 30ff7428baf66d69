// partial has room for 512 sums, whatever N is.
__global__ void sum_blocks(const float* input, float* partial, int N) {
    __shared__ float s[128];
    float mine = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < N; i += 128 * gridDim.x) mine += input[i];
    s[threadIdx.x] = mine;
    __syncthreads();
    for (int n = 64; n > 0; n /= 2) {
        if (threadIdx.x < n) s[threadIdx.x] += s[threadIdx.x + n];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

__global__ void sum_partial(const float* partial, float* output) {
    double total = 0;
    for (int i = 0; i < 512; i++) total += partial[i];
    *output = (float)total;
}

extern "C" void solve(const float* input, float* partial, float* output, int N) {
    sum_blocks<<<512, 128>>>(input, partial, N);
    sum_partial<<<1, 1>>>(partial, output);
}
