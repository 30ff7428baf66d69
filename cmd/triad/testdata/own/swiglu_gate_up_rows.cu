// [num_tokens, 2 * d]: the gate of a token, then its up
__global__ void silu_and_mul(float* out, const float* gate_up, int num_tokens, int d) {
    const float* row = gate_up + blockIdx.x * 2 * d;
    for (int i = threadIdx.x; i < d; i += blockDim.x) out[blockIdx.x * d + i] = row[i] / (1.0f + expf(-row[i])) * row[d + i];
}

void silu_and_mul_forward(float* out, const float* gate_up, int num_tokens, int d) {
    silu_and_mul<<<num_tokens, 128>>>(out, gate_up, num_tokens, d);
}
