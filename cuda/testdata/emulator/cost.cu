// What the emulator itself costs, in processor time: a barrier per thread, a shuffle per lane, an ordinary kernel. No figure here says anything about
// a GPU.
#include <cmath>
#include <ctime>

#include <cstdio>

__global__ void barriers(int n) {
	for (int i = 0; i < n; i++) __syncthreads();
}

__global__ void shuffles(int n, float *out) {
	float v = threadIdx.x;
	for (int i = 0; i < n; i++) v += __shfl_xor_sync(0xffffffffu, v, 1);
	out[threadIdx.x] = v;
}

__global__ void add(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) c[i] = a[i] + b[i];
}

// A block a row: maximum and sum of each warp by shuffles, of the block in shared memory.
__global__ void softmax(const float *x, float *y, int cols) {
	__shared__ float part[8];
	const float *row = x + blockIdx.x * cols;
	const int t = threadIdx.x, warps = blockDim.x / 32;
	float most = -INFINITY, sum = 0;
	for (int c = t; c < cols; c += blockDim.x) most = fmaxf(most, row[c]);
	for (int k = 16; k > 0; k /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, k));
	if (t % 32 == 0) part[t / 32] = most;
	__syncthreads();
	for (int w = 0; w < warps; w++) most = fmaxf(most, part[w]);
	__syncthreads();
	for (int c = t; c < cols; c += blockDim.x) sum += expf(row[c] - most);
	for (int k = 16; k > 0; k /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, k);
	if (t % 32 == 0) part[t / 32] = sum;
	__syncthreads();
	sum = 0;
	for (int w = 0; w < warps; w++) sum += part[w];
	for (int c = t; c < cols; c += blockDim.x) y[blockIdx.x * cols + c] = expf(row[c] - most) / sum;
}

static double now() {
	timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class Run> static double least(Run run) {
	double best = 1e18;
	for (int i = 0; i < 7; i++) {
		double start = now();
		run();
		double spent = now() - start;
		if (spent < best) best = spent;
	}
	return best;
}

int main() {
	const int n = 1 << 20, rounds = 3000;
	float *a, *b, *c;
	cudaMalloc(&a, n * 4), cudaMalloc(&b, n * 4), cudaMalloc(&c, n * 4);
	cudaMemset(a, 0, n * 4), cudaMemset(b, 0, n * 4);
	for (int threads : {32, 64, 128, 256, 512, 1024}) {
		double barrier = least([&] { barriers<<<1, threads>>>(rounds); }) / (1.0 * threads * rounds);
		double shuffle = least([&] { shuffles<<<1, threads>>>(rounds, c); }) / (1.0 * threads * rounds);
		printf("block %4d: barrier %.1f ns per thread, shuffle %.1f ns per lane\n", threads, barrier, shuffle);
	}
	printf("no barrier: %.2f ns per thread\n", least([&] { add<<<n / 256, 256>>>(a, b, c, n); }) / n);
	cudaFree(a), cudaFree(b), cudaFree(c);
	const int rows = 4096, cols = 1024;
	cudaMalloc(&a, rows * cols * 4), cudaMalloc(&b, rows * cols * 4);
	for (int i = 0; i < rows * cols; i++) a[i] = static_cast<float>(i % 997) * 0.01f;
	printf("softmax %d x %d: %.3f s\n", rows, cols, least([&] { softmax<<<rows, 256>>>(a, b, cols); }) * 1e-9);
	cudaFree(a), cudaFree(b);
}
