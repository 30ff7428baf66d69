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
	bool own = false;                       // calls of a user's file
	// Of calls that are spread over two devices: a stream and events of the second, and what either clock said.
	cudaStream_t second = nullptr;
	std::vector<cudaEvent_t> second_events;
	float clocks[2] = {};
	// Where kernels are timed one by one: the calls, how many kernels were launched since start, with two events each, and the first error.
	triad_own_calls_t *watched = nullptr;
	size_t launched = 0;
	cudaError_t failed = cudaSuccess;

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

	// Makes an event the end of what is queued on the stream, by the second device's clock too.
	cudaError_t mark(size_t i) {
		cudaError_t error = cudaEventRecord(events[i], stream);
		if (!second || error != cudaSuccess) return error;
		error = cudaSetDevice(1);
		if (error == cudaSuccess && second_events.size() <= i) {
			second_events.push_back(nullptr);
			error = cudaEventCreate(&second_events.back());
		}
		if (error == cudaSuccess) error = cudaStreamWaitEvent(second, events[i], 0);
		if (error == cudaSuccess) error = cudaEventRecord(second_events[i], second);
		const cudaError_t back = cudaSetDevice(0);
		if (error == cudaSuccess) error = back;
		return error == cudaSuccess ? cudaStreamWaitEvent(stream, second_events[i], 0) : error;
	}
};

namespace triad {

// busy keeps a stream from going on for about ns.
__global__ void busy(unsigned long long ns) {
	unsigned long long began, now;
	asm volatile("mov.u64 %0, %globaltimer;" : "=l"(began));
	do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
	while (now - began < ns);
}

// before_launch and after_launch put an event on each side of a kernel. What is queued while the GPU is busy runs without a gap that is the host's.
inline void before_launch(void *context, void *stream) {
	triad_timer *t = static_cast<triad_timer *>(context);
	const cudaStream_t s = static_cast<cudaStream_t>(stream);
	cudaError_t error = t->reserve(2 * t->launched + 2);
	busy<<<1, 1, 0, s>>>(20000);
	if (error == cudaSuccess) error = cudaGetLastError();
	if (error == cudaSuccess) error = cudaEventRecord(t->events[2 * t->launched], s);
	if (t->failed == cudaSuccess) t->failed = error;
}
inline void after_launch(void *context, void *stream) {
	triad_timer *t = static_cast<triad_timer *>(context);
	const cudaError_t error = cudaEventRecord(t->events[2 * t->launched++ + 1], static_cast<cudaStream_t>(stream));
	if (t->failed == cudaSuccess) t->failed = error;
}

} // namespace triad

extern "C" int triad_timer_open(triad_timer **out, void **stream, int32_t own) {
	triad_timer *t = new (std::nothrow) triad_timer;
	if (!t) return cudaErrorMemoryAllocation;
	// Ours do not wait for the default stream: a capture must not see what others do there.
	t->own = own != 0;
	cudaError_t error = cudaStreamCreateWithFlags(&t->stream, t->own ? cudaStreamDefault : cudaStreamNonBlocking);
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
	for (cudaEvent_t event : t->second_events) cudaEventDestroy(event);
	if (t->second) cudaStreamDestroy(t->second);
	if (t->graph) cudaGraphExecDestroy(t->graph);
	cudaStreamDestroy(t->stream);
	delete t;
}

extern "C" int triad_timer_begin(triad_timer *t) {
	// Thread-local: kernels set function attributes and ask for occupancy inside their launch, and other threads may allocate.
	return cudaStreamBeginCapture(t->stream, t->own ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeThreadLocal);
}

extern "C" int triad_timer_end(triad_timer *t, int32_t keep, int64_t *nodes, int64_t *kernels) {
	*nodes = *kernels = 0;
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
	*kernels = error == cudaSuccess ? triad::count_kernels(captured) : 0;
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
	if (error == cudaSuccess) error = t->mark(0);
	for (int32_t i = 0; i < n && error == cudaSuccess; i++) {
		error = cudaGraphLaunch(t->graph, t->stream);
		if (error == cudaSuccess) error = t->mark(i + 1);
	}
	if (error == cudaSuccess) error = cudaStreamSynchronize(t->stream);
	for (int32_t i = 0; i < n && error == cudaSuccess; i++) {
		float other = 0;
		error = cudaEventElapsedTime(&ms[i], t->events[i], t->events[i + 1]);
		if (error == cudaSuccess && t->second) error = cudaEventElapsedTime(&other, t->second_events[i], t->second_events[i + 1]);
		t->clocks[0] = ms[i] + (i > 0 ? t->clocks[0] : 0);
		t->clocks[1] = other + (i > 0 ? t->clocks[1] : 0);
		ms[i] = other > ms[i] ? other : ms[i];
	}
	return error;
}

extern "C" int triad_timer_spread(triad_timer *t) {
	cudaError_t error = cudaSetDevice(1);
	if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&t->second, cudaStreamNonBlocking);
	const cudaError_t back = cudaSetDevice(0);
	return error != cudaSuccess ? error : back;
}

extern "C" int triad_timer_clocks(const triad_timer *t, float *first, float *second) {
	*first = t->clocks[0], *second = t->clocks[1];
	return cudaSuccess;
}

extern "C" int triad_timer_watch(triad_timer *t, triad_own_calls_t *calls) {
	t->watched = calls;
	return cudaSuccess;
}

extern "C" int triad_timer_start(triad_timer *t) {
	if (t->watched) {
		t->launched = 0, t->failed = cudaSuccess;
		t->watched->context = t, t->watched->before = triad::before_launch, t->watched->after = triad::after_launch;
		return cudaSuccess;
	}
	cudaError_t error = t->reserve(2);
	return error != cudaSuccess ? error : cudaEventRecord(t->events[0], t->stream);
}

extern "C" int triad_timer_stop(triad_timer *t, float *ms) {
	if (t->watched) {
		t->watched->before = t->watched->after = nullptr;
		cudaError_t error = t->failed;
		if (error == cudaSuccess) error = cudaDeviceSynchronize(); // the file's own streams too
		*ms = 0;
		for (size_t i = 0; i < t->launched && error == cudaSuccess; i++) {
			float one = 0;
			error = cudaEventElapsedTime(&one, t->events[2 * i], t->events[2 * i + 1]);
			*ms += one;
		}
		return error;
	}
	cudaError_t error = cudaEventRecord(t->events[1], t->stream);
	if (error == cudaSuccess) error = cudaStreamSynchronize(t->stream);
	return error != cudaSuccess ? error : cudaEventElapsedTime(ms, t->events[0], t->events[1]);
}

extern "C" int triad_timer_plain_cache(triad_timer *t) {
	cudaStreamAttrValue none = {}; // a window of no bytes
	cudaError_t error = cudaStreamSetAttribute(t->stream, cudaStreamAttributeAccessPolicyWindow, &none);
	if (error == cudaSuccess) error = cudaCtxResetPersistingL2Cache();
	if (error == cudaSuccess) error = cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0);
	if (error != cudaSuccess) cudaGetLastError();
	return error;
}
