#include <cuda_fp16.h>
// Every step is rounded to half, as a module of PyTorch does it.
__global__ void swiglu(const half* gate, const half* up, half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = __half2float(gate[i]);
    half silu = __float2half(g / (1.0f + expf(-g)));
    out[i] = __float2half(__half2float(silu) * __half2float(up[i]));
}
