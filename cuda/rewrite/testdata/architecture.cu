#if __CUDA_ARCH__ >= 700
__device__ int newer() { return 1; }
#endif

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double *p, double v);
#endif

__global__ void kernel(int *x) {
#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ >= 800)
	*x = 1;
#elif __CUDA_ARCH__ < 700
	*x = 2;
#endif
}

__device__ int of_device() {
#if __CUDA_ARCH__ == 900 || 800 <= __CUDA_ARCH__
	return 1;
#endif
}

__host__ __device__ int of_both() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
	return 1;
#else
	return 0;
#endif
}

#define KERNEL __global__
void host() {
#if __CUDA_ARCH__ >= 700 // never on the host
	kernel<<<1, 1>>>(NULL);
#endif
	kernel<<<1, 1>>>(NULL);
}

__global__ void by_reference(const int &n, int *x) { *x = n; }
template <class T> __global__ void by_reference_too(T &n) { n++; }
__global__ void by_value(Array<int &> a, int *x) {}

void more(int n) {
	by_reference<<<1, 1>>>(n, NULL);
	by_reference_too<int><<<1, 1>>>(n);
	by_value<<<1, 1>>>(make<int &>(), f(NULL));
}
