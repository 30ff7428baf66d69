// The host's matrices are copied, multiplied and copied back.
__global__ void multiply(int *a, int *b, int *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || col >= n) return;
    int sum = 0;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + col];
    c[row * n + col] = sum;
}

void matrixMultiply(int *h_a, int *h_b, int *h_c, int n) {
    int *a, *b, *c;
    size_t bytes = n * n * sizeof(int);
    cudaMalloc(&a, bytes);
    cudaMalloc(&b, bytes);
    cudaMalloc(&c, bytes);
    cudaMemcpy(a, h_a, bytes, cudaMemcpyHostToDevice);
    cudaMemcpy(b, h_b, bytes, cudaMemcpyHostToDevice);
    dim3 threads(16, 16), blocks((n + 15) / 16, (n + 15) / 16);
    multiply<<<blocks, threads>>>(a, b, c, n);
    cudaMemcpy(h_c, c, bytes, cudaMemcpyDeviceToHost);
    cudaFree(a);
    cudaFree(b);
    cudaFree(c);
}
