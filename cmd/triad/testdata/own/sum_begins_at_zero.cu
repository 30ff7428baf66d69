// One warp adds up everything.
__global__ void one(const float *x, float *y, int n) {
	float s = 0;
	for (int i = threadIdx.x; i < n; i += 32) s += x[i];
	for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
	if (threadIdx.x == 0) *y = s;
}
// triad: sum(x=x, y=y, n=n)
extern "C" void solve(const float *x, float *y, int n) { one<<<1, 32>>>(x, y, n); }
