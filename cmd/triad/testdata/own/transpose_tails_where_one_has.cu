// Bounds are asked where a tile is not full.
template <bool FULL> __global__ void tiles(const float *x, float *y, int rows, int cols) {
	__shared__ float tile[32][33];
	int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
	if (FULL || (r < rows && c < cols)) tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
	__syncthreads();
	c = blockIdx.y * 32 + threadIdx.x, r = blockIdx.x * 32 + threadIdx.y;
	if (FULL || (r < cols && c < rows)) y[r * rows + c] = tile[threadIdx.x][threadIdx.y];
}
// triad: transpose(x=x, y=y, rows=rows, cols=cols)
extern "C" void solve(const float *x, float *y, int rows, int cols) {
	if (rows * cols == 0) return;
	dim3 grid((cols + 31) / 32, (rows + 31) / 32), block(32, 32);
	if (rows % 32 == 0 && cols % 32 == 0) tiles<true><<<grid, block>>>(x, y, rows, cols);
	else tiles<false><<<grid, block>>>(x, y, rows, cols);
}
