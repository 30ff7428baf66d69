// A model of Hopper's shared memory: addresses are 32-bit numbers, as descriptors need them. Dynamic shared memory begins past a multiple of
// 1024, as it may on a device.
#ifndef TRIAD_HOPPER_SHARED_ADDRESS_CUH
#define TRIAD_HOPPER_SHARED_ADDRESS_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad::hopper {

using SharedAddress = uint32_t;
constexpr uint32_t dynamic_begins = 2048 + 16;
inline SharedAddress shared_address(const void *p) {
	return static_cast<uint32_t>(static_cast<const char *>(p) - static_cast<const char *>(cuemu::dynsmem())) + dynamic_begins;
}
inline void *pointer_to(SharedAddress a) { return static_cast<char *>(cuemu::dynsmem()) + (static_cast<int64_t>(a) - dynamic_begins); }

} // namespace triad::hopper
#endif
