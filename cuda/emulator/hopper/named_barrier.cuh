// Stands in for cuda/include/hopper/named_barrier.cuh: named barriers of the emulator (async_barriers.cc).
#ifndef TRIAD_HOPPER_NAMED_BARRIER_CUH
#define TRIAD_HOPPER_NAMED_BARRIER_CUH
#include "cuemu/async.h"

namespace triad {
namespace hopper {

inline void named_arrive(int number, int threads, CUEMU_HERE) { cuemu_named_barrier(number, threads, 0, file, line); }
inline void named_sync(int number, int threads, CUEMU_HERE) { cuemu_named_barrier(number, threads, 1, file, line); }

} // namespace hopper
} // namespace triad
#endif
