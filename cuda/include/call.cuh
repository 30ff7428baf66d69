// call.cuh: what every launch function of a kernel file uses: the status of its launches, the stream of the call, the device; and dtypes as bits.
#ifndef TRIAD_CALL_CUH
#define TRIAD_CALL_CUH
#include <cuda_runtime.h>

#include "abi.h"

namespace triad {

constexpr uint32_t bit(int index) { return uint32_t{1} << index; }
constexpr uint32_t halves = bit(TRIAD_F16) | bit(TRIAD_BF16), floats = bit(TRIAD_F32) | halves;

// launched is the status of the launches just made: 0, or CUDA's error code.
inline int launched() { return static_cast<int>(cudaGetLastError()); }

// cleared is a status, of whose error the runtime is told to forget: it keeps what a refused request returned, and launched would report it for
// the next launch, which is another kernel's.
inline int cleared(int status) {
	if (status != TRIAD_OK) cudaGetLastError();
	return status;
}

// device_attribute is what the current device has of something; 0 where it cannot be read.
inline int device_attribute(cudaDeviceAttr what) {
	int device = 0, value = 0;
	return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&value, what, device) == cudaSuccess ? value : 0;
}

inline cudaStream_t stream_of(const triad_call *call) { return static_cast<cudaStream_t>(call->stream); }

} // namespace triad
#endif
