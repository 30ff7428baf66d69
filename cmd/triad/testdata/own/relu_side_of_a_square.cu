// N is the side of a square, not the number of elements.
#define N 64

__global__ void rectify(const float *from, float *to) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < N * N) to[i] = from[i] < 0.0f ? 0.0f : from[i];
}

int main() {
	float *from, *to;
	cudaMalloc(&from, N * N * sizeof(float));
	cudaMalloc(&to, N * N * sizeof(float));
	rectify<<<(N * N + 255) / 256, 256>>>(from, to);
	cudaDeviceSynchronize();
}
