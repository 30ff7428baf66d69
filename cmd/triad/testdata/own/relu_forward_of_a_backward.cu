__global__ void relu_forward_kernel(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 1 ? x[i] : 0;
}
__global__ void relu_backward_kernel(const float *x, const float *grad_y, float *grad_x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) grad_x[i] = x[i] <= 0 ? 0 : grad_y[i];
}
void test_backward(const float *x, float *y, const float *grad_y, float *grad_x, int n) {
    relu_forward_kernel<<<(n + 255) / 256, 256>>>(x, y, n);
    relu_backward_kernel<<<(n + 255) / 256, 256>>>(x, grad_y, grad_x, n);
}
