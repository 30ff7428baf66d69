// Stands in for cuda/include/hopper/shared_address.cuh: a place in shared memory is a 32-bit number, as on a GPU, for descriptors hold such
// numbers. Dynamic shared memory begins past a multiple of 1024, as it may on a device.
#ifndef TRIAD_HOPPER_SHARED_ADDRESS_CUH
#define TRIAD_HOPPER_SHARED_ADDRESS_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad {
namespace hopper {

using SharedAddress = uint32_t;
constexpr uint32_t dynamic_begins = 2048 + 16;
inline SharedAddress shared_address(const void *p) {
	return static_cast<uint32_t>(static_cast<const char *>(p) - static_cast<const char *>(cuemu::dynsmem())) + dynamic_begins;
}
inline void *pointer_to(SharedAddress a) { return static_cast<char *>(cuemu::dynsmem()) + static_cast<int32_t>(a - dynamic_begins); }

} // namespace hopper
} // namespace triad
#endif
