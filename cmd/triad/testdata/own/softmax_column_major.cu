// Written by somebody who comes from Fortran: element (r, c) at c * rows + r.
__global__ void softmax_kernel(const float* in, float* out, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float mx = -INFINITY, total = 0;
    for (int c = 0; c < cols; ++c) mx = fmaxf(mx, in[c * rows + r]);
    for (int c = 0; c < cols; ++c) total += expf(in[c * rows + r] - mx);
    for (int c = 0; c < cols; ++c) out[c * rows + r] = expf(in[c * rows + r] - mx) / total;
}
