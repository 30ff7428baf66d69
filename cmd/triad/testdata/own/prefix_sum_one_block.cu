__global__ void scan(const float* in, float* out, int n) {
    extern __shared__ float t[];
    int i = threadIdx.x;
    t[i] = in[i];
    __syncthreads();
    for (int step = 1; step < n; step *= 2) {
        float v = i >= step ? t[i - step] : 0.f;
        __syncthreads();
        t[i] += v;
        __syncthreads();
    }
    out[i] = t[i];
}

int main() {
    const int N = 16;
    float *a, *b;
    cudaMalloc(&a, N * 4);
    cudaMalloc(&b, N * 4);
    scan<<<1, N, N * sizeof(float)>>>(a, b, N);
}
