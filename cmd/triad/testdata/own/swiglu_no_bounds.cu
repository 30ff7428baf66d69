__global__ void swiglu(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float g = a[i];
    c[i] = g / (1.0f + expf(-g)) * b[i];
}
