// An image of four channels made larger, bilinear, in pitched memory.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__device__ __host__ float between(float a, float b, float t) { return a + t * (b - a); }

__global__ void resize(const uchar4 *from, size_t from_pitch, int w, int h, uchar4 *to, size_t to_pitch, int tw, int th) {
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= tw || y >= th) return;
	const float sx = (float)x * (w - 1) / (tw - 1), sy = (float)y * (h - 1) / (th - 1);
	const int x0 = min((int)sx, w - 2), y0 = min((int)sy, h - 2);
	const uchar4 *top = (const uchar4 *)((const char *)from + y0 * from_pitch), *low = (const uchar4 *)((const char *)top + from_pitch);
	const float u = sx - x0, v = sy - y0;
	auto mix = [=](unsigned char a, unsigned char b, unsigned char c, unsigned char d) {
		return (unsigned char)rintf(between(between(a, b, u), between(c, d, u), v));
	};
	const uchar4 a = top[x0], b = top[x0 + 1], c = low[x0], d = low[x0 + 1];
	uchar4 *row = (uchar4 *)((char *)to + y * to_pitch);
	row[x] = make_uchar4(mix(a.x, b.x, c.x, d.x), mix(a.y, b.y, c.y, d.y), mix(a.z, b.z, c.z, d.z), 255);
}

int main() {
	const int w = 11, h = 7, tw = 31, th = 25;       // a corner of the large image is exactly one of the small
	std::vector<uchar4> image(w * h), large(tw * th);
	for (int i = 0; i < w * h; i++) image[i] = make_uchar4(i % w * 20, i / w * 30, 7, 0);
	uchar4 *a, *b;
	size_t pa, pb;
	cudaMallocPitch(&a, &pa, w * sizeof(uchar4), h);
	cudaMallocPitch(&b, &pb, tw * sizeof(uchar4), th);
	cudaMemcpy2D(a, pa, image.data(), w * sizeof(uchar4), w * sizeof(uchar4), h, cudaMemcpyHostToDevice);
	resize<<<dim3((tw + 15) / 16, (th + 7) / 8), dim3(16, 8)>>>(a, pa, w, h, b, pb, tw, th);
	cudaMemcpy2D(large.data(), tw * sizeof(uchar4), b, pb, tw * sizeof(uchar4), th, cudaMemcpyDeviceToHost);
	bool right = true;
	for (int y = 0; y < th; y++)
		for (int x = 0; x < tw; x++) {            // both ramps are linear
			const uchar4 p = large[y * tw + x];
			right = right && fabsf(p.x - x * 200.0f / (tw - 1)) < 0.6f && fabsf(p.y - y * 180.0f / (th - 1)) < 0.6f && p.z == 7 && p.w == 255;
		}
	cudaFree(a);
	cudaFree(b);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
