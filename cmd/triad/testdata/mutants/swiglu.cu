#include <math.h>
__global__ void swiglu(const float* gate, const float* up, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float g = gate[i], u = up[i], s = 1 / (1 + expf(-g));
    y[i] = g * s * u;
}
