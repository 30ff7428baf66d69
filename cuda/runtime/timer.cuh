// Calls captured into a CUDA graph and timed with events.
#pragma once
#include <cuda_runtime.h>

#include <chrono>
#include <new>
#include <vector>

#include "launches.cuh"
#include "runtime.h"

struct triad_timer {
	cudaStream_t stream = nullptr;
	cudaGraphExec_t graph = nullptr;
	std::vector<cudaEvent_t> events;
	std::vector<triad_kernel_fact> kernels; // of the graph

	// Makes sure that there are n events.
	cudaError_t reserve(size_t n) {
		while (events.size() < n) {
			cudaEvent_t event;
			cudaError_t error = cudaEventCreate(&event);
			if (error != cudaSuccess) return error;
			events.push_back(event);
		}
		return cudaSuccess;
	}
};

extern "C" int triad_timer_open(triad_timer **out, void **stream) {
	triad_timer *t = new (std::nothrow) triad_timer;
	if (!t) return cudaErrorMemoryAllocation;
	// Not blocking against the default stream: a capture must not see what others do there.
	cudaError_t error = cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking);
	if (error != cudaSuccess) {
		delete t;
		return error;
	}
	*out = t;
	*stream = t->stream;
	return cudaSuccess;
}

extern "C" void triad_timer_close(triad_timer *t) {
	if (!t) return;
	for (cudaEvent_t event : t->events) cudaEventDestroy(event);
	if (t->graph) cudaGraphExecDestroy(t->graph);
	cudaStreamDestroy(t->stream);
	delete t;
}

extern "C" int triad_timer_begin(triad_timer *t) {
	// Thread-local: kernels set function attributes and ask for occupancy inside their launch, and other threads may allocate.
	return cudaStreamBeginCapture(t->stream, cudaStreamCaptureModeThreadLocal);
}

extern "C" int triad_timer_end(triad_timer *t, int32_t keep, int64_t *nodes) {
	*nodes = 0;
	cudaGraph_t captured = nullptr;
	cudaError_t error = cudaStreamEndCapture(t->stream, &captured);
	if (error != cudaSuccess || !captured || !keep) {
		if (captured) cudaGraphDestroy(captured);
		cudaGetLastError(); // an abandoned capture leaves its error behind
		return error == cudaSuccess && keep ? cudaErrorStreamCaptureInvalidated : error;
	}
	size_t count = 0;
	error = cudaGraphGetNodes(captured, nullptr, &count);
	*nodes = int64_t(count);
	if (error == cudaSuccess) t->kernels = triad::kernels_of(captured, count);
	cudaGraphExec_t graph = nullptr;
	if (error == cudaSuccess) error = cudaGraphInstantiate(&graph, captured, 0);
	cudaGraphDestroy(captured);
	if (error != cudaSuccess) return error;
	if (t->graph) cudaGraphExecDestroy(t->graph);
	t->graph = graph;
	error = cudaGraphUpload(graph, t->stream);
	return error != cudaSuccess ? error : cudaStreamSynchronize(t->stream);
}

extern "C" int triad_timer_kernels(const triad_timer *t, triad_kernel_fact *out, int32_t most, int32_t *n) {
	*n = 0;
	for (const triad_kernel_fact &k : t->kernels)
		if (*n < most) out[(*n)++] = k;
	return cudaSuccess;
}

extern "C" int triad_timer_settle(triad_timer *t, int64_t ns) {
	auto began = std::chrono::steady_clock::now();
	do {
		cudaError_t error = cudaGraphLaunch(t->graph, t->stream);
		if (error == cudaSuccess) error = cudaStreamSynchronize(t->stream);
		if (error != cudaSuccess) return error;
	} while (std::chrono::nanoseconds(std::chrono::steady_clock::now() - began).count() < ns);
	return cudaSuccess;
}

extern "C" int triad_timer_replay(triad_timer *t, int32_t n, float *ms) {
	cudaError_t error = t->reserve(n + 1);
	if (error == cudaSuccess) error = cudaEventRecord(t->events[0], t->stream);
	for (int32_t i = 0; i < n && error == cudaSuccess; i++) {
		error = cudaGraphLaunch(t->graph, t->stream);
		if (error == cudaSuccess) error = cudaEventRecord(t->events[i + 1], t->stream);
	}
	if (error == cudaSuccess) error = cudaStreamSynchronize(t->stream);
	for (int32_t i = 0; i < n && error == cudaSuccess; i++) error = cudaEventElapsedTime(&ms[i], t->events[i], t->events[i + 1]);
	return error;
}

extern "C" int triad_timer_start(triad_timer *t) {
	cudaError_t error = t->reserve(2);
	return error != cudaSuccess ? error : cudaEventRecord(t->events[0], t->stream);
}

extern "C" int triad_timer_stop(triad_timer *t, float *ms) {
	cudaError_t error = cudaEventRecord(t->events[1], t->stream);
	if (error == cudaSuccess) error = cudaStreamSynchronize(t->stream);
	return error != cudaSuccess ? error : cudaEventElapsedTime(ms, t->events[0], t->events[1]);
}
