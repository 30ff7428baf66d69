// Its name says nothing of a difference.
__global__ void vector_total(const float *a, const float *b, float *c, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) c[i] = a[i] - b[i];
}
