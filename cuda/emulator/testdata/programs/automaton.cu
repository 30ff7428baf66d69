// A cellular automaton on a ring of bits, 32 cells a word; two streams run two rules.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void step(const unsigned *x, unsigned *y, int words, unsigned rule) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= words) return;
	const unsigned left = __funnelshift_l(x[(i + words - 1) % words], x[i], 1);
	const unsigned right = __funnelshift_r(x[i], x[(i + 1) % words], 1);
	unsigned next = 0;
	for (int k = 0; k < 8; k++)
		if (rule >> k & 1) next |= (k & 4 ? left : ~left) & (k & 2 ? x[i] : ~x[i]) & (k & 1 ? right : ~right);
	y[i] = next;
}

int main() {
	const int words = 9, cells = words * 32, steps = 40;
	const unsigned rules[2] = {110, 30};
	bool right = true;
	cudaStream_t streams[2];
	unsigned *a[2], *b[2];
	for (int s = 0; s < 2; s++) {
		cudaStreamCreate(&streams[s]);
		cudaMalloc(&a[s], words * 4);
		cudaMalloc(&b[s], words * 4);
		std::vector<unsigned> start(words, 0x01000200u + s);
		cudaMemcpy(a[s], start.data(), words * 4, cudaMemcpyHostToDevice);
		for (int i = 0; i < steps; i++) {
			step<<<1, 32, 0, streams[s]>>>(a[s], b[s], words, rules[s]);
			std::swap(a[s], b[s]);
		}
	}
	for (int s = 0; s < 2; s++) {
		cudaStreamSynchronize(streams[s]);
		std::vector<unsigned> got(words);
		cudaMemcpy(got.data(), a[s], words * 4, cudaMemcpyDeviceToHost);
		std::vector<int> cell(cells), next(cells);
		for (int i = 0; i < cells; i++) cell[i] = (0x01000200u + s) >> i % 32 & 1;
		for (int k = 0; k < steps; k++) {
			for (int i = 0; i < cells; i++)       // bit i of the ring: "left" is the one below it
				next[i] = rules[s] >> (cell[(i + cells - 1) % cells] * 4 + cell[i] * 2 + cell[(i + 1) % cells]) & 1;
			cell.swap(next);
		}
		for (int i = 0; i < cells; i++) right = right && (int)(got[i / 32] >> i % 32 & 1) == cell[i];
		cudaFree(a[s]);
		cudaFree(b[s]);
		cudaStreamDestroy(streams[s]);
	}
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
