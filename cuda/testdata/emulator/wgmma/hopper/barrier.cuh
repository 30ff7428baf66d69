// Of barriers, the model needs no more than this: its products see every store.
#ifndef TRIAD_HOPPER_BARRIER_CUH
#define TRIAD_HOPPER_BARRIER_CUH
#include "hopper/shared_address.cuh"

namespace triad::hopper {
inline void fence_stores() {}
} // namespace triad::hopper
#endif
