// y\[\d+,\s*\d+,\s*\d+\].* elements are wrong
#include <cuda_runtime.h>

__global__ void conv1d_kernel(const float* input, const float* weight, float* output, int batch, int in_channels, int length, int out_channels, int kernel_size, int stride, int padding, int length_out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= batch * out_channels * length_out) return;
    int l = i % length_out, o = i / length_out % out_channels, b = i / length_out / out_channels;
    float sum = 0.0f;
    for (int c = 0; c < in_channels; c++)
        for (int t = 0; t < kernel_size; t++) {
            int at = l * stride + t - padding;
            if (at < 0 || at >= length) continue;
            sum += input[(b * in_channels + c) * length + at] * weight[(o * in_channels + c) * kernel_size + kernel_size - 1 - t];
        }
    output[i] = sum;
}

// input, weight, output are device pointers
extern "C" void solve(const float* input, const float* weight, float* output, int batch, int in_channels, int length, int out_channels, int kernel_size, int stride, int padding) {
    int length_out = (length + 2 * padding - kernel_size) / stride + 1;
    int n = batch * out_channels * length_out;
    if (n == 0) return;
    conv1d_kernel<<<(n + 255) / 256, 256>>>(input, weight, output, batch, in_channels, length, out_channels, kernel_size, stride, padding, length_out);
    cudaDeviceSynchronize();
}
