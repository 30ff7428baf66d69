// A volume in pitched memory: a copy of a part of it there, a mean over the neighbours, and the copy back.
#include <cmath>
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

const int W = 13, H = 9, D = 5;

__global__ void smooth(cudaPitchedPtr from, cudaPitchedPtr to) {
	const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
	float sum = 0;
	int n = 0;
	for (int k = max(z - 1, 0); k <= min(z + 1, D - 1); k++)
		for (int j = max(y - 1, 0); j <= min(y + 1, H - 1); j++) {
			const float *row = (const float *)((const char *)from.ptr + (k * H + j) * from.pitch);
			for (int i = max(x - 1, 0); i <= min(x + 1, W - 1); i++, n++) sum += row[i];
		}
	((float *)((char *)to.ptr + (z * H + y) * to.pitch))[x] = sum / n;
}

int main() {
	const int wide = W + 4, high = H + 2, deep = D + 1;      // the host's volume, of which a part goes
	std::vector<float> host(wide * high * deep), got(W * H * D);
	for (size_t i = 0; i < host.size(); i++) host[i] = i % 31;
	cudaExtent extent = make_cudaExtent(W * sizeof(float), H, D);
	cudaPitchedPtr a, b;
	cudaMalloc3D(&a, extent);
	cudaMalloc3D(&b, extent);
	cudaMemset3D(b, 0, extent);
	cudaMemcpy3DParms in = {0};
	in.srcPtr = make_cudaPitchedPtr(host.data(), wide * sizeof(float), wide, high);
	in.srcPos = make_cudaPos(2 * sizeof(float), 1, 1);
	in.dstPtr = a;
	in.extent = extent;
	in.kind = cudaMemcpyHostToDevice;
	bool right = cudaMemcpy3D(&in) == cudaSuccess;
	smooth<<<D, dim3(W, H)>>>(a, b);
	cudaMemcpy3DParms out = {0};
	out.srcPtr = b;
	out.dstPtr = make_cudaPitchedPtr(got.data(), W * sizeof(float), W, H);
	out.extent = extent;
	out.kind = cudaMemcpyDeviceToHost;
	right = right && cudaMemcpy3D(&out) == cudaSuccess;
	for (int z = 0; z < D; z++)
		for (int y = 0; y < H; y++)
			for (int x = 0; x < W; x++) {
				float sum = 0;
				int n = 0;
				for (int k = z - 1; k <= z + 1; k++)
					for (int j = y - 1; j <= y + 1; j++)
						for (int i = x - 1; i <= x + 1; i++) {
							if (k < 0 || k >= D || j < 0 || j >= H || i < 0 || i >= W) continue;
							sum += host[((k + 1) * high + j + 1) * wide + i + 2];
							n++;
						}
				right = right && fabsf(got[(z * H + y) * W + x] - sum / n) < 1e-4f;
			}
	cudaFree(a.ptr);
	cudaFree(b.ptr);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
