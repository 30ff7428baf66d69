// CUDA's runtime API, the part with state: the last error, allocations, properties of the device that is none.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>

#include "cuemu/check.h"
#include "cuemu/faults.h"
#include "cuemu/device_api.h"
#include "cuemu/scheduler.h"

namespace cuemu {

namespace {
cudaError_t last_error = cudaSuccess;
size_t shared_asked = 0;
unsigned allowed_cluster = 8;                  // what every GPU with clusters takes

// The compute capability that code sees, in tenths: 8.0, which the emulated instructions are of (but clusters, which cudaDevAttrClusterLaunch
// tells), or an older one by CUEMU_CAPABILITY.
int capability_asked() {
	const char *asked = getenv("CUEMU_CAPABILITY");
	const int tenths = asked ? atoi(asked) : 0;
	return tenths >= 50 && tenths < 80 ? tenths : 80;
}
const int capability = capability_asked();

// What memory is where nothing checks it, as under a sanitizer: programs ask for it. Addresses are kept as their complement: LeakSanitizer
// takes memory that any word points to for memory in use.
struct Typed {
	size_t bytes;
	int type;
};
std::mutex &typed_lock = *new std::mutex;   // never destroyed: a program's own statics may free memory at its end
std::map<uintptr_t, Typed> &typed = *new std::map<uintptr_t, Typed>;

uintptr_t complement(const void *p) { return ~reinterpret_cast<uintptr_t>(p); }

void keep_type(void *p, size_t bytes, int type) {
	std::lock_guard<std::mutex> guard(typed_lock);
	if (p) typed[complement(p)] = {bytes, type};
}
void forget_type(void *p) {
	std::lock_guard<std::mutex> guard(typed_lock);
	typed.erase(complement(p));
}
int type_of(const void *p) {
	std::lock_guard<std::mutex> guard(typed_lock);
	const auto at = typed.lower_bound(complement(p));   // the last that begins at p or before it
	if (at == typed.end()) return cudaMemoryTypeUnregistered;
	const uintptr_t offset = at->first - complement(p);
	return offset == 0 || offset < at->second.bytes ? at->second.type : cudaMemoryTypeUnregistered;
}
}  // namespace

void set_last_error(cudaError_t error) { last_error = error; }

// The largest dynamic shared memory that cudaFuncSetAttribute allowed to any kernel: a launch does not know its kernel's address.
size_t dynamic_shared_asked() { return shared_asked; }
size_t dynamic_shared_allowed() { return shared_asked > STATIC_LIMIT ? shared_asked : STATIC_LIMIT; }

// Twice and more what cudaOccupancyMaxActiveBlocksPerMultiprocessor and the number of multiprocessors give.
unsigned resident_blocks(uint64_t threads) {
	const uint64_t most = 32 * 1024 / (threads ? threads : 1);
	return most > MAX_RESIDENT ? MAX_RESIDENT : static_cast<unsigned>(most);
}

unsigned cluster_allowed() { return capability < 80 ? 1 : allowed_cluster; }

}  // namespace cuemu

using namespace cuemu;

extern "C" {

cudaError_t cudaGetLastError() {
	cudaError_t error = cudaPeekAtLastError();
	last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError() { return checking && sticky_error() ? sticky_error() : last_error; }

const char *cudaGetErrorName(cudaError_t error) {
	switch (error) {
	case cudaSuccess: return "cudaSuccess";
	case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
	case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
	case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
	case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
	case cudaErrorInvalidDevicePointer: return "cudaErrorInvalidDevicePointer";
	case cudaErrorInvalidClusterSize: return "cudaErrorInvalidClusterSize";
	case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
	case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
	case cudaErrorCooperativeLaunchTooLarge: return "cudaErrorCooperativeLaunchTooLarge";
	case cudaErrorHostMemoryAlreadyRegistered: return "cudaErrorHostMemoryAlreadyRegistered";
	case cudaErrorHostMemoryNotRegistered: return "cudaErrorHostMemoryNotRegistered";
	case cudaErrorIllegalState: return "cudaErrorIllegalState";
	case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
	case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
	case cudaErrorNotSupported: return "cudaErrorNotSupported";
	default: return "cudaErrorUnknown";
	}
}

const char *cudaGetErrorString(cudaError_t error) {
	switch (error) {
	case cudaSuccess: return "no error";
	case cudaErrorInvalidValue: return "invalid argument";
	case cudaErrorMemoryAllocation: return "out of memory";
	case cudaErrorInvalidConfiguration: return "invalid configuration argument";
	case cudaErrorInvalidDevice: return "invalid device ordinal";
	case cudaErrorInvalidDevicePointer: return "invalid device pointer";
	case cudaErrorInvalidClusterSize: return "cluster misconfiguration";
	case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
	case cudaErrorLaunchOutOfResources: return "too many resources requested for launch";
	case cudaErrorCooperativeLaunchTooLarge: return "too many blocks in cooperative launch";
	case cudaErrorHostMemoryAlreadyRegistered: return "part or all of the requested memory range is already mapped";
	case cudaErrorHostMemoryNotRegistered: return "pointer does not correspond to a registered memory region";
	case cudaErrorIllegalState: return "the operation cannot be performed in the present state";
	case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
	case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
	case cudaErrorNotSupported: return "operation not supported";
	default: return "unknown error";
	}
}

// Under a sanitizer memory comes from its own allocator, which knows red zones and leaks.
cudaError_t cuemu_malloc(void **p, size_t bytes, const char *file, int line) {
	if (observing) return (*p = observe_memory(bytes, false)) ? cudaSuccess : last_error = cudaErrorMemoryAllocation;
	if (checking) return check_malloc(p, bytes, false, false, file, line);
	char name[64];
	const char *slash = strrchr(file, '/');
	snprintf(name, sizeof name, "cudaMalloc at %.40s:%d", slash ? slash + 1 : file, line);
#if CUEMU_SANITIZER
	*p = malloc(bytes ? bytes : 1);
	if (*p) memset(*p, buffer_fill(), bytes);
#else
	*p = cuemu_alloc(name, bytes, 0);
#endif
	keep_type(*p, bytes, cudaMemoryTypeDevice);
	return *p ? cudaSuccess : last_error = cudaErrorMemoryAllocation;
}

cudaError_t cuemu_malloc_managed(void **p, size_t bytes, const char *file, int line) {
	if (observing) return (*p = observe_memory(bytes, true)) ? cudaSuccess : last_error = cudaErrorMemoryAllocation;
	if (checking) return check_malloc(p, bytes, true, false, file, line);
	cudaError_t error = cuemu_malloc(p, bytes, file, line);
	if (error == cudaSuccess) keep_type(*p, bytes, cudaMemoryTypeManaged);
#if !CUEMU_SANITIZER
	if (error == cudaSuccess) share_with_host(*p);
#endif
	return error;
}

cudaError_t cuemu_malloc_host(void **p, size_t bytes, const char *file, int line) {
	if (checking) return check_malloc(p, bytes, false, true, file, line);
	*p = malloc(bytes ? bytes : 1);
	keep_type(*p, bytes, cudaMemoryTypeHost);
	return *p ? cudaSuccess : last_error = cudaErrorMemoryAllocation;
}

cudaError_t cuemu_free_host(void *p, const char *file, int line) {
	if (checking && p) return check_free(p, true, file, line);
	forget_type(p);
	free(p);
	return cudaSuccess;
}

cudaError_t cuemu_free_memory(void *p, const char *file, int line) {
	if (!p || observing) return cudaSuccess;
	if (checking) return check_free(p, false, file, line);
	forget_type(p);
#if CUEMU_SANITIZER
	free(p);
	return cudaSuccess;
#else
	int64_t before, after;
	if (cuemu_check(p, &before, &after) != 0)
		report(CUEMU_OUT_OF_BOUNDS, nullptr, 0, "memory from cudaMalloc was overrun: nearest changed byte %lld before its start or %lld past its end",
		       static_cast<long long>(before), static_cast<long long>(after));
	end_on_report();
	return cuemu_free(p) == 0 ? cudaSuccess : last_error = cudaErrorInvalidDevicePointer;
#endif
}

cudaError_t cuemu_copy_memory(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool waits, const char *file, int line) {
	if (observing && observe_copy(to, from, bytes)) return cudaSuccess;
	if (cuemu_capturing()) {
		if (waits) return cuemu_spoil_capture();
		return cuemu_keep(kept_of([=] { return cuemu_copy_memory(to, from, bytes, kind, false, file, line); })), cudaSuccess;
	}
	if (checking) return check_copy(to, from, bytes, kind, waits, file, line);
	DeviceMemory open;
	if (bytes) memmove(to, from, bytes);
	return cudaSuccess;
}

// Device memory is opened once for all rows: each opening is a system call for every buffer.
cudaError_t cuemu_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, bool waits,
                            const char *file, int line) {
	std::optional<DeviceMemory> open;
	if (!checking) open.emplace();
	for (size_t row = 0; row < height; row++)
		if (cudaError_t error = cuemu_copy_memory(static_cast<char *>(to) + row * to_pitch, static_cast<const char *>(from) + row * from_pitch,
		                                          width, kind, waits, file, line))
			return error;
	return cudaSuccess;
}

cudaError_t cuemu_fill_memory(void *to, int value, size_t bytes, const char *file, int line) {
	if (observing) return observe_fill(to, value, bytes), cudaSuccess;
	if (cuemu_capturing()) return cuemu_keep(kept_of([=] { return cuemu_fill_memory(to, value, bytes, file, line); })), cudaSuccess;
	if (checking) return check_fill(to, value, bytes, file, line);
	DeviceMemory open;
	if (bytes) memset(to, value, bytes);
	return cudaSuccess;
}

cudaError_t cuemu_no_symbol(const char *file, int line) { return checking ? tell_no_symbol(file, line) : last_error = cudaErrorInvalidSymbol; }

cudaError_t cuemu_wait() {
	if (cuemu_capturing()) return cuemu_spoil_capture();
	if (checking) check_synchronised();
	return cudaPeekAtLastError();
}

cudaError_t cudaDeviceReset() {
	if (checking) check_reset();
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int device) {
	if (device != 0) return last_error = cudaErrorInvalidDevice;
	memset(p, 0, sizeof *p);
	snprintf(p->name, sizeof p->name, "emulator");
	p->totalGlobalMem = size_t(4) << 30;
	p->sharedMemPerBlock = STATIC_LIMIT;
	p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = shared_limit();
	p->totalConstMem = 65536;
	p->regsPerBlock = p->regsPerMultiprocessor = 65536;
	p->warpSize = 32;
	p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
	p->maxThreadsDim[2] = 64;
	p->maxGridSize[0] = 0x7fffffff;
	p->maxGridSize[1] = p->maxGridSize[2] = 65535;
	p->major = capability / 10;
	p->minor = capability % 10;
	p->multiProcessorCount = MULTIPROCESSORS;
	p->maxThreadsPerMultiProcessor = 2048;
	p->maxBlocksPerMultiProcessor = 32;
	p->clockRate = 1000000;
	p->cooperativeLaunch = p->canMapHostMemory = p->unifiedAddressing = p->managedMemory = p->concurrentKernels = 1;
	return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device) {
	cudaDeviceProp p;
	if (cudaError_t error = cudaGetDeviceProperties(&p, device)) return error;
	switch (attribute) {
	case cudaDevAttrMaxThreadsPerBlock: *value = p.maxThreadsPerBlock; break;
	case cudaDevAttrMaxBlockDimX: *value = p.maxThreadsDim[0]; break;
	case cudaDevAttrMaxBlockDimY: *value = p.maxThreadsDim[1]; break;
	case cudaDevAttrMaxBlockDimZ: *value = p.maxThreadsDim[2]; break;
	case cudaDevAttrMaxGridDimX: *value = p.maxGridSize[0]; break;
	case cudaDevAttrMaxGridDimY: *value = p.maxGridSize[1]; break;
	case cudaDevAttrMaxGridDimZ: *value = p.maxGridSize[2]; break;
	case cudaDevAttrMaxSharedMemoryPerBlock: *value = STATIC_LIMIT; break;
	case cudaDevAttrTotalConstantMemory: *value = static_cast<int>(p.totalConstMem); break;
	case cudaDevAttrWarpSize: *value = p.warpSize; break;
	case cudaDevAttrMaxRegistersPerBlock:
	case cudaDevAttrMaxRegistersPerMultiprocessor: *value = p.regsPerBlock; break;
	case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
	case cudaDevAttrMaxBlocksPerMultiprocessor: *value = p.maxBlocksPerMultiProcessor; break;
	case cudaDevAttrClockRate: *value = 1000000; break;        // kHz; a device that is none has no clock
	case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
	case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
	case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
	case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
	case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = shared_limit(); break;
	case cudaDevAttrClusterLaunch: *value = cluster_allowed() > 1; break;
	case cudaDevAttrCanMapHostMemory:
	case cudaDevAttrConcurrentKernels:
	case cudaDevAttrUnifiedAddressing:
	case cudaDevAttrManagedMemory:
	case cudaDevAttrHostRegisterSupported:
	case cudaDevAttrCooperativeLaunch: *value = 1; break;
	case cudaDevAttrComputeMode:
	case cudaDevAttrEccEnabled:
	case cudaDevAttrIntegrated:
	case cudaDevAttrTccDriver:
	case cudaDevAttrKernelExecTimeout:
	case cudaDevAttrIsMultiGpuBoard:
	case cudaDevAttrPageableMemoryAccess:
	case cudaDevAttrConcurrentManagedAccess:
	case cudaDevAttrHostNativeAtomicSupported:
	case cudaDevAttrCooperativeMultiDeviceLaunch:
	case cudaDevAttrStreamPrioritiesSupported:
	case cudaDevAttrMemoryPoolsSupported: *value = 0; break;
	default: return last_error = cudaErrorInvalidValue;
	}
	return cudaSuccess;
}

// In a kernel clock() is clock64(), whose rate the device's properties give; the host's counts the process's time, a thousand times slower.
CUEMU_API clock_t __wrap_clock(void) {
	if (!cuemu_in_kernel()) return clock();
	timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

// What kernels print comes in the order in which their threads run: `triad check` gets it in a file of its own too.
CUEMU_API int __wrap_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
CUEMU_API int __wrap_printf(const char *format, ...) {
	va_list values;
	va_start(values, format);
	static const char *const name = getenv("CUEMU_PRINTED");
	if (name && cuemu_in_kernel()) {
		static FILE *const file = fopen(name, "ae");
		va_list again;
		va_copy(again, values);
		if (file) vfprintf(file, format, again), fflush(file);
		va_end(again);
	}
	const int written = vprintf(format, values);
	va_end(values);
	return written;
}

int cuemu_memory_type(const void *p) { return checking ? sort_of_memory(p) : type_of(p); }
cudaError_t cuemu_register_host(void *p, size_t bytes, const char *file, int line) {
	return checking ? check_register(p, bytes, file, line) : cudaSuccess;
}
cudaError_t cuemu_unregister_host(void *p, const char *file, int line) { return checking ? check_unregister(p, file, line) : cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
	*free = *total = size_t(4) << 30;
	return cudaSuccess;
}

cudaError_t cuemu_set_function_attribute(cudaFuncAttribute attribute, int value) {
	if (attribute == cudaFuncAttributeNonPortableClusterSizeAllowed && value) allowed_cluster = MAX_CLUSTER;
	if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
	if (value < 0 || static_cast<size_t>(value) > shared_limit()) return last_error = cudaErrorInvalidValue;
	if (observing) observe_shared(value);
	if (static_cast<size_t>(value) > shared_asked) shared_asked = static_cast<size_t>(value);
	return cudaSuccess;
}

}  // extern "C"
