// Calls as CUDA 13 has them: where memory is fetched to and lies is a cudaMemLocation, an edge of a graph may have data.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void add(int *x, int v) { x[threadIdx.x] += v; }

__global__ void twice(int *x) { x[threadIdx.x] *= 2; }

int main() {
	const int n = 64;
	int *x, v = 3;
	cudaMallocManaged(&x, n * sizeof(int));
	for (int i = 0; i < n; i++) x[i] = i;
	cudaMemLocation device = {cudaMemLocationTypeDevice, 0}, host = {cudaMemLocationTypeHost, 0};
	cudaMemAdvise(x, n * sizeof(int), cudaMemAdviseSetPreferredLocation, device);
	cudaMemPrefetchAsync(x, n * sizeof(int), device, 0);

	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t first, second;
	void *add_args[] = {&x, &v}, *twice_args[] = {&x};
	cudaKernelNodeParams params = {NULL};
	params.gridDim = dim3(1);
	params.blockDim = dim3(n);
	cudaGraphCreate(&graph, 0);
	params.func = (void *)twice;
	params.kernelParams = twice_args;
	cudaGraphAddKernelNode(&second, graph, nullptr, 0, &params);
	params.func = (void *)add;
	params.kernelParams = add_args;
	cudaGraphAddKernelNode(&first, graph, nullptr, 0, &params);
	cudaGraphEdgeData whole = {};
	bool right = cudaGraphAddDependencies(graph, &first, &second, &whole, 1) == cudaSuccess;
	right = right && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess && cudaGraphLaunch(exec, 0) == cudaSuccess;
	cudaMemPrefetchAsync(x, n * sizeof(int), host, 0, 0);
	cudaDeviceSynchronize();
	for (int i = 0; i < n; i++) right = right && x[i] == (i + 3) * 2;
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaFree(x);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
