// shared_address.cuh: where something lies in shared memory, as the instructions of this folder take it: a 32-bit number on a GPU, which
// saves registers; the pointer itself in the emulator. Both can be moved by a number of bytes.
#ifndef TRIAD_HOPPER_SHARED_ADDRESS_CUH
#define TRIAD_HOPPER_SHARED_ADDRESS_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad {
namespace hopper {

#ifdef __CUEMU__
using SharedAddress = unsigned char *;
inline SharedAddress shared_address(void *p) { return static_cast<unsigned char *>(p); }
inline void *pointer_to(SharedAddress a) { return a; } // for the emulated instructions
#else
using SharedAddress = uint32_t;
__device__ inline SharedAddress shared_address(void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
#endif

} // namespace hopper
} // namespace triad
#endif
