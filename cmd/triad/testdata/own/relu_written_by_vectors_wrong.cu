// Kernels of one file that nothing launches, one of them by vectors: each writes y.
#define FLOAT4(value) (reinterpret_cast<float4 *>(&(value))[0])

__global__ void relu_f32(float *x, float *y, int N) {
	int idx = blockIdx.x * blockDim.x + threadIdx.x;
	if (idx < N) y[idx] = fmaxf(x[idx], 0.0f);
}

__global__ void relu_f32x4(float *x, float *y, int N) {
	int idx = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
	if (idx + 3 < N) {
		float4 v = FLOAT4(x[idx]);
		v.x = v.x < 0 ? 0 : v.x;
		v.y = v.y < 0 ? 0 : v.y;
		v.z = v.z < 0 ? 0 : v.z;
		v.w = v.z < 0 ? 0 : v.w;
		FLOAT4(y[idx]) = v;
	} else {
		for (; idx < N; idx++) y[idx] = fmaxf(x[idx], 0.0f);
	}
}
