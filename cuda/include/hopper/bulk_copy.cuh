// bulk_copy.cuh: bytes in a row that the copy engine moves between global and shared memory: copies that report to an mbarrier, and additions to fp32
// sums in global memory, which the issuing thread waits for.
//
//   fence_stores(), by every thread that stored what is to be added; then a barrier
//   add_to_sums(to, from, bytes);      // one thread, once or more
//   sums_commit();                     // these are a group
//   sums_wait_read<0>();               // the shared memory of all groups has been read; a barrier, and it may be written again
//
// Each fp32 is added in one piece, in any order with the additions of others. They are done when the kernel is.
// Source   PTX ISA 9.0, "cp.async.bulk", "cp.reduce.async.bulk", "cp.async.bulk.wait_group"
#ifndef TRIAD_HOPPER_BULK_COPY_CUH
#define TRIAD_HOPPER_BULK_COPY_CUH
#include <cuda_runtime.h>

#include <cstdint>

namespace triad::hopper {

// copy_bytes copies so many bytes to a shared-memory address and reports them to a barrier. All are multiples of 16.
__device__ inline void copy_bytes(uint32_t to, const void *from, uint32_t bytes, uint32_t barrier) {
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to), "l"(from), "r"(bytes), "r"(barrier)
	             : "memory");
}

// add_to_sums starts to[i] += from[i] of bytes / 4 fp32 at a shared-memory address. All are multiples of 16.
__device__ inline void add_to_sums(float *to, uint32_t from, uint32_t bytes) {
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes) : "memory");
}

__device__ inline void sums_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// sums_wait_read: of all but the Pending youngest groups the shared memory has been read.
template <int Pending> __device__ inline void sums_wait_read() { asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory"); }

} // namespace triad::hopper
#endif
