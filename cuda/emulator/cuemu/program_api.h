// The part of CUDA's runtime API that a main() uses and kernels' host code seldom does: settings that have no meaning here, memory of the host that
// kernels reach, launches by a pointer to the kernel. There is one device, which is its own peer.
#ifndef CUEMU_PROGRAM_API_H
#define CUEMU_PROGRAM_API_H

#include "cuemu/graph_api.h"
#include "cuemu/runtime_api.h"

#define CUDART_CB
#define CUDARTAPI

enum { cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1, cudaHostRegisterMapped = 2 };
enum { cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2, cudaDeviceScheduleBlockingSync = 4, cudaDeviceBlockingSync = 4,
	cudaDeviceMapHost = 8 };
enum cudaLimit { cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitDevRuntimeSyncDepth,
	cudaLimitDevRuntimePendingLaunchCount, cudaLimitMaxL2FetchGranularity, cudaLimitPersistingL2CacheSize };
enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };
enum cudaComputeMode { cudaComputeModeDefault, cudaComputeModeExclusive, cudaComputeModeProhibited };

inline cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
inline cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
extern "C" void cuemu_set_heap(size_t bytes);
inline cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
	if (limit == cudaLimitMallocHeapSize) cuemu_set_heap(value);
	return cudaSuccess;
}
inline cudaError_t cudaDeviceGetLimit(size_t *value, cudaLimit limit) {
	const size_t usual[] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};
	if (limit < 0 || limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
	return *value = usual[limit], cudaSuccess;
}
inline cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig) { return cudaSuccess; }
template <class Kernel> inline cudaError_t cudaFuncSetSharedMemConfig(Kernel *, cudaSharedMemConfig) { return cudaSuccess; }
inline cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned, int) { return *stream = nullptr, cudaSuccess; }
inline cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { return *least = *greatest = 0, cudaSuccess; }
inline cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
inline cudaError_t cudaChooseDevice(int *device, const cudaDeviceProp *) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaDeviceCanAccessPeer(int *can, int, int) { return *can = 0, cudaSuccess; }
inline cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return cudaErrorInvalidDevice; }
inline cudaError_t cudaDeviceGetPCIBusId(char *id, int bytes, int) { return snprintf(id, static_cast<size_t>(bytes), "0000:00:00.0"), cudaSuccess; }

// Memory that the host has and kernels reach: cudaHostAlloc's has one address for both.
template <class T> inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned) {
	return *device = static_cast<T *>(host), cudaSuccess;
}

// Copies between devices are copies on the one that there is.
inline cudaError_t cudaMemcpyPeer(void *to, int, const void *from, int, size_t bytes, CUEMU_HERE) {
	return cuemu_copy_memory(to, from, bytes, cudaMemcpyDeviceToDevice, true, file, line);
}
inline cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu_copy_memory(to, from, bytes, cudaMemcpyDeviceToDevice, false, file, line);
}
template <class T> inline cudaError_t cudaMemcpyToSymbolAsync(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                              cudaMemcpyKind kind = cudaMemcpyHostToDevice, cudaStream_t = nullptr, CUEMU_HERE) {
	return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind, file, line);
}
template <class T> inline cudaError_t cudaMemcpyFromSymbolAsync(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                                cudaMemcpyKind kind = cudaMemcpyDeviceToHost, cudaStream_t = nullptr, CUEMU_HERE) {
	return cudaMemcpyFromSymbol(to, symbol, bytes, offset, kind, file, line);
}

// Functions that a stream calls: it has nothing to wait for.
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);
typedef void (*cudaHostFn_t)(void *data);
inline cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t call, void *data, unsigned) {
	return call(stream, cudaSuccess, data), cudaSuccess;
}
inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t call, void *data) {
	if (cuemu_capturing()) return cuemu_keep(cuemu::kept_of([=] { return call(data), cudaSuccess; })), cudaSuccess;
	return call(data), cudaSuccess;
}

namespace cuemu {
// Named is a kernel with its name, which the rewriter makes of the first argument of the functions below.
template <class... Params> struct Named {
	const char *name;
	void (*kernel)(Params...);
};

template <class... Params> inline Named<Params...> cuemu_named(const char *name, void (*kernel)(Params...)) { return {name, kernel}; }
Named<> cuemu_named(const char *name, const void *kernel) __attribute__((error(
	"the emulator needs the kernel itself, as in cudaLaunchKernel(my_kernel, ...): a pointer to void has lost what its arguments are")));

// What a kernel gets from an array of pointers to its arguments.
struct Passed {
	dim3 grid, block;
	void **args;
	size_t shared_bytes;
	bool cooperative;
	const char *file;
	int line;
};

template <class... Params, size_t... Index>
inline cudaError_t launch_by_pointer(Named<Params...> k, const Passed &p, std::index_sequence<Index...>) {
	Configuration c = cuemu_launch(p.grid, p.block, p.shared_bytes, nullptr, p.file, p.line).cuemu_kernel(k.name);
	c.job.cooperative = p.cooperative;
	auto *kernel = k.kernel;
	(c->*[=](auto... a) CUEMU_PLAIN { kernel(cuemu_argument(a)...), end_thread(a...); })(*static_cast<std::remove_reference_t<Params> *>(p.args[Index])...);
	return cudaPeekAtLastError();
}
}  // namespace cuemu

// A kernel is launched by its name; a pointer to void has lost what its arguments are.
template <class... Params>
inline cudaError_t cudaLaunchKernel(cuemu::Named<Params...> kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes = 0,
                                    cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu::launch_by_pointer(kernel, {grid, block, args, shared_bytes, false, file, line}, std::index_sequence_for<Params...>());
}
template <class... Params>
inline cudaError_t cudaLaunchCooperativeKernel(cuemu::Named<Params...> kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes = 0,
                                               cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu::launch_by_pointer(kernel, {grid, block, args, shared_bytes, true, file, line}, std::index_sequence_for<Params...>());
}

#endif
