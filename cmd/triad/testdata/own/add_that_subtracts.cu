// Its name says that it computes something else than a sum.
__global__ void vector_sub(const float *a, const float *b, float *c, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) c[i] = a[i] - b[i];
}
