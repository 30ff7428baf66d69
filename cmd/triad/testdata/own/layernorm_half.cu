#include <cuda_fp16.h>
typedef __half half_t;
__global__ void ln(const half_t* inp, const half_t* gamma, const half_t* beta, half_t* out, int B, int C, float epsilon) {
    int b = blockIdx.x;
    __shared__ float s[128];
    float sum = 0;
    for (int c = threadIdx.x; c < C; c += 128) sum += __half2float(inp[b * C + c]);
    s[threadIdx.x] = sum;
    __syncthreads();
    float mean = 0;
    for (int i = 0; i < 128; i++) mean += s[i];
    mean /= C;
    __syncthreads();
    sum = 0;
    for (int c = threadIdx.x; c < C; c += 128) {
        float d = __half2float(inp[b * C + c]) - mean;
        sum += d * d;
    }
    s[threadIdx.x] = sum;
    __syncthreads();
    float var = 0;
    for (int i = 0; i < 128; i++) var += s[i];
    float rstd = 1.0f / sqrtf(var / C + epsilon);
    for (int c = threadIdx.x; c < C; c += 128)
        out[b * C + c] = __float2half((__half2float(inp[b * C + c]) - mean) * rstd * __half2float(gamma[c]) + __half2float(beta[c]));
}
extern "C" void layernorm(const half_t* inp, const half_t* gamma, const half_t* beta, half_t* out, int B, int C, float epsilon) {
    ln<<<B, 128>>>(inp, gamma, beta, out, B, C, epsilon);
}
