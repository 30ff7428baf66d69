// Work that is recorded once and done three times: a stream captured, and a graph made of nodes.
#include <cstdio>
#include <vector>
#include <cuda_runtime.h>

__global__ void add(float *x, float v, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] += v;
}

__global__ void scale(float *x, const float *by, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) x[i] *= *by;
}

int main() {
	const int n = 500;
	float *x, *two, h[n], factor = 2;
	cudaMalloc(&x, n * sizeof(float));
	cudaMalloc(&two, sizeof(float));
	cudaMemset(x, 0, n * sizeof(float));
	cudaMemcpy(two, &factor, sizeof(float), cudaMemcpyHostToDevice);

	cudaStream_t stream;
	cudaStreamCreate(&stream);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	for (int step = 0; step < 2; step++) {
		add<<<(n + 127) / 128, 128, 0, stream>>>(x, step + 1, n);
		scale<<<(n + 127) / 128, 128, 0, stream>>>(x, two, n);
	}
	cudaMemcpyAsync(h, x, n * sizeof(float), cudaMemcpyDeviceToHost, stream);
	bool right = cudaStreamEndCapture(stream, &graph) == cudaSuccess;
	size_t nodes = 0;
	cudaGraphGetNodes(graph, nullptr, &nodes);
	right = right && nodes == 5;
#if CUDART_VERSION < 13000
	right = right && cudaGraphInstantiate(&exec, graph, NULL, NULL, 0) == cudaSuccess;
#else
	right = right && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
#endif
	float want = 0;
	for (int times = 0; times < 3; times++) {
		cudaGraphLaunch(exec, stream);
		want = ((want + 1) * 2 + 2) * 2;
	}
	cudaStreamSynchronize(stream);
	for (int i = 0; i < n; i++) right = right && h[i] == want;
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);

	float value = 5;
	int count = n;
	void *add_args[] = {&x, &value, &count}, *scale_args[] = {&x, &two, &count};
	cudaKernelNodeParams params = {0};
	params.gridDim = dim3(4);
	params.blockDim = dim3(128);
	cudaMemsetParams clear = {};
	clear.dst = x;
	clear.elementSize = sizeof(float);
	clear.width = n;
	clear.height = 1;
	cudaGraphNode_t first, second, third, last;
	cudaGraphCreate(&graph, 0);
	params.func = (void *)scale;
	params.kernelParams = scale_args;
	cudaGraphAddKernelNode(&third, graph, NULL, 0, &params);
	params.func = (void *)add;
	params.kernelParams = add_args;
	cudaGraphAddKernelNode(&second, graph, NULL, 0, &params);
	value = 6;                                       // the node has its own copy
	cudaGraphAddMemsetNode(&first, graph, NULL, 0, &clear);
	cudaGraphAddMemcpyNode1D(&last, graph, &third, 1, h, x, n * sizeof(float), cudaMemcpyDeviceToHost);
#if CUDART_VERSION < 13000
	cudaGraphAddDependencies(graph, &first, &second, 1);
	cudaGraphAddDependencies(graph, &second, &third, 1);
#else
	cudaGraphAddDependencies(graph, &first, &second, nullptr, 1);
	cudaGraphAddDependencies(graph, &second, &third, nullptr, 1);
#endif
	right = right && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess;
	for (int times = 0; times < 3; times++) cudaGraphLaunch(exec, stream);
	cudaStreamSynchronize(stream);
	for (int i = 0; i < n; i++) right = right && h[i] == 10;
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaStreamDestroy(stream);
	cudaFree(x);
	cudaFree(two);
	printf(right ? "right\n" : "wrong\n");
	return right ? 0 : 1;
}
