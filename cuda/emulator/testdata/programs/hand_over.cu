// A chain of blocks with atomics of libcu++: each waits for the one before it, and adds its own.
#include <cuda/atomic>
#include <cstdio>
#include <vector>

struct Shared {
	cuda::atomic<int, cuda::thread_scope_device> turn;
	int value;
};

__global__ void chain(Shared *s, const int *x, int *y, unsigned *hits) {
	if (threadIdx.x == 0) {
		while (s->turn.load(cuda::memory_order_acquire) != (int)blockIdx.x) {
		}
		s->value = s->value * 3 % 1009 + x[blockIdx.x];
		y[blockIdx.x] = s->value;
		s->turn.store(blockIdx.x + 1, cuda::memory_order_release);
	}
	cuda::atomic_ref<unsigned, cuda::thread_scope_device> count(hits[threadIdx.x % 4]);
	count.fetch_add(1, cuda::memory_order_relaxed);
}

int main() {
	const int n = 40;
	std::vector<int> x(n), got(n);
	for (int i = 0; i < n; i++) x[i] = i * i % 37;
	Shared *s;
	int *dx, *dy;
	unsigned *hits, counted[4];
	cudaMalloc(&s, sizeof(Shared));
	cudaMalloc(&dx, n * sizeof(int));
	cudaMalloc(&dy, n * sizeof(int));
	cudaMalloc(&hits, sizeof counted);
	cudaMemset(s, 0, sizeof(Shared));
	cudaMemset(hits, 0, sizeof counted);
	cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice);
	chain<<<n, 32>>>(s, dx, dy, hits);
	cudaMemcpy(got.data(), dy, n * sizeof(int), cudaMemcpyDeviceToHost);
	cudaMemcpy(counted, hits, sizeof counted, cudaMemcpyDeviceToHost);
	bool right = true;
	int value = 0;
	for (int i = 0; i < n; i++) right = right && got[i] == (value = value * 3 % 1009 + x[i]);
	for (unsigned c : counted) right = right && c == n * 8;
	for (void *p : {(void *)s, (void *)dx, (void *)dy, (void *)hits}) cudaFree(p);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
