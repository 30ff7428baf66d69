template <typename T, int BLOCK_SIZE>
__global__ void softmax_kernel(const T *input, T *output, int rows, int cols) {
	__shared__ float s[BLOCK_SIZE];
	const T *x = input + (size_t)blockIdx.x * cols; T *y = output + (size_t)blockIdx.x * cols;
	float m = -INFINITY; for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) m = fmaxf(m, (float)x[c]);
	s[threadIdx.x] = m; __syncthreads();
	for (int o = BLOCK_SIZE/2; o; o /= 2) { if (threadIdx.x < o) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + o]); __syncthreads(); }
	m = s[0]; __syncthreads();
	float t = 0; for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) t += expf((float)x[c] - m);
	s[threadIdx.x] = t; __syncthreads();
	for (int o = BLOCK_SIZE/2; o; o /= 2) { if (threadIdx.x < o) s[threadIdx.x] += s[threadIdx.x + o]; __syncthreads(); }
	t = s[0];
	for (int c = threadIdx.x; c < cols; c += BLOCK_SIZE) y[c] = (T)(expf((float)x[c] - m) / t);
}
