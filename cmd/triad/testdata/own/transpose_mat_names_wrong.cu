// The sizes are constants of one letter, and only the lines say which of them rows are long.
#include <cuda_runtime.h>

#define N 18 // rows
#define M 34 // columns
#define SIDE 16

__global__ void turn(float *d_mat_out, float *d_mat_in) {
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	int c = blockIdx.y * blockDim.y + threadIdx.y;
	if (r < N && c < M) {
		int from = r * M + c;
		int to = c * N + r - r % 2;
		d_mat_out[to] = d_mat_in[from];
	}
}

int main() {
	float host_in[N * M], host_out[M * N];
	for (int i = 0; i < N * M; i++) host_in[i] = (float)i;
	float *d_mat_in, *d_mat_out;
	cudaMalloc((void **)&d_mat_in, N * M * sizeof(float));
	cudaMalloc((void **)&d_mat_out, N * M * sizeof(float));
	cudaMemcpy(d_mat_in, host_in, N * M * sizeof(float), cudaMemcpyHostToDevice);
	dim3 threads(SIDE, SIDE), blocks((N + SIDE - 1) / SIDE, (M + SIDE - 1) / SIDE);
	turn<<<blocks, threads>>>(d_mat_out, d_mat_in);
	cudaMemcpy(host_out, d_mat_out, N * M * sizeof(float), cudaMemcpyDeviceToHost);
	cudaFree(d_mat_in);
	cudaFree(d_mat_out);
	return 0;
}
