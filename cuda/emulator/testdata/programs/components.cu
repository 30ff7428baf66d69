// Connected parts of a picture: labels spread to neighbours by atomic minima until none changes.
#include <cstdio>
#include <set>
#include <vector>
#include <cuda_runtime.h>

__global__ void label(const int *picture, int *labels, int n) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) labels[i] = picture[i] ? i : -1;
}

__global__ void spread(int *labels, int w, int h, int *changed) {
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	const int mine = atomicAdd(&labels[y * w + x], 0);
	if (mine < 0) return;
	const int dx[4] = {1, -1, 0, 0}, dy[4] = {0, 0, 1, -1};
	for (int k = 0; k < 4; k++) {
		const int nx = x + dx[k], ny = y + dy[k];
		if (nx < 0 || ny < 0 || nx >= w || ny >= h) continue;
		if (atomicAdd(&labels[ny * w + nx], 0) <= mine) continue;
		if (atomicMin(&labels[ny * w + nx], mine) > mine) atomicExch(changed, 1);
	}
}

int main() {
	const char *rows[] = {"##..#####.", "#...#...#.", "#.###.#.#.", "......#.#.", "##.####.#.", "##......##"};
	const int w = 10, h = 6;
	std::vector<int> picture(w * h), labels(w * h);
	for (int i = 0; i < w * h; i++) picture[i] = rows[i / w][i % w] == '#';
	int *p, *l, *c, changed = 1;
	cudaMalloc(&p, w * h * sizeof(int));
	cudaMalloc(&l, w * h * sizeof(int));
	cudaMalloc(&c, sizeof(int));
	cudaMemcpy(p, picture.data(), w * h * sizeof(int), cudaMemcpyHostToDevice);
	label<<<2, 32>>>(p, l, w * h);
	for (int round = 0; changed && round < 100; round++) {
		cudaMemset(c, 0, sizeof(int));
		spread<<<dim3(2, 2), dim3(8, 4)>>>(l, w, h, c);
		cudaMemcpy(&changed, c, sizeof(int), cudaMemcpyDeviceToHost);
	}
	cudaMemcpy(labels.data(), l, w * h * sizeof(int), cudaMemcpyDeviceToHost);
	std::set<int> parts(labels.begin(), labels.end());
	parts.erase(-1);
	cudaFree(p);
	cudaFree(l);
	cudaFree(c);
	const bool right = !changed && parts == std::set<int>{0, 4, 26, 40};
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
