// A place in shared memory as a number of 32 bits, as on a GPU: descriptors and PTX hold such numbers. Dynamic shared memory begins past a
// multiple of 1024, as it may on a device.
#ifndef CUEMU_SHARED_ADDRESS_H
#define CUEMU_SHARED_ADDRESS_H

#include <cstdint>

#include "cuemu/execution.h"

namespace cuemu {

using SharedAddress = uint32_t;
constexpr uint32_t dynamic_begins = 2048 + 16;
inline SharedAddress shared_address(const void *p) {
	return static_cast<uint32_t>(static_cast<const char *>(p) - static_cast<const char *>(dynsmem())) + dynamic_begins;
}
inline void *pointer_to(SharedAddress a) { return static_cast<char *>(dynsmem()) + static_cast<int32_t>(a - dynamic_begins); }

}  // namespace cuemu

#endif
