// A gate whose kernel has the name of a part of it, with the sign of the exponent the wrong way round: it is judged as what it is asked for.
#include <cuda_runtime.h>

__global__ void fused_silu_mul_kernel(const float *gate, const float *up, float *out, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) out[i] = gate[i] / (1.0f + expf(gate[i])) * up[i];
}

extern "C" void swiglu(const float *gate, const float *up, float *out, int n) {
	fused_silu_mul_kernel<<<(n + 255) / 256, 256>>>(gate, up, out, n);
}
