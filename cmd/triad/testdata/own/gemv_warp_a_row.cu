// A warp adds up a row; the rows of a block lie along threadIdx.y, and the blocks count them along x.
__device__ float of_the_warp(float value) {
	for (int far = 16; far > 0; far /= 2)
		value += __shfl_down_sync(0xffffffff, value, far);
	return value;
}

__global__ void warp_gemv(const float *A, const float *x, float *y, const int M, const int N) {
	const int lanes = 32;
	int bx = blockIdx.x, tx = threadIdx.x, ty = threadIdx.y;
	int row = bx * blockDim.y + ty;
	if (row < M) {
		float sum = 0.0f;
		for (int column = tx; column < N; column += lanes)
			sum += A[row * N + column] * x[column];
		sum = of_the_warp(sum);
		if (tx == 0)
			y[row] = sum;
	}
}
