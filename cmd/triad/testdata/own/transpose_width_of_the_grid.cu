// The length of a row is what the grid covers.
#define SIDE 32
#define STEP 8

__global__ void turned(float *to, const float *from) {
	__shared__ float tile[SIDE][SIDE + 1];
	const int width = gridDim.x * SIDE;
	int x = blockIdx.x * SIDE + threadIdx.x, y = blockIdx.y * SIDE + threadIdx.y;
	for (int j = 0; j < SIDE; j += STEP) tile[threadIdx.y + j][threadIdx.x] = from[(y + j) * width + x];
	__syncthreads();
	x = blockIdx.y * SIDE + threadIdx.x, y = blockIdx.x * SIDE + threadIdx.y;
	for (int j = 0; j < SIDE; j += STEP) to[(y + j) * width + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
	const int nx = 96, ny = 96;
	float *from, *to;
	cudaMalloc(&from, nx * ny * sizeof(float));
	cudaMalloc(&to, nx * ny * sizeof(float));
	dim3 blocks(nx / SIDE, ny / SIDE, 1), threads(SIDE, STEP, 1);
	turned<<<blocks, threads>>>(to, from);
	cudaDeviceSynchronize();
}
