// Graphs: work that is kept and done later, one thing after the other. While one stream captures, all work is taken for its graph.
#include <memory>
#include <vector>

#include "cuda_runtime.h"

using cuemu::Kept;

struct cuemu_graph_node {
	std::shared_ptr<void> state;
	cudaError_t (*run)(void *state);
	std::vector<cuemu_graph_node *> after;         // nodes that come first
};
struct cuemu_graph {
	std::vector<std::unique_ptr<cuemu_graph_node>> nodes;
};
struct cuemu_graph_exec {
	std::vector<cuemu_graph_node> work;            // in an order that the graph allows
};

namespace {

cuemu_graph *captured;
bool spoilt;                                   // the host waited, or copied at once, in the middle of a capture

cuemu_graph_node *add(cuemu_graph &g, const Kept &kept, const cudaGraphNode_t *after, size_t n) {
	g.nodes.emplace_back(new cuemu_graph_node{{kept.state, kept.drop}, kept.run, {after, after + n}});
	return g.nodes.back().get();
}

bool is_in(const std::vector<const cuemu_graph_node *> &list, const cuemu_graph_node *node) {
	for (const cuemu_graph_node *n : list)
		if (n == node) return true;
	return false;
}

cudaError_t fail(cudaError_t error) {
	cuemu::set_last_error(error);
	return error;
}

}  // namespace

extern "C" {

int cuemu_capturing() { return captured != nullptr; }

void cuemu_keep(Kept kept) {
	cuemu_graph_node *before = captured->nodes.empty() ? nullptr : captured->nodes.back().get();
	add(*captured, kept, &before, before ? 1 : 0);
}

cudaError_t cuemu_spoil_capture() {
	spoilt = true;
	return fail(cudaErrorStreamCaptureUnsupported);
}

cudaGraphNode_t cuemu_add_node(cudaGraph_t graph, const cudaGraphNode_t *after, size_t n, Kept kept) { return add(*graph, kept, after, n); }

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
	if (captured) return fail(cudaErrorIllegalState);
	captured = new cuemu_graph;
	spoilt = false;
	return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
	cuemu_graph *whole = captured;
	captured = nullptr;
	*graph = nullptr;
	if (!whole) return fail(cudaErrorIllegalState);
	if (!spoilt) return *graph = whole, cudaSuccess;
	delete whole;
	return fail(cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
	*status = !captured ? cudaStreamCaptureStatusNone : spoilt ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
	return cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t *graph, unsigned) { return *graph = new cuemu_graph, cudaSuccess; }
cudaError_t cudaGraphDestroy(cudaGraph_t graph) { return delete graph, cudaSuccess; }
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { return delete exec, cudaSuccess; }

cudaError_t cudaGraphAddDependencies(cudaGraph_t, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n) {
	for (size_t i = 0; i < n; i++) to[i]->after.push_back(from[i]);
	return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *n) {
	for (size_t i = 0; nodes && i < *n && i < graph->nodes.size(); i++) nodes[i] = graph->nodes[i].get();
	return *n = graph->nodes.size(), cudaSuccess;
}

cudaError_t cuemu_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph) {
	std::unique_ptr<cuemu_graph_exec> made(new cuemu_graph_exec);
	std::vector<const cuemu_graph_node *> done;
	for (bool more = true; more; ) {
		more = false;
		for (const auto &n : graph->nodes) {
			bool ready = !is_in(done, n.get());
			for (const cuemu_graph_node *before : n->after) ready = ready && is_in(done, before);
			if (!ready) continue;
			made->work.push_back(*n);
			done.push_back(n.get());
			more = true;
		}
	}
	if (done.size() != graph->nodes.size()) return fail(cudaErrorInvalidValue);    // nodes that wait for each other
	return *exec = made.release(), cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t) {
	for (const cuemu_graph_node &n : exec->work)
		if (cudaError_t error = n.run(n.state.get())) return error;
	return cudaSuccess;
}

}  // extern "C"
