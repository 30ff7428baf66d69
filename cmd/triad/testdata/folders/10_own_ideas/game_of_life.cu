#include <cuda_runtime.h>

__global__ void game_of_life(const unsigned char *now, unsigned char *next, int height, int width) {
	int x = blockIdx.x * blockDim.x + threadIdx.x;
	int y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height) {
		return;
	}
	int alive = 0;
	for (int dy = -1; dy <= 1; dy++) {
		for (int dx = -1; dx <= 1; dx++) {
			if (dx != 0 || dy != 0) {
				alive += now[(y + dy + height) % height * width + (x + dx + width) % width];
			}
		}
	}
	next[y * width + x] = alive == 3 || (alive == 2 && now[y * width + x]);
}
