// A macro puts the name of the kernel together; blanks behind a backslash continue it for compilers too.
#include <cuda_runtime.h>

template <int THREADS>
__global__ void add_f32_kernel(const float *a, const float *b, float *c, int n) {
	int i = blockIdx.x * THREADS + threadIdx.x;
	if (i < n) c[i] = a[i] + b[i];
}

#define LAUNCH_ADD(type) \
	void launch_add_##type(const float *a, const float *b, float *c, int n) { \ 
		add_##type##_kernel<128 * \
		                    2> \
			<<<(n + 255) / 256, 256>>>(a, b, c, n); \
	}
LAUNCH_ADD(f32)
