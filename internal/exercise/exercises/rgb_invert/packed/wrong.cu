// rgb_invert/packed: four bytes at once.
#include <cuda_runtime.h>

__global__ void invert(const uchar4 *image, uchar4 *out, int pixels) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= pixels) return;
	uchar4 p = image[i];
	out[i] = make_uchar4(255 - p.x, 255 - p.y, 255 - p.z, (unsigned char)(255 - p.w));
}

// triad: rgb_invert(image=image, out=out, pixels=pixels)
extern "C" void solve(const unsigned char *image, unsigned char *out, int pixels) {
	invert<<<(pixels + 255) / 256, 256>>>((const uchar4 *)image, (uchar4 *)out, pixels);
}
