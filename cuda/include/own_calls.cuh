// own_calls.cuh: lets the calls of a user's file be captured into a graph. Such a file launches on the default stream, waits for the device, takes
// scratch memory and frees it, or launches on streams of its own: all of which end a capture, or are not in it.
//
// The library is linked with --wrap of each name in a TRIAD_TAKES or TRIAD_TAKES_PLAIN below (see GPUBuilder), so that what macros, templates and
// headers call comes by here too. While the stream of the call is captured,
//   * what is meant for the default stream goes to the stream of the call,
//   * a stream of the file's own waits for the begin of the call, and the end of the call waits for it,
//   * whoever waits on the host has the work after the wait depend on the work before,
//   * memory comes from blocks that are kept while a graph may hold their addresses.
// Otherwise every function does what it does.
#ifndef TRIAD_OWN_CALLS_CUH
#define TRIAD_OWN_CALLS_CUH

#if defined(__CUDACC__) && !defined(__CUEMU__)
#include "own_calls.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#define TRIAD_HIDDEN extern "C" __attribute__((visibility("hidden")))

extern "C" __attribute__((visibility("default"))) triad_own_calls_t triad_own_calls;
triad_own_calls_t triad_own_calls = {sizeof(triad_own_calls_t), 0, 0, 0, 0, "", nullptr, nullptr, nullptr};

extern "C" cudaError_t __real_cudaMalloc(void **, size_t);
extern "C" cudaError_t __real_cudaFree(void *);
extern "C" cudaError_t __real_cudaEventRecord(cudaEvent_t, cudaStream_t);
extern "C" cudaError_t __real_cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned);
extern "C" cudaError_t __real_cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *);
extern "C" cudaError_t __real_cudaStreamCreateWithPriority(cudaStream_t *, unsigned, int);
extern "C" cudaError_t __real_cudaStreamDestroy(cudaStream_t);
extern "C" cudaError_t __real_cudaMemcpyAsync(void *, const void *, size_t, cudaMemcpyKind, cudaStream_t);
extern "C" cudaError_t __real_cudaStreamSynchronize(cudaStream_t);

namespace triad {

// OwnCalls is the state of the calls of one library, which follow each other.
class OwnCalls {
public:
	static OwnCalls &get() {
		static OwnCalls *calls = new OwnCalls; // never destroyed: the file's own destructors may free memory
		return *calls;
	}

	void begin(cudaStream_t call) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
		in_call_ = true, stream_ = call, seen_.clear();
		capturing_ = call != nullptr && __real_cudaStreamIsCapturing(call, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
		cudaGetLastError(); // what an abandoned capture left is no error of this call
		if (!capturing_) tidy();
		if (shares_ && triad_own_calls.timed) cannot("it shares memory with the host");
		if (capturing_ && ready()) __real_cudaEventRecord(base_, call);
	}

	void end() {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		if (capturing_) barrier();
		for (Block &block : blocks_) block.free = block.free || block.given_back;
		in_call_ = capturing_ = false;
	}

	bool capturing() const { return in_call_ && capturing_; }

	// on is the stream in a capture that stands for one of the file's.
	cudaStream_t on(cudaStream_t s) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		if (is_default(s)) {
			for (const Seen &other : seen_)
				if (other.blocking) wait(stream_, other.stream);
			return stream_;
		}
		if (s != stream_ && enter(s)) wait(s, stream_);
		return s;
	}

	// barrier has what comes later wait for what came before.
	cudaError_t barrier() {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		for (const Seen &other : seen_) wait(stream_, other.stream);
		if (ready()) __real_cudaEventRecord(base_, stream_);
		for (const Seen &other : seen_) __real_cudaStreamWaitEvent(other.stream, base_, 0);
		return cudaSuccess;
	}

	// cannot keeps the first thing that no graph can hold.
	void cannot(const char *what) {
		if (in_call_ && triad_own_calls.uncaptured[0] == '\0')
			std::snprintf(triad_own_calls.uncaptured, sizeof triad_own_calls.uncaptured, "%s", what);
	}

	// copy copies within a capture, on a stream that is captured. What comes from the host in a small piece is kept for the graph; other copies
	// from and to the host are made at once, and the capture will be thrown away.
	cudaError_t copy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
		if (kind == cudaMemcpyDeviceToDevice || !between_host_and_device(to, from)) return __real_cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, on(s));
		if (is_small_from_host(to, from, bytes)) return __real_cudaMemcpyAsync(to, kept(from, bytes), bytes, cudaMemcpyHostToDevice, on(s));
		cannot("it copies between the host and the device");
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		if (aside_ == nullptr) {
			const cudaError_t error = __real_cudaStreamCreateWithPriority(&aside_, cudaStreamNonBlocking, 0);
			if (error != cudaSuccess) return error;
		}
		const cudaError_t error = __real_cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, aside_);
		return error != cudaSuccess ? error : __real_cudaStreamSynchronize(aside_);
	}

	// at is where a variable of the device lies.
	static void *at(const void *symbol, size_t offset = 0) {
		void *p = nullptr;
		if (cudaGetSymbolAddress(&p, symbol) != cudaSuccess) return cudaGetLastError(), nullptr;
		return static_cast<char *>(p) + offset;
	}

	// shares says that the file takes memory which the host reads and writes without a copy: what a graph finds in it when it is replayed is not
	// what the call put there.
	void shares() { shares_ = true; }

	// copies says of a copy outside of a capture whether a graph could hold it.
	void copies(const void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
		if (in_call_ && triad_own_calls.timed && kind != cudaMemcpyDeviceToDevice && between_host_and_device(to, from) && !is_small_from_host(to, from, bytes))
			cannot("it copies between the host and the device");
	}

	const void *kept(const void *from, size_t bytes) { // the host's bytes as they are now, where a graph may find them later
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		const std::string text(static_cast<const char *>(from), bytes);
		return kept_.insert(std::make_pair(text, 0)).first->first.data(); // a map's keys stay where they are
	}

	cudaError_t take(void **out, size_t bytes) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		if (!in_call_ || !triad_own_calls.timed || out == nullptr || bytes == 0) return __real_cudaMalloc(out, bytes);
		triad_own_calls.allocations++;
		for (Block &block : blocks_)
			if (block.free && block.bytes == bytes) {
				block.free = block.given_back = false, *out = block.at;
				return cudaSuccess;
			}
		const cudaError_t error = __real_cudaMalloc(out, bytes);
		if (error == cudaSuccess) blocks_.push_back({*out, bytes, false, false});
		return error;
	}

	cudaError_t give(void *at) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		for (Block &block : blocks_)
			if (block.at == at && at != nullptr) {
				block.given_back = true; // another stream of this call may still use it
				return cudaSuccess;
			}
		if (!capturing() || at == nullptr) return __real_cudaFree(at);
		unfreed_.push_back(at);
		return cudaSuccess;
	}

	cudaError_t make(cudaStream_t *out, unsigned flags, int priority) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		for (size_t i = 0; i < retired_.size(); i++)
			if (capturing() && retired_[i].flags == flags && retired_[i].priority == priority) {
				*out = retired_[i].stream;
				retired_.erase(retired_.begin() + long(i));
				return cudaSuccess;
			}
		const cudaError_t error = __real_cudaStreamCreateWithPriority(out, flags, priority);
		if (error == cudaSuccess) made_[*out] = {*out, flags, priority};
		return error;
	}

	cudaError_t destroy(cudaStream_t s) {
		const std::lock_guard<std::recursive_mutex> lock(mutex_);
		const auto made = made_.find(s);
		if (!capturing() || made == made_.end()) return made_.erase(s), __real_cudaStreamDestroy(s);
		retired_.push_back(made->second); // it belongs to the capture, and may serve the next call of it
		return cudaSuccess;
	}

	cudaError_t limit(cudaLimit which, size_t value, cudaError_t (*real)(cudaLimit, size_t)) {
		if (which != cudaLimitPersistingL2CacheSize || !in_call_ || !triad_own_calls.timed) return real(which, value);
		triad_own_calls.limits++;
		return cudaSuccess;
	}

	// launch makes a launch, real(stream), and counts it.
	template <class Real>
	cudaError_t launch(cudaStream_t s, cudaStream_t meant, const Real &real) {
		if (in_call_) triad_own_calls.launches++;
		if (capturing()) return real(on(s));
		if (!in_call_ || triad_own_calls.before == nullptr) return real(s);
		triad_own_calls.before(triad_own_calls.context, s == nullptr ? meant : s);
		const cudaError_t error = real(s);
		triad_own_calls.after(triad_own_calls.context, s == nullptr ? meant : s);
		return error;
	}

private:
	struct Seen {
		cudaStream_t stream;
		bool blocking; // it and the default stream wait for each other
	};
	struct Block {
		void *at;
		size_t bytes;
		bool free, given_back;
	};
	struct Made {
		cudaStream_t stream;
		unsigned flags;
		int priority;
	};

	static bool is_default(cudaStream_t s) { return s == nullptr || s == cudaStreamLegacy || s == cudaStreamPerThread; }

	static bool on_host(const void *p) {
		cudaPointerAttributes a = {};
		if (cudaPointerGetAttributes(&a, p) != cudaSuccess) return cudaGetLastError(), true;
		return a.type == cudaMemoryTypeUnregistered || a.type == cudaMemoryTypeHost;
	}
	static bool between_host_and_device(const void *to, const void *from) { return on_host(to) || on_host(from); }
	static bool is_small_from_host(const void *to, const void *from, size_t bytes) { return bytes <= (64u << 10) && on_host(from) && !on_host(to); }

	bool ready() {
		return (base_ != nullptr || cudaEventCreateWithFlags(&base_, cudaEventDisableTiming) == cudaSuccess) &&
		       (passing_ != nullptr || cudaEventCreateWithFlags(&passing_, cudaEventDisableTiming) == cudaSuccess);
	}

	// wait has a stream of the capture wait for another.
	void wait(cudaStream_t who, cudaStream_t whom) {
		if (who == whom || !ready()) return;
		__real_cudaEventRecord(passing_, whom);
		__real_cudaStreamWaitEvent(who, passing_, 0);
	}

	// enter has a stream of the file's own be captured too, and says whether it and the default stream wait for each other. Its flags are those that it
	// was made with: to ask for them ends a capture.
	bool enter(cudaStream_t s) {
		for (const Seen &known : seen_)
			if (known.stream == s) return known.blocking;
		cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
		__real_cudaStreamIsCapturing(s, &status);
		if (status == cudaStreamCaptureStatusNone && ready()) __real_cudaStreamWaitEvent(s, base_, 0);
		const auto made = made_.find(s);
		seen_.push_back({s, made != made_.end() && made->second.flags == cudaStreamDefault});
		return seen_.back().blocking;
	}

	// tidy does, outside of a capture, what was left undone in one.
	void tidy() {
		for (void *at : unfreed_) __real_cudaFree(at);
		for (const Made &m : retired_) made_.erase(m.stream), __real_cudaStreamDestroy(m.stream);
		unfreed_.clear(), retired_.clear();
		if (triad_own_calls.timed) return;
		for (size_t i = blocks_.size(); i-- > 0;) // what the file has not freed stays its own
			if (blocks_[i].free) __real_cudaFree(blocks_[i].at), blocks_.erase(blocks_.begin() + long(i));
		kept_.clear();
	}

	std::recursive_mutex mutex_;
	bool in_call_ = false, capturing_ = false, shares_ = false;
	cudaStream_t stream_ = nullptr, aside_ = nullptr;
	cudaEvent_t base_ = nullptr, passing_ = nullptr;
	std::vector<Seen> seen_;
	std::vector<Block> blocks_;
	std::vector<Made> retired_;
	std::map<cudaStream_t, Made> made_;
	std::vector<void *> unfreed_;
	std::map<std::string, int> kept_;
};

// triad_scope stands for one call of a user's function.
struct triad_scope {
	explicit triad_scope(cudaStream_t stream) { OwnCalls::get().begin(stream); }
	~triad_scope() { OwnCalls::get().end(); }
};

} // namespace triad

#define TRIAD_CALLS triad::OwnCalls::get()

// TRIAD_TAKES(name, suffix, parameters, arguments, captured): captured is what it does within a capture, before what it does otherwise as well. The
// functions with a suffix are those of files that are compiled for a default stream of each thread.
// A name is joined to what stands around it at once, since in such a file it is a macro.
#define TRIAD_TAKES_ONE(real, wrap, parameters, arguments, before, ...)                                                            \
	extern "C" cudaError_t real parameters;                                                                                    \
	TRIAD_HIDDEN cudaError_t wrap parameters { return before, TRIAD_CALLS.capturing() ? (__VA_ARGS__) : real arguments; }
#define TRIAD_TAKES_PLAIN(name, parameters, arguments, before, ...) \
	TRIAD_TAKES_ONE(__real_##name, __wrap_##name, parameters, arguments, before, __VA_ARGS__)
#define TRIAD_TAKES(name, suffix, parameters, arguments, ...)                                                                      \
	TRIAD_TAKES_ONE(__real_##name, __wrap_##name, parameters, arguments, void(), __VA_ARGS__)                                  \
	TRIAD_TAKES_ONE(__real_##name##suffix, __wrap_##name##suffix, parameters, arguments, void(), __VA_ARGS__)
#define TRIAD_COPIES(name, suffix, parameters, arguments, before, ...)                                                             \
	TRIAD_TAKES_ONE(__real_##name, __wrap_##name, parameters, arguments, before, __VA_ARGS__)                                  \
	TRIAD_TAKES_ONE(__real_##name##suffix, __wrap_##name##suffix, parameters, arguments, before, __VA_ARGS__)

TRIAD_TAKES(cudaMemsetAsync, _ptsz, (void *p, int value, size_t n, cudaStream_t s), (p, value, n, s), __real_cudaMemsetAsync(p, value, n, TRIAD_CALLS.on(s)))
TRIAD_TAKES(cudaMemset, _ptds, (void *p, int value, size_t n), (p, value, n), __real_cudaMemsetAsync(p, value, n, TRIAD_CALLS.on(nullptr)))
TRIAD_TAKES(cudaMemset2DAsync, _ptsz, (void *p, size_t pitch, int value, size_t w, size_t h, cudaStream_t s), (p, pitch, value, w, h, s),
            __real_cudaMemset2DAsync(p, pitch, value, w, h, TRIAD_CALLS.on(s)))
TRIAD_TAKES(cudaMemset2D, _ptds, (void *p, size_t pitch, int value, size_t w, size_t h), (p, pitch, value, w, h),
            __real_cudaMemset2DAsync(p, pitch, value, w, h, TRIAD_CALLS.on(nullptr)))

TRIAD_COPIES(cudaMemcpyAsync, _ptsz, (void *to, const void *from, size_t n, cudaMemcpyKind kind, cudaStream_t s), (to, from, n, kind, s),
             TRIAD_CALLS.copies(to, from, n, kind), TRIAD_CALLS.copy(to, from, n, kind, s))
TRIAD_COPIES(cudaMemcpy, _ptds, (void *to, const void *from, size_t n, cudaMemcpyKind kind), (to, from, n, kind), TRIAD_CALLS.copies(to, from, n, kind),
             TRIAD_CALLS.copy(to, from, n, kind, nullptr))
TRIAD_COPIES(cudaMemcpy2DAsync, _ptsz,
             (void *to, size_t pitch, const void *from, size_t from_pitch, size_t w, size_t h, cudaMemcpyKind kind, cudaStream_t s),
             (to, pitch, from, from_pitch, w, h, kind, s), TRIAD_CALLS.copies(to, from, ~size_t{0}, kind),
             __real_cudaMemcpy2DAsync(to, pitch, from, from_pitch, w, h, kind, TRIAD_CALLS.on(s)))
TRIAD_COPIES(cudaMemcpy2D, _ptds, (void *to, size_t pitch, const void *from, size_t from_pitch, size_t w, size_t h, cudaMemcpyKind kind),
             (to, pitch, from, from_pitch, w, h, kind), TRIAD_CALLS.copies(to, from, ~size_t{0}, kind),
             __real_cudaMemcpy2DAsync(to, pitch, from, from_pitch, w, h, kind, TRIAD_CALLS.on(nullptr)))
TRIAD_COPIES(cudaMemcpyToSymbolAsync, _ptsz, (const void *symbol, const void *from, size_t n, size_t offset, cudaMemcpyKind kind, cudaStream_t s),
             (symbol, from, n, offset, kind, s), TRIAD_CALLS.copies(triad::OwnCalls::at(symbol), from, n, kind),
             TRIAD_CALLS.copy(triad::OwnCalls::at(symbol, offset), from, n, kind, s))
TRIAD_COPIES(cudaMemcpyToSymbol, _ptds, (const void *symbol, const void *from, size_t n, size_t offset, cudaMemcpyKind kind),
             (symbol, from, n, offset, kind), TRIAD_CALLS.copies(triad::OwnCalls::at(symbol), from, n, kind),
             TRIAD_CALLS.copy(triad::OwnCalls::at(symbol, offset), from, n, kind, nullptr))
TRIAD_COPIES(cudaMemcpyFromSymbolAsync, _ptsz, (void *to, const void *symbol, size_t n, size_t offset, cudaMemcpyKind kind, cudaStream_t s),
             (to, symbol, n, offset, kind, s), TRIAD_CALLS.copies(to, triad::OwnCalls::at(symbol), n, kind),
             TRIAD_CALLS.copy(to, triad::OwnCalls::at(symbol, offset), n, kind, s))
TRIAD_COPIES(cudaMemcpyFromSymbol, _ptds, (void *to, const void *symbol, size_t n, size_t offset, cudaMemcpyKind kind), (to, symbol, n, offset, kind),
             TRIAD_CALLS.copies(to, triad::OwnCalls::at(symbol), n, kind), TRIAD_CALLS.copy(to, triad::OwnCalls::at(symbol, offset), n, kind, nullptr))

TRIAD_TAKES_PLAIN(cudaDeviceSynchronize, (), (), void(), TRIAD_CALLS.barrier())
TRIAD_TAKES(cudaStreamSynchronize, _ptsz, (cudaStream_t s), (s), TRIAD_CALLS.on(s), TRIAD_CALLS.barrier())
TRIAD_TAKES(cudaStreamQuery, _ptsz, (cudaStream_t s), (s), TRIAD_CALLS.on(s), TRIAD_CALLS.barrier())
TRIAD_TAKES_PLAIN(cudaEventSynchronize, (cudaEvent_t e), (e), void(), TRIAD_CALLS.barrier())
TRIAD_TAKES_PLAIN(cudaEventQuery, (cudaEvent_t e), (e), void(), TRIAD_CALLS.barrier())
// A time that is not known while it is captured; nobody but the file reads it.
TRIAD_TAKES_PLAIN(cudaEventElapsedTime, (float *ms, cudaEvent_t a, cudaEvent_t b), (ms, a, b), void(), *ms = 0.001f, cudaSuccess)
TRIAD_TAKES(cudaEventRecord, _ptsz, (cudaEvent_t e, cudaStream_t s), (e, s), __real_cudaEventRecord(e, TRIAD_CALLS.on(s)))
TRIAD_TAKES(cudaEventRecordWithFlags, _ptsz, (cudaEvent_t e, cudaStream_t s, unsigned flags), (e, s, flags),
            __real_cudaEventRecordWithFlags(e, TRIAD_CALLS.on(s), flags))
TRIAD_TAKES(cudaStreamWaitEvent, _ptsz, (cudaStream_t s, cudaEvent_t e, unsigned flags), (s, e, flags),
            __real_cudaStreamWaitEvent(TRIAD_CALLS.on(s), e, flags))
TRIAD_TAKES(cudaStreamIsCapturing, _ptsz, (cudaStream_t s, cudaStreamCaptureStatus *status), (s, status),
            __real_cudaStreamIsCapturing(TRIAD_CALLS.on(s), status))
TRIAD_TAKES(cudaStreamSetAttribute, _ptsz, (cudaStream_t s, cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value), (s, id, value),
            __real_cudaStreamSetAttribute(TRIAD_CALLS.on(s), id, value))
TRIAD_TAKES(cudaLaunchHostFunc, _ptsz, (cudaStream_t s, cudaHostFn_t f, void *data), (s, f, data), __real_cudaLaunchHostFunc(TRIAD_CALLS.on(s), f, data))
TRIAD_TAKES(cudaGraphLaunch, _ptsz, (cudaGraphExec_t graph, cudaStream_t s), (graph, s), __real_cudaGraphLaunch(graph, TRIAD_CALLS.on(s)))
TRIAD_COPIES(cudaStreamBeginCapture, _ptsz, (cudaStream_t s, cudaStreamCaptureMode mode), (s, mode),
             TRIAD_CALLS.cannot("it captures a graph of its own"), __real_cudaStreamBeginCapture(s, mode))

TRIAD_TAKES_PLAIN(cudaMallocManaged, (void **out, size_t n, unsigned flags), (out, n, flags), TRIAD_CALLS.shares(), __real_cudaMallocManaged(out, n, flags))
TRIAD_TAKES_PLAIN(cudaHostAlloc, (void **out, size_t n, unsigned flags), (out, n, flags), TRIAD_CALLS.shares(), __real_cudaHostAlloc(out, n, flags))
TRIAD_TAKES_PLAIN(cudaMallocHost, (void **out, size_t n), (out, n), TRIAD_CALLS.shares(), __real_cudaMallocHost(out, n))
TRIAD_TAKES_PLAIN(cudaHostRegister, (void *p, size_t n, unsigned flags), (p, n, flags), TRIAD_CALLS.shares(), __real_cudaHostRegister(p, n, flags))

TRIAD_HIDDEN cudaError_t __wrap_cudaMalloc(void **out, size_t n) { return TRIAD_CALLS.take(out, n); }
TRIAD_HIDDEN cudaError_t __wrap_cudaFree(void *p) { return TRIAD_CALLS.give(p); }
TRIAD_TAKES(cudaMallocAsync, _ptsz, (void **out, size_t n, cudaStream_t s), (out, n, s), TRIAD_CALLS.take(out, n))
TRIAD_TAKES(cudaFreeAsync, _ptsz, (void *p, cudaStream_t s), (p, s), TRIAD_CALLS.give(p))
TRIAD_HIDDEN cudaError_t __wrap_cudaStreamCreate(cudaStream_t *out) { return TRIAD_CALLS.make(out, cudaStreamDefault, 0); }
TRIAD_HIDDEN cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) { return TRIAD_CALLS.make(out, flags, 0); }
TRIAD_HIDDEN cudaError_t __wrap_cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
	return TRIAD_CALLS.make(out, flags, priority);
}
TRIAD_HIDDEN cudaError_t __wrap_cudaStreamDestroy(cudaStream_t s) { return TRIAD_CALLS.destroy(s); }
extern "C" cudaError_t __real_cudaDeviceSetLimit(cudaLimit which, size_t value);
TRIAD_HIDDEN cudaError_t __wrap_cudaDeviceSetLimit(cudaLimit which, size_t value) { return TRIAD_CALLS.limit(which, value, __real_cudaDeviceSetLimit); }

// TRIAD_LAUNCHES(name, kernel type): a function that launches. Kernels <<<...>>> come by __cudaLaunchKernel since CUDA 13, before by cudaLaunchKernel.
#define TRIAD_LAUNCHES_ONE(real, wrap, Kernel, meant)                                                                              \
	extern "C" cudaError_t real(Kernel k, dim3 grid, dim3 block, void **args, size_t bytes, cudaStream_t s);                   \
	TRIAD_HIDDEN cudaError_t wrap(Kernel k, dim3 grid, dim3 block, void **args, size_t bytes, cudaStream_t s) {                \
		return TRIAD_CALLS.launch(s, meant, [&](cudaStream_t on) { return real(k, grid, block, args, bytes, on); });       \
	}
#define TRIAD_LAUNCHES(name, Kernel)                                                                                               \
	TRIAD_LAUNCHES_ONE(__real_##name, __wrap_##name, Kernel, cudaStreamLegacy)                                                 \
	TRIAD_LAUNCHES_ONE(__real_##name##_ptsz, __wrap_##name##_ptsz, Kernel, cudaStreamPerThread)
TRIAD_LAUNCHES(cudaLaunchKernel, const void *)
TRIAD_LAUNCHES(cudaLaunchCooperativeKernel, const void *)
#if CUDART_VERSION >= 13000
TRIAD_LAUNCHES(__cudaLaunchKernel, cudaKernel_t)
#endif
#define TRIAD_CONFIGURED_ONE(real, wrap, meant)                                                                                    \
	extern "C" cudaError_t real(const cudaLaunchConfig_t *config, const void *k, void **args);                                 \
	TRIAD_HIDDEN cudaError_t wrap(const cudaLaunchConfig_t *config, const void *k, void **args) {                              \
		cudaLaunchConfig_t here = *config;                                                                                 \
		return TRIAD_CALLS.launch(here.stream, meant, [&](cudaStream_t on) { return here.stream = on, real(&here, k, args); }); \
	}
#define TRIAD_CONFIGURED(name)                                                                                                     \
	TRIAD_CONFIGURED_ONE(__real_##name, __wrap_##name, cudaStreamLegacy)                                                       \
	TRIAD_CONFIGURED_ONE(__real_##name##_ptsz, __wrap_##name##_ptsz, cudaStreamPerThread)
TRIAD_CONFIGURED(cudaLaunchKernelExC)

#undef TRIAD_CALLS
#undef TRIAD_HIDDEN
#undef TRIAD_TAKES_ONE
#undef TRIAD_TAKES_PLAIN
#undef TRIAD_TAKES
#undef TRIAD_COPIES
#undef TRIAD_LAUNCHES_ONE
#undef TRIAD_LAUNCHES
#undef TRIAD_CONFIGURED_ONE
#undef TRIAD_CONFIGURED

#else
namespace triad {
struct triad_scope { // the emulator captures nothing
	explicit triad_scope(cudaStream_t) {}
};
} // namespace triad
#endif
#endif
