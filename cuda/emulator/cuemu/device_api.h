// The part of CUDA's runtime API that asks about pointers and devices, and memory of the host that a program registers.
#ifndef CUEMU_DEVICE_API_H
#define CUEMU_DEVICE_API_H

#include "cuemu/program_api.h"

enum cudaMemoryType { cudaMemoryTypeUnregistered, cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged };
struct cudaPointerAttributes {
	cudaMemoryType type;
	int device;
	void *devicePointer, *hostPointer;
};
enum cudaDeviceP2PAttr {
	cudaDevP2PAttrPerformanceRank = 1, cudaDevP2PAttrAccessSupported, cudaDevP2PAttrNativeAtomicSupported, cudaDevP2PAttrCudaArrayAccessSupported
};

#pragma GCC visibility push(default)
extern "C" {
int cuemu_memory_type(const void *p);                      // a cudaMemoryType
cudaError_t cuemu_register_host(void *p, size_t bytes, const char *file, int line);
cudaError_t cuemu_unregister_host(void *p, const char *file, int line);
}
#pragma GCC visibility pop

inline cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p) {
	const cudaMemoryType type = static_cast<cudaMemoryType>(cuemu_memory_type(p));
	void *at = const_cast<void *>(p);
	*attributes = {type, type == cudaMemoryTypeUnregistered ? -1 : 0, type == cudaMemoryTypeUnregistered ? nullptr : at,
	               type == cudaMemoryTypeDevice ? nullptr : at};
	return cudaSuccess;
}
inline cudaError_t cudaHostRegister(void *p, size_t bytes, unsigned, CUEMU_HERE) { return cuemu_register_host(p, bytes, file, line); }
inline cudaError_t cudaHostUnregister(void *p, CUEMU_HERE) { return cuemu_unregister_host(p, file, line); }

template <class T> inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, T *, size_t = 0, unsigned = cudaMemAttachSingle) { return cudaSuccess; }
inline cudaError_t cudaStreamAttachMemAsync(cudaStream_t, std::nullptr_t, size_t = 0, unsigned = cudaMemAttachSingle) { return cudaSuccess; }
inline cudaError_t cudaDeviceDisablePeerAccess(int) { return cudaErrorPeerAccessNotEnabled; }
inline cudaError_t cudaDeviceGetP2PAttribute(int *value, cudaDeviceP2PAttr, int, int) { return *value = 0, cudaSuccess; }
inline cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig *config) { return *config = cudaSharedMemBankSizeFourByte, cudaSuccess; }
inline cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache *config) { return *config = cudaFuncCachePreferNone, cudaSuccess; }
inline cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

// What a stream is told of caches and of waiting is kept for the program to read, of all streams together: they are one.
typedef cudaLaunchAttributeID cudaStreamAttrID;
typedef cudaLaunchAttributeValue cudaStreamAttrValue;
#define cudaStreamAttributeAccessPolicyWindow cudaLaunchAttributeAccessPolicyWindow
#define cudaStreamAttributeSynchronizationPolicy cudaLaunchAttributeSynchronizationPolicy
#define cudaStreamAttributePriority cudaLaunchAttributePriority
namespace cuemu {
inline cudaStreamAttrValue *stream_attribute(cudaStreamAttrID id) {
	static cudaStreamAttrValue values[cudaLaunchAttributePriority + 1] = {};
	const bool known = id == cudaStreamAttributeAccessPolicyWindow || id == cudaStreamAttributeSynchronizationPolicy || id == cudaStreamAttributePriority;
	if (!known) set_last_error(cudaErrorInvalidValue);
	return known ? &values[id] : nullptr;
}
}  // namespace cuemu
inline cudaError_t cudaStreamSetAttribute(cudaStream_t, cudaStreamAttrID id, const cudaStreamAttrValue *value) {
	cudaStreamAttrValue *kept = cuemu::stream_attribute(id);
	return kept ? (*kept = *value, cudaSuccess) : cudaErrorInvalidValue;
}
inline cudaError_t cudaStreamGetAttribute(cudaStream_t, cudaStreamAttrID id, cudaStreamAttrValue *value) {
	const cudaStreamAttrValue *kept = cuemu::stream_attribute(id);
	return kept ? (*value = *kept, cudaSuccess) : cudaErrorInvalidValue;
}
inline cudaError_t cudaStreamCopyAttributes(cudaStream_t, cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamGetPriority(cudaStream_t, int *priority) { return *priority = 0, cudaSuccess; }
inline cudaError_t cudaStreamGetFlags(cudaStream_t, unsigned *flags) { return *flags = cudaStreamDefault, cudaSuccess; }
template <class Kernel, class Bytes>
inline cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(int *grid, int *block, Kernel *kernel, Bytes, int limit = 0) {
	return cudaOccupancyMaxPotentialBlockSize(grid, block, kernel, 0, limit);
}

#endif
