// Launches by a pointer: the kernel keeps its type, and gives its name.
template <class T, int N> __global__ void add(T *x) { x[threadIdx.x] += N; }
__global__ void one(float *x) { x[0] = 1; }

#define RUN(kernel, grid, block, args) cudaLaunchKernel((const void *)kernel, grid, block, args, 0, 0)

void launches(float *x) {
	void *args[] = {&x};
	cudaLaunchCooperativeKernel((void *)one, dim3(1), dim3(32), args, 0, 0);
	cudaLaunchCooperativeKernel((void*)add<float, 3>, 1, 32,
	                            args);
	cudaLaunchKernel(reinterpret_cast<void *>(&one), dim3(1), dim3(32), args, 0, nullptr);
	check(cudaLaunchKernel(one, 1, 32, args));
	RUN((add<float, 2>), 1, 32, args);
}

void node(float *x) {
	cudaKernelNodeParams p = {};
	p.func = (void *)add<float, 3>;
	p.func = one;
}
