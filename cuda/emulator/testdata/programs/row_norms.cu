// Rows brought to mean 0 and variance 1, a warp for each row by tiles of cooperative groups, with vectors of four.
#include <cmath>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void normalise(const float4 *x, float4 *y, int rows, int vectors) {
	auto warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
	if (row >= rows) return;
	const float4 *from = x + row * vectors;
	float sum = 0, squares = 0;
	for (int i = warp.thread_rank(); i < vectors; i += warp.size()) {
		const float4 v = from[i];
		sum += v.x + v.y + v.z + v.w;
	}
	const float mean = cg::reduce(warp, sum, cg::plus<float>()) / (4 * vectors);
	for (int i = warp.thread_rank(); i < vectors; i += warp.size()) {
		const float4 v = from[i];
		squares += (v.x - mean) * (v.x - mean) + (v.y - mean) * (v.y - mean) + (v.z - mean) * (v.z - mean) + (v.w - mean) * (v.w - mean);
	}
	const float scale = rsqrtf(cg::reduce(warp, squares, cg::plus<float>()) / (4 * vectors) + 1e-5f);
	for (int i = warp.thread_rank(); i < vectors; i += warp.size()) {
		const float4 v = from[i];
		y[row * vectors + i] = make_float4((v.x - mean) * scale, (v.y - mean) * scale, (v.z - mean) * scale, (v.w - mean) * scale);
	}
}

int main() {
	const int rows = 21, cols = 200;
	std::vector<float> x(rows * cols), y(rows * cols);
	for (int i = 0; i < rows * cols; i++) x[i] = i * 13 % 29 + i / cols;
	float *dx, *dy;
	cudaMalloc(&dx, x.size() * sizeof(float));
	cudaMalloc(&dy, y.size() * sizeof(float));
	cudaMemcpy(dx, x.data(), x.size() * sizeof(float), cudaMemcpyHostToDevice);
	normalise<<<(rows + 3) / 4, 128>>>((float4 *)dx, (float4 *)dy, rows, cols / 4);
	cudaMemcpy(y.data(), dy, y.size() * sizeof(float), cudaMemcpyDeviceToHost);
	bool right = true;
	for (int r = 0; r < rows; r++) {
		double sum = 0, squares = 0;
		for (int c = 0; c < cols; c++) sum += y[r * cols + c], squares += y[r * cols + c] * y[r * cols + c];
		right = right && fabs(sum / cols) < 1e-4 && fabs(squares / cols - 1) < 1e-3;
	}
	cudaFree(dx);
	cudaFree(dy);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
