// The only number counts the elements, whatever it is called.
__global__ void vecAdd(float *A, float *B, float *C, int vectorLength) {
	int at = threadIdx.x + blockIdx.x * blockDim.x;
	if (at < vectorLength) C[at] = A[at] + B[at];
}
