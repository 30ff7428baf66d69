// No compiler takes a function that is there twice.
__global__ void add_up(const float* input, float* output, int N) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N) atomicAdd(output, input[i]);
}

extern "C" void solve(const float* input, float* output, int N) { add_up<<<(N + 63) / 64, 64>>>(input, output, N); }

extern "C" void solve(const float* input, float* output, int N) { add_up<<<(N + 255) / 256, 256>>>(input, output, N); }
