// The part of CUDA's runtime API that host code of kernels uses. Launches are synchronous, so streams and events only have to exist; no
// function tells a duration.
#ifndef CUEMU_RUNTIME_API_H
#define CUEMU_RUNTIME_API_H

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "cuemu/execution.h"

enum cudaError : int {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInitializationError = 3,
	cudaErrorCudartUnloading = 4,
	cudaErrorProfilerDisabled = 5,
	cudaErrorInvalidPitchValue = 12,
	cudaErrorInvalidSymbol = 13,
	cudaErrorInvalidHostPointer = 16,
	cudaErrorInvalidConfiguration = 9,
	cudaErrorInvalidDevice = 101,
	cudaErrorInvalidDeviceFunction = 98,
	cudaErrorInvalidDevicePointer = 17,
	cudaErrorInvalidMemcpyDirection = 21,
	cudaErrorInsufficientDriver = 35,
	cudaErrorDevicesUnavailable = 46,
	cudaErrorMissingConfiguration = 52,
	cudaErrorNoKernelImageForDevice = 209,
	cudaErrorUnsupportedLimit = 215,
	cudaErrorInvalidResourceHandle = 400,
	cudaErrorNoDevice = 100,
	cudaErrorIllegalState = 401,
	cudaErrorNotReady = 600,
	cudaErrorInvalidClusterSize = 912,
	cudaErrorInvalidKernelImage = 200,
	cudaErrorPeerAccessUnsupported = 217,
	cudaErrorIllegalAddress = 700,
	cudaErrorPeerAccessAlreadyEnabled = 704,
	cudaErrorPeerAccessNotEnabled = 705,
	cudaErrorHostMemoryAlreadyRegistered = 712,
	cudaErrorHostMemoryNotRegistered = 713,
	cudaErrorAssert = 710,
	cudaErrorLaunchOutOfResources = 701,
	cudaErrorLaunchTimeout = 702,
	cudaErrorHardwareStackError = 714,
	cudaErrorIllegalInstruction = 715,
	cudaErrorMisalignedAddress = 716,
	cudaErrorInvalidAddressSpace = 717,
	cudaErrorInvalidPc = 718,
	cudaErrorLaunchFailure = 719,
	cudaErrorCooperativeLaunchTooLarge = 720,
	cudaErrorNotSupported = 801,
	cudaErrorStreamCaptureUnsupported = 900,
	cudaErrorStreamCaptureInvalidated = 901,
	cudaErrorUnknown = 999
};
typedef cudaError cudaError_t;

enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9,
	cudaFuncAttributeNonPortableClusterSizeAllowed = 14 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum { cudaSharedmemCarveoutDefault = -1, cudaSharedmemCarveoutMaxL1 = 0, cudaSharedmemCarveoutMaxShared = 100 };
/* macros, as in CUDA: 0 also stands for a stream, as in cudaEventRecord(start, cudaEventRecordDefault) */
#define cudaStreamDefault 0x00
#define cudaEventDefault 0x00
#define cudaEventRecordDefault 0x00
#define cudaEventRecordExternal 0x01
enum { cudaStreamNonBlocking = 1, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
	cudaEventInterprocess = 4 };
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4, cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2, cudaHostAllocWriteCombined = 4 };
enum { cudaCpuDeviceId = -1, cudaMemAdviseSetReadMostly = 1, cudaMemAdviseUnsetReadMostly, cudaMemAdviseSetPreferredLocation,
	cudaMemAdviseUnsetPreferredLocation, cudaMemAdviseSetAccessedBy, cudaMemAdviseUnsetAccessedBy };
enum cudaMemLocationType { cudaMemLocationTypeInvalid, cudaMemLocationTypeDevice, cudaMemLocationTypeHost, cudaMemLocationTypeHostNuma,
	cudaMemLocationTypeHostNumaCurrent };
struct cudaMemLocation {                        // what CUDA 13 takes where CUDA 12 took the number of a device
	cudaMemLocationType type;
	int id;
};
enum cudaDeviceAttr {
	cudaDevAttrMaxThreadsPerBlock = 1, cudaDevAttrMaxBlockDimX, cudaDevAttrMaxBlockDimY, cudaDevAttrMaxBlockDimZ, cudaDevAttrMaxGridDimX,
	cudaDevAttrMaxGridDimY, cudaDevAttrMaxGridDimZ, cudaDevAttrMaxSharedMemoryPerBlock, cudaDevAttrTotalConstantMemory, cudaDevAttrWarpSize,
	cudaDevAttrMaxPitch, cudaDevAttrMaxRegistersPerBlock, cudaDevAttrClockRate, cudaDevAttrTextureAlignment, cudaDevAttrGpuOverlap,
	cudaDevAttrMultiProcessorCount, cudaDevAttrKernelExecTimeout, cudaDevAttrIntegrated, cudaDevAttrCanMapHostMemory, cudaDevAttrComputeMode,
	cudaDevAttrConcurrentKernels = 31, cudaDevAttrEccEnabled, cudaDevAttrPciBusId, cudaDevAttrPciDeviceId, cudaDevAttrTccDriver,
	cudaDevAttrMemoryClockRate, cudaDevAttrGlobalMemoryBusWidth, cudaDevAttrL2CacheSize, cudaDevAttrMaxThreadsPerMultiProcessor,
	cudaDevAttrAsyncEngineCount, cudaDevAttrUnifiedAddressing, cudaDevAttrPciDomainId = 50, cudaDevAttrComputeCapabilityMajor = 75,
	cudaDevAttrComputeCapabilityMinor, cudaDevAttrStreamPrioritiesSupported = 78, cudaDevAttrGlobalL1CacheSupported, cudaDevAttrLocalL1CacheSupported,
	cudaDevAttrMaxSharedMemoryPerMultiprocessor, cudaDevAttrMaxRegistersPerMultiprocessor, cudaDevAttrManagedMemory, cudaDevAttrIsMultiGpuBoard,
	cudaDevAttrMultiGpuBoardGroupID, cudaDevAttrHostNativeAtomicSupported, cudaDevAttrSingleToDoublePrecisionPerfRatio,
	cudaDevAttrPageableMemoryAccess, cudaDevAttrConcurrentManagedAccess, cudaDevAttrComputePreemptionSupported,
	cudaDevAttrCanUseHostPointerForRegisteredMem, cudaDevAttrCooperativeLaunch = 95, cudaDevAttrCooperativeMultiDeviceLaunch,
	cudaDevAttrMaxSharedMemoryPerBlockOptin, cudaDevAttrCanFlushRemoteWrites, cudaDevAttrHostRegisterSupported,
	cudaDevAttrMaxBlocksPerMultiprocessor = 106, cudaDevAttrMemoryPoolsSupported = 115, cudaDevAttrClusterLaunch = 120
};

struct CUevent_st;
typedef CUevent_st *cudaEvent_t;

struct cudaDeviceProp {
	char name[256];
	size_t totalGlobalMem, sharedMemPerBlock, sharedMemPerBlockOptin, sharedMemPerMultiprocessor, totalConstMem, memPitch;
	int regsPerBlock, regsPerMultiprocessor, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], major, minor;
	int multiProcessorCount, maxThreadsPerMultiProcessor, maxBlocksPerMultiProcessor, l2CacheSize, memoryBusWidth, unifiedAddressing;
	int clockRate, memoryClockRate, concurrentKernels, integrated, canMapHostMemory, managedMemory, pciBusID, pciDeviceID;
	int deviceOverlap, asyncEngineCount, ECCEnabled, kernelExecTimeoutEnabled, computeMode, tccDriver, pciDomainID, cooperativeLaunch;
	int concurrentManagedAccess, pageableMemoryAccess, computePreemptionSupported, streamPrioritiesSupported, maxTexture1D, isMultiGpuBoard;
	size_t textureAlignment, surfaceAlignment, texturePitchAlignment;
	int persistingL2CacheMaxSize, accessPolicyMaxWindowSize, singleToDoublePrecisionPerfRatio, hostNativeAtomicSupported;
	int cooperativeMultiDeviceLaunch, pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, memoryPoolsSupported;
	int globalL1CacheSupported, localL1CacheSupported, canUseHostPointerForRegisteredMem, hostRegisterSupported;
	int maxTexture1DLinear, maxTexture2D[2], maxTexture3D[3], maxTexture1DLayered[2], maxTexture2DLayered[3], multiGpuBoardGroupID;
	size_t reservedSharedMemPerBlock;
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes, constSizeBytes, localSizeBytes;
	int maxThreadsPerBlock, numRegs, maxDynamicSharedSizeBytes;
};

#pragma GCC visibility push(default)
extern "C" {
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char *cudaGetErrorString(cudaError_t error);
const char *cudaGetErrorName(cudaError_t error);
cudaError_t cuemu_copy_memory(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, bool waits, const char *file, int line);
cudaError_t cuemu_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, bool waits,
                            const char *file, int line);
cudaError_t cuemu_fill_memory(void *to, int value, size_t bytes, const char *file, int line);
cudaError_t cuemu_no_symbol(const char *file, int line);   // the address of a variable stands where the variable itself should
cudaError_t cuemu_free_memory(void *p, const char *file, int line);
cudaError_t cuemu_free_host(void *p, const char *file, int line);
cudaError_t cuemu_spoil_capture();                         // what a stream that captures does not allow
cudaError_t cuemu_wait();                                  // the host waits for all that was asked for
cudaError_t cudaDeviceReset();
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int device);
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cuemu_malloc(void **p, size_t bytes, const char *file, int line);
cudaError_t cuemu_malloc_managed(void **p, size_t bytes, const char *file, int line);
cudaError_t cuemu_malloc_host(void **p, size_t bytes, const char *file, int line);
cudaError_t cuemu_set_function_attribute(cudaFuncAttribute attribute, int value);
}
#pragma GCC visibility pop

namespace cuemu {
void set_last_error(cudaError_t error);
size_t dynamic_shared_allowed(), dynamic_shared_asked();
unsigned cluster_allowed();                                // blocks of a cluster; 1: there are none
}  // namespace cuemu

template <class T> inline cudaError_t cudaMalloc(T **p, size_t bytes, CUEMU_HERE) {
	return cuemu_malloc(reinterpret_cast<void **>(p), bytes, file, line);
}
template <class T> inline cudaError_t cudaMallocAsync(T **p, size_t bytes, cudaStream_t, CUEMU_HERE) {
	return cuemu_malloc(reinterpret_cast<void **>(p), bytes, file, line);
}
template <class T> inline cudaError_t cudaMallocManaged(T **p, size_t bytes, unsigned = cudaMemAttachGlobal, CUEMU_HERE) {
	return cuemu_malloc_managed(reinterpret_cast<void **>(p), bytes, file, line);
}
template <class T> inline cudaError_t cudaMallocHost(T **p, size_t bytes, unsigned = 0, CUEMU_HERE) {
	return cuemu_malloc_host(reinterpret_cast<void **>(p), bytes, file, line);
}
template <class T> inline cudaError_t cudaHostAlloc(T **p, size_t bytes, unsigned, CUEMU_HERE) {
	return cuemu_malloc_host(reinterpret_cast<void **>(p), bytes, file, line);
}
template <class T> inline cudaError_t cudaMallocPitch(T **p, size_t *pitch, size_t width, size_t height, CUEMU_HERE) {
	*pitch = (width + 511) / 512 * 512;
	return cuemu_malloc(reinterpret_cast<void **>(p), *pitch * height, file, line);
}
inline cudaError_t cudaFree(void *p, CUEMU_HERE) { return cuemu_free_memory(p, file, line); }
inline cudaError_t cudaFreeHost(void *p, CUEMU_HERE) { return cuemu_free_host(p, file, line); }
inline cudaError_t cudaFreeAsync(void *p, cudaStream_t, CUEMU_HERE) { return cuemu_free_memory(p, file, line); }
inline cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, CUEMU_HERE) {
	return cuemu_copy_memory(to, from, bytes, kind, true, file, line);
}
inline cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu_copy_memory(to, from, bytes, kind, false, file, line);
}
inline cudaError_t cudaMemset(void *to, int value, size_t bytes, CUEMU_HERE) { return cuemu_fill_memory(to, value, bytes, file, line); }
inline cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu_fill_memory(to, value, bytes, file, line);
}
inline cudaError_t cudaMemset2D(void *to, size_t pitch, int value, size_t width, size_t height, CUEMU_HERE) {
	for (size_t row = 0; row < height; row++)
		if (cudaError_t error = cuemu_fill_memory(static_cast<char *>(to) + row * pitch, value, width, file, line)) return error;
	return cudaSuccess;
}
namespace cuemu {
inline cudaError_t copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind, bool waits,
                             const char *file, int line) {
	if (width > to_pitch || width > from_pitch) return set_last_error(cudaErrorInvalidValue), cudaErrorInvalidValue;
	return cuemu_copy_rows(to, to_pitch, from, from_pitch, width, height, kind, waits, file, line);
}
}  // namespace cuemu
inline cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                CUEMU_HERE) {
	return cuemu::copy_rows(to, to_pitch, from, from_pitch, width, height, kind, true, file, line);
}
inline cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu::copy_rows(to, to_pitch, from, from_pitch, width, height, kind, false, file, line);
}
namespace cuemu {
template <class T> inline char *start_of(const T &symbol) { return reinterpret_cast<char *>(&const_cast<std::remove_cv_t<T> &>(symbol)); }
}  // namespace cuemu
template <class T> inline cudaError_t cudaMemcpyToSymbol(const T &symbol, const void *from, size_t bytes, size_t offset = 0,
                                                         cudaMemcpyKind kind = cudaMemcpyHostToDevice, CUEMU_HERE) {
	return cuemu_copy_memory(cuemu::start_of(symbol) + offset, from, bytes, kind, true, file, line);
}
// An address that is made for the call is none of a variable: nvcc takes it, and the call fails.
template <class P, std::enable_if_t<std::is_pointer_v<P>, int> = 0>
inline cudaError_t cudaMemcpyToSymbol(P &&, const void *, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyHostToDevice, CUEMU_HERE) {
	return cuemu_no_symbol(file, line);
}
template <class P, std::enable_if_t<std::is_pointer_v<P>, int> = 0>
inline cudaError_t cudaMemcpyFromSymbol(void *, P &&, size_t, size_t = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost, CUEMU_HERE) {
	return cuemu_no_symbol(file, line);
}
template <class T> inline cudaError_t cudaMemcpyFromSymbol(void *to, const T &symbol, size_t bytes, size_t offset = 0,
                                                           cudaMemcpyKind kind = cudaMemcpyDeviceToHost, CUEMU_HERE) {
	return cuemu_copy_memory(to, cuemu::start_of(symbol) + offset, bytes, kind, true, file, line);
}
template <class T> inline cudaError_t cudaGetSymbolAddress(void **p, const T &symbol) {
	*p = cuemu::start_of(symbol);
	return cudaSuccess;
}

inline cudaError_t cudaDeviceSynchronize() { return cuemu_wait(); }
inline cudaError_t cudaThreadSynchronize() { return cuemu_wait(); }
inline cudaError_t cudaGetDevice(int *device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }
inline cudaError_t cudaGetDeviceCount(int *count) { return *count = 1, cudaSuccess; }
inline cudaError_t cudaRuntimeGetVersion(int *version) { return *version = 13000, cudaSuccess; }
inline cudaError_t cudaDriverGetVersion(int *version) { return *version = 13000, cudaSuccess; }

inline cudaError_t cudaStreamCreate(cudaStream_t *stream) { return *stream = nullptr, cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) { return *stream = nullptr, cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cuemu_wait(); }
inline cudaError_t cudaStreamQuery(cudaStream_t) { return cuemu_wait(); }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t *event) { return *event = nullptr, cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned) { return *event = nullptr, cudaSuccess; }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaEventRecordWithFlags(cudaEvent_t, cudaStream_t = nullptr, unsigned = cudaEventRecordDefault) { return cudaSuccess; }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cuemu_wait(); }
inline cudaError_t cudaEventQuery(cudaEvent_t) { return cuemu_wait(); }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, int, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaMemPrefetchAsync(const void *, size_t, cudaMemLocation, unsigned, cudaStream_t = nullptr) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void *, size_t, int, int) { return cudaSuccess; }
inline cudaError_t cudaMemAdvise(const void *, size_t, int, cudaMemLocation) { return cudaSuccess; }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
// An emulated device has no time: programs that check the error go on, and what they print is not shown as a time.
inline cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t, cudaEvent_t) { return *milliseconds = 1, cudaSuccess; }

template <class Kernel> inline cudaError_t cudaFuncSetAttribute(Kernel *, cudaFuncAttribute attribute, int value) {
	return cuemu_set_function_attribute(attribute, value);
}
template <class Kernel> inline cudaError_t cudaFuncSetCacheConfig(Kernel *, cudaFuncCache) { return cudaSuccess; }
template <class Kernel> inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, Kernel *) {
	*attributes = {0, 0, 0, 1024, 32, static_cast<int>(cuemu::dynamic_shared_allowed())};
	return cudaSuccess;
}
template <class Kernel> inline cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Kernel *, int threads, size_t) {
	*blocks = threads > 64 ? 2048 / threads : threads > 0 ? 32 : 0;
	return cudaSuccess;
}

template <class Kernel> inline cudaError_t cudaOccupancyMaxPotentialBlockSize(int *grid, int *block, Kernel *, size_t = 0, int limit = 0) {
	*block = limit > 0 && limit < 256 ? limit : 256;
	*grid = 4 * 2048 / *block;
	return cudaSuccess;
}

namespace cuemu {
// absent is what functions of libraries do that are not emulated: the call fails, and says which it was.
inline int absent(const char *name) {
	fprintf(stderr, "the emulator does not have %s\n", name);
	set_last_error(cudaErrorNotSupported);
	return cudaErrorNotSupported;
}
// The status that such a function returns. A main() that is observed goes on, to launches of its own.
template <class Status> inline Status absent(const char *name, Status failed) {
#ifdef CUEMU_OBSERVED
	return Status(0);
#else
	return absent(name), failed;
#endif
}
}  // namespace cuemu

// cudaLaunchKernelEx knows two attributes, the size of clusters and the cooperative launch. What a cache shall keep, and in which order work
// shall begin, changes no result; a launch with any other attribute is refused.
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore = 0, cudaLaunchAttributeAccessPolicyWindow = 1, cudaLaunchAttributeCooperative = 2,
	cudaLaunchAttributeSynchronizationPolicy = 3, cudaLaunchAttributeClusterDimension = 4, cudaLaunchAttributeProgrammaticStreamSerialization = 6,
	cudaLaunchAttributePriority = 8 };
enum cudaAccessProperty { cudaAccessPropertyNormal, cudaAccessPropertyStreaming, cudaAccessPropertyPersisting };
enum cudaSynchronizationPolicy { cudaSyncPolicyAuto = 1, cudaSyncPolicySpin, cudaSyncPolicyYield, cudaSyncPolicyBlockingSync };
struct cudaAccessPolicyWindow {
	void *base_ptr;
	size_t num_bytes;
	float hitRatio;
	cudaAccessProperty hitProp, missProp;
};
union cudaLaunchAttributeValue {
	char pad[64];
	cudaAccessPolicyWindow accessPolicyWindow;
	cudaSynchronizationPolicy syncPolicy;
	int priority;
	struct { unsigned x, y, z; } clusterDim;
	int programmaticStreamSerializationAllowed;
	int cooperative;
};
struct cudaLaunchAttribute {
	cudaLaunchAttributeID id;
	cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
	dim3 gridDim, blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	cudaLaunchAttribute *attrs;
	unsigned numAttrs;
};

namespace cuemu {
// LaunchAt is a configuration and where it is launched.
struct LaunchAt {
	const cudaLaunchConfig_t &config;
	const char *file;
	int line;
	LaunchAt(const cudaLaunchConfig_t *c, CUEMU_HERE) : config(*c), file(file), line(line) {}
};
}  // namespace cuemu

template <class... Params, class... Args>
inline cudaError_t cudaLaunchKernelEx(cuemu::LaunchAt at, void (*kernel)(Params...), Args &&...args) {
	const cudaLaunchConfig_t &c = at.config;
	cuemu::Configuration launch = cuemu::cuemu_launch(c.gridDim, c.blockDim, c.dynamicSmemBytes, c.stream, at.file, at.line);
	for (unsigned i = 0; i < c.numAttrs; i++) {
		if (c.attrs[i].id == cudaLaunchAttributeIgnore || c.attrs[i].id == cudaLaunchAttributeAccessPolicyWindow ||
		    c.attrs[i].id == cudaLaunchAttributePriority)
			continue;
		if (c.attrs[i].id == cudaLaunchAttributeCooperative) {
			launch.job.cooperative = c.attrs[i].val.cooperative != 0;
			continue;
		}
		if (c.attrs[i].id != cudaLaunchAttributeClusterDimension) return cudaErrorNotSupported;
		launch.job.cluster = dim3(c.attrs[i].val.clusterDim.x, c.attrs[i].val.clusterDim.y, c.attrs[i].val.clusterDim.z);
	}
	(launch->*[=](auto... a) CUEMU_PLAIN { kernel(cuemu::cuemu_argument(a)...), cuemu::end_thread(a...); })(static_cast<Params>(std::forward<Args>(args))...);
	return cudaGetLastError();
}

// CUDA_LAUNCH(kernel, grid, block, shared bytes, stream, arguments...) is a launch in a form that other macros cannot hide. A kernel with
// commas in its template arguments goes into parentheses.
#define CUDA_LAUNCH(kernel, grid, block, shared_bytes, stream, ...) \
	(::cuemu::cuemu_launch(grid, block, shared_bytes, stream).cuemu_kernel(#kernel)->*[=](auto... cuemu_a) { \
		(kernel)(::cuemu::cuemu_argument(cuemu_a)...), ::cuemu::end_thread(cuemu_a...); \
	})(__VA_ARGS__)

#endif
