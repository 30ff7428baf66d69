__global__ void reverseKernel(int *in, int *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[n - 1 - i] = in[i];
}

void reverseArray(int *in, int *out, int n) { reverseKernel<<<(n + 255) / 256, 256>>>(in, out, n); }
