// What the emulator itself costs, in processor time: a barrier per thread, a shuffle per lane. No figure here says anything about a GPU.
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
}
