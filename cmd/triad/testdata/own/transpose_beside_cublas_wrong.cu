// main() compares it with cuBLAS, on squares: its grid says which side counts what.
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <vector>
#define TILE 32
#define ROWS_AT_ONCE 4

__global__ void turn(const float *in, float *out, int rows, int cols) {
	__shared__ float tile[TILE][TILE + 1];
	int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
	for (int i = 0; i < TILE; i += ROWS_AT_ONCE)
		if (y + i < rows && x < cols) tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * cols + x];
	__syncthreads();
	x = blockIdx.y * TILE + threadIdx.x;
	y = blockIdx.x * TILE + threadIdx.y;
	for (int i = 0; i < TILE; i += ROWS_AT_ONCE)
		if (y + i < cols && x < rows) out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
}

int main() {
	int n = 512, rows = n, cols = n;
	std::vector<float> host(rows * cols, 1.0f);
	float *in, *out, one = 1, none = 0;
	cudaMalloc(&in, host.size() * sizeof(float));
	cudaMalloc(&out, host.size() * sizeof(float));
	cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice);
	cublasHandle_t handle;
	if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 1;
	cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, cols, &one, in, cols, &none, out, rows, out, rows);
	dim3 threads(TILE, ROWS_AT_ONCE), blocks((rows + TILE - 1) / TILE, (cols + TILE - 1) / TILE);
	turn<<<blocks, threads>>>(in, out, rows, cols);
	cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost);
	cublasDestroy(handle);
}
