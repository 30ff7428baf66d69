// The three kernels of a bandwidth benchmark, under the names that they always have, with aligned types written in every place, and a stream that
// is told what to keep in the cache.
#include <cstdio>
#include <vector>

template <class T, int Bytes> struct Aligned {
	typedef __align__(Bytes) T Type;
};
struct __align__(16) Three {
	float x, y, z;
};
typedef struct __builtin_align__(8) {
	float re, im;
} Complex;
static_assert(sizeof(Three) == 16 && alignof(Complex) == 8, "the alignment of a type");

__global__ void copy(const Three *a, Three *c, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) c[i] = a[i];
}
__global__ void scale(const Three *c, Three *b, float by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) b[i] = {by * c[i].x, by * c[i].y, by * c[i].z};
}
template <class T> __global__ void triad(const T *b, const T *c, T *a, float by, int n) {
	typedef typename Aligned<T, 32>::Type Wide;
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	Wide sum = {b[i].x + by * c[i].x, b[i].y + by * c[i].y, b[i].z + by * c[i].z};
	a[i] = sum;
}

int main() {
	const int n = 777;
	std::vector<Three> a(n);
	for (int i = 0; i < n; i++) a[i] = {float(i), float(i % 5), 1};
	Three *da, *db, *dc;
	cudaMalloc(&da, n * sizeof(Three));
	cudaMalloc(&db, n * sizeof(Three));
	cudaMalloc(&dc, n * sizeof(Three));
	cudaStream_t stream;
	cudaStreamCreate(&stream);
	cudaStreamAttrValue kept = {}, told = {};
	kept.accessPolicyWindow.base_ptr = da;
	kept.accessPolicyWindow.num_bytes = n * sizeof(Three);
	kept.accessPolicyWindow.hitRatio = 0.6f;
	kept.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
	kept.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
	cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 1 << 20);
	bool right = cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &kept) == cudaSuccess;
	right = right && cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &told) == cudaSuccess;
	right = right && told.accessPolicyWindow.base_ptr == da && told.accessPolicyWindow.hitRatio == 0.6f;

	cudaMemcpyAsync(da, a.data(), n * sizeof(Three), cudaMemcpyHostToDevice, stream);
	copy<<<(n + 127) / 128, 128, 0, stream>>>(da, dc, n);
	scale<<<(n + 127) / 128, 128, 0, stream>>>(dc, db, 2, n);
	cudaLaunchAttribute first;
	first.id = cudaLaunchAttributePriority;
	first.val.priority = 0;
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3((n + 127) / 128);
	config.blockDim = dim3(128);
	config.stream = stream;
	config.attrs = &first;
	config.numAttrs = 1;
	right = right && cudaLaunchKernelEx(&config, triad<Three>, db, dc, da, 3.0f, n) == cudaSuccess;
	cudaMemcpyPeerAsync(dc, 0, da, 0, n * sizeof(Three), stream);
	cudaMemcpyAsync(a.data(), dc, n * sizeof(Three), cudaMemcpyDeviceToHost, stream);
	cudaStreamSynchronize(stream);
	for (int i = 0; i < n; i++) right = right && a[i].x == 5 * i && a[i].y == 5 * (i % 5) && a[i].z == 5;
	cudaStreamDestroy(stream);
	cudaFree(da);
	cudaFree(db);
	cudaFree(dc);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
