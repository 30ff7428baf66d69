// Stands in for cuda/include/hopper/shared_address.cuh: a place in shared memory is a number as the emulator's PTX has it.
#ifndef TRIAD_HOPPER_SHARED_ADDRESS_CUH
#define TRIAD_HOPPER_SHARED_ADDRESS_CUH
#include <cuda_runtime.h>

#include <cstdint>

#include "cuemu/shared_address.h"

namespace triad {
namespace hopper {

using cuemu::SharedAddress;
using cuemu::dynamic_begins;
using cuemu::pointer_to;
using cuemu::shared_address;

} // namespace hopper
} // namespace triad
#endif
