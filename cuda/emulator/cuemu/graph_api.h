// Graphs of CUDA's runtime API: what a stream is asked for between cudaStreamBeginCapture and cudaStreamEndCapture is kept, and so are the nodes
// that a program adds; cudaGraphLaunch does it, one thing after the other. While one stream captures, all work is taken for its graph.
#ifndef CUEMU_GRAPH_API_H
#define CUEMU_GRAPH_API_H

#include <tuple>

#include "cuemu/memory_3d.h"

enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive, cudaStreamCaptureStatusInvalidated };
typedef struct cuemu_graph_node *cudaGraphNode_t;
typedef struct cuemu_graph *cudaGraph_t;
typedef struct cuemu_graph_exec *cudaGraphExec_t;

#pragma GCC visibility push(default)
extern "C" {
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph);
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus *status);
cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned flags);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cuemu_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph);
cudaGraphNode_t cuemu_add_node(cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, cuemu::Kept kept);
}
#pragma GCC visibility pop

namespace cuemu {

// A kernel with its arguments, bound when the node is made.
struct BoundKernel {
	const BoundKernel *before = nullptr;
	virtual ~BoundKernel() {}
	virtual BoundKernel *clone(void **args) const = 0;
	virtual void run(const Job &job) const = 0;
};
template <class... P> struct BoundKernelOf final : BoundKernel {
	void (*kernel)(P...);
	std::tuple<std::remove_reference_t<P>...> args;
	explicit BoundKernelOf(void (*k)(P...)) : kernel(k) {}
	BoundKernelOf(void (*k)(P...), std::tuple<std::remove_reference_t<P>...> a) : kernel(k), args(a) {}
	BoundKernel *clone(void **a) const override { return clone(a, std::index_sequence_for<P...>()); }
	template <size_t... I> BoundKernel *clone(void **a, std::index_sequence<I...>) const {
		(void)a;
		return new BoundKernelOf(kernel, {*static_cast<std::remove_reference_t<P> *>(a[I])...});
	}
	void run(const Job &job) const override {
		auto *k = kernel;
		auto call = [k](auto... a) CUEMU_PLAIN { k(a...); };
		std::apply(Bound<decltype(call)>{job, call}, args);
	}
};

// kept_for_good lists what is never given back, so that no sanitizer takes it for lost.
inline const BoundKernel *kept_for_good(BoundKernel *k) {
	static BoundKernel *last;
	k->before = last;
	return last = k;
}

// KernelFunction is what a kernel node calls: a kernel by its name keeps the types of its arguments.
struct KernelFunction {
	const BoundKernel *kernel = nullptr;
	KernelFunction() = default;
	KernelFunction(int) {}                          // cudaKernelNodeParams p = {0}
	KernelFunction(long) {}                         // ... {NULL}
	KernelFunction(std::nullptr_t) {}
	template <class... P> KernelFunction(void (*k)(P...)) : kernel(kept_for_good(new BoundKernelOf<P...>(k))) {}
	KernelFunction(const void *) __attribute__((error(
		"the emulator needs the kernel itself, as in params.func = my_kernel: a pointer to void has lost what its arguments are")));
};

}  // namespace cuemu

struct cudaKernelNodeParams {
	cuemu::KernelFunction func;
	dim3 gridDim, blockDim;
	unsigned sharedMemBytes = 0;
	void **kernelParams = nullptr, **extra = nullptr;
};
struct cudaMemsetParams {
	void *dst;
	size_t pitch;
	unsigned value, elementSize;
	size_t width, height;
};
struct cudaHostNodeParams {
	void (*fn)(void *);
	void *userData;
};

namespace cuemu {
template <class Work> inline cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, Work work) {
	return *node = cuemu_add_node(graph, after, n, kept_of(work)), cudaSuccess;
}
}  // namespace cuemu

inline cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, const cudaKernelNodeParams *p,
                                          CUEMU_HERE) {
	if (!p->func.kernel || !p->kernelParams) return cuemu::refused(cudaErrorInvalidValue);
	const cuemu::BoundKernel *bound = cuemu::kept_for_good(p->func.kernel->clone(p->kernelParams));
	const cuemu::Configuration c = cuemu::cuemu_launch(p->gridDim, p->blockDim, p->sharedMemBytes, nullptr, file, line);
	return cuemu::add_node(node, graph, after, n, [=] { return bound->run(c.job), cudaPeekAtLastError(); });
}
inline cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, const cudaMemcpy3DParms *p,
                                          CUEMU_HERE) {
	const cudaMemcpy3DParms kept = *p;
	return cuemu::add_node(node, graph, after, n, [=] { return cuemu::copy_slices(&kept, false, file, line); });
}
inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, void *to, const void *from,
                                            size_t bytes, cudaMemcpyKind kind, CUEMU_HERE) {
	return cuemu::add_node(node, graph, after, n, [=] { return cuemu_copy_memory(to, from, bytes, kind, false, file, line); });
}
inline cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, const cudaMemsetParams *p,
                                          CUEMU_HERE) {
	const cudaMemsetParams kept = *p;
	if (kept.elementSize != 1 && kept.value != 0) return cuemu::refused(cudaErrorNotSupported);
	return cuemu::add_node(node, graph, after, n, [=] {
		for (size_t row = 0; row < kept.height; row++)
			if (cudaError_t error = cuemu_fill_memory(static_cast<char *>(kept.dst) + row * kept.pitch, static_cast<int>(kept.value),
			                                          kept.width * kept.elementSize, file, line))
				return error;
		return cudaSuccess;
	});
}
inline cudaError_t cudaGraphAddHostNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, const cudaHostNodeParams *p) {
	const cudaHostNodeParams kept = *p;
	return cuemu::add_node(node, graph, after, n, [=] { return kept.fn(kept.userData), cudaSuccess; });
}
inline cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n) {
	return cuemu::add_node(node, graph, after, n, [] { return cudaSuccess; });
}

// The nodes are put into an order, each after those that it depends on.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long = 0) { return cuemu_instantiate(exec, graph); }
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *, char *, size_t) { return cuemu_instantiate(exec, graph); }
inline cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long = 0) { return cuemu_instantiate(exec, graph); }
// As in CUDA 13: edges have data, and none of it means that a node waits for the whole of the other.
struct cudaGraphEdgeData {
	unsigned char from_port, to_port, type, reserved[5];
};
inline cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, const cudaGraphEdgeData *edges,
                                            size_t n) {
	for (size_t i = 0; edges && i < n; i++)
		if (edges[i].from_port || edges[i].to_port || edges[i].type) return cuemu::refused(cudaErrorNotSupported);
	return cudaGraphAddDependencies(graph, from, to, n);
}
inline cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }

#endif
