__global__ void count_kernel(const int *input, int *output, int N, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < N && input[i] == K) atomicAdd(output, 1);
}

extern "C" void solve(const int *input, int *output, int N, int K) {
    count_kernel<<<(N + 255) / 256, 256>>>(input, output, N, K);
}
