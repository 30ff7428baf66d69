// shared_address.cuh: where something lies in shared memory, as the instructions of this folder take it: a 32-bit number, which can be moved by a
// number of bytes. The emulator has its own file of this name.
#ifndef TRIAD_HOPPER_SHARED_ADDRESS_CUH
#define TRIAD_HOPPER_SHARED_ADDRESS_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad {
namespace hopper {

using SharedAddress = uint32_t;
__device__ inline SharedAddress shared_address(void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

} // namespace hopper
} // namespace triad
#endif
