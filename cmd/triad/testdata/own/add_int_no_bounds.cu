__global__ void addArrays(const int *a, const int *b, int *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}

void launch(const int *a, const int *b, int *c, int n) { addArrays<<<(n + 127) / 128, 128>>>(a, b, c, n); }
