// A block a row, a thread a column: a block has 1,024 threads at most.
__global__ void rows(const float *a, const float *b, float *y, int m, int n, int k) {
	float s = 0;
	for (int l = 0; l < k; l++) s += a[blockIdx.x * k + l] * b[l * n + threadIdx.x];
	y[blockIdx.x * n + threadIdx.x] = s;
}
// triad: gemm(a=a, b=b, y=y, m=m, n=n, k=k)
extern "C" void solve(const float *a, const float *b, float *y, int m, int n, int k) {
	if (m * n > 0) rows<<<m, n>>>(a, b, y, m, n, k);
}
