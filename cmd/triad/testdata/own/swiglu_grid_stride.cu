#include <cuda_bf16.h>
namespace mlp {
__global__ void swiglu_fwd(const __nv_bfloat16* __restrict__ x_gate, const __nv_bfloat16* __restrict__ x_up, __nv_bfloat16* __restrict__ y, size_t total_elements) {
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < total_elements; i += (size_t)gridDim.x * blockDim.x) {
        float g = __bfloat162float(x_gate[i]), u = __bfloat162float(x_up[i]);
        y[i] = __float2bfloat16(g / (1.0f + expf(-g)) * u);
    }
}
}
int main() { return 0; }
