// An inclusive scan in one pass: a block publishes its sum, and looks back at those before it until it meets one whose
// prefix is known.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int THREADS = 128;
enum { NOTHING = 0, SUM = 1, PREFIX = 2 };

struct Tile {
	volatile int flag;
	volatile int sum, prefix;
};

__global__ void scan(const int *x, int *y, Tile *tiles, int n) {
	__shared__ int s[THREADS], before;
	const int t = threadIdx.x, b = blockIdx.x, i = b * THREADS + t;
	s[t] = i < n ? x[i] : 0;
	__syncthreads();
	for (int k = 1; k < THREADS; k *= 2) {
		int v = t >= k ? s[t - k] : 0;
		__syncthreads();
		s[t] += v;
		__syncthreads();
	}
	if (t == 0) {
		Tile *mine = tiles + b;
		mine->sum = s[THREADS - 1];
		__threadfence();
		mine->flag = SUM;
		int sum = 0;
		for (int k = b - 1; k >= 0; k--) {
			int flag;
			while ((flag = tiles[k].flag) == NOTHING) {
			}
			__threadfence();
			sum += flag == PREFIX ? tiles[k].prefix : tiles[k].sum;
			if (flag == PREFIX) break;
		}
		mine->prefix = sum + s[THREADS - 1];
		__threadfence();
		mine->flag = PREFIX;
		before = sum;
	}
	__syncthreads();
	if (i < n) y[i] = before + s[t];
}

int main() {
	const int n = 3001, blocks = (n + THREADS - 1) / THREADS;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i * 13 % 17 - 5;
	int *dx, *dy;
	Tile *tiles;
	cudaMalloc(&dx, n * sizeof(int));
	cudaMalloc(&dy, n * sizeof(int));
	cudaMalloc(&tiles, blocks * sizeof(Tile));
	cudaMemset(tiles, 0, blocks * sizeof(Tile));
	cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	scan<<<blocks, THREADS>>>(dx, dy, tiles, n);
	cudaMemcpy(got.data(), dy, n * sizeof(int), cudaMemcpyDeviceToHost);
	int sum = 0;
	bool right = true;
	for (int i = 0; i < n; i++) {
		sum += x[i];
		right = right && got[i] == sum;
	}
	cudaFree(dx);
	cudaFree(dy);
	cudaFree(tiles);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
