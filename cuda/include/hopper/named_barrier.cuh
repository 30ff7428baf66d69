// named_barrier.cuh: barriers of some of a block's warps. A barrier has a number, 1 to 15 (0 is __syncthreads), and ends when so many threads,
// a multiple of 32, have come: by sync, which waits for the others, or by arrive, which does not. Then it begins anew.
// Source   PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: bar"
#ifndef TRIAD_HOPPER_NAMED_BARRIER_CUH
#define TRIAD_HOPPER_NAMED_BARRIER_CUH

namespace triad::hopper {

__device__ inline void named_sync(int number, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory"); }
__device__ inline void named_arrive(int number, int threads) { asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory"); }

} // namespace triad::hopper
#endif
