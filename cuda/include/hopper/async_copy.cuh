// async_copy.cuh: copies from global to shared memory that run beside the thread that asked for them (cp.async, sm_80 and newer; on older GPUs
// the thread copies at once, which any code that waits as it must allows).
//
//   AsyncCopies copies;
//   copies.copy16(to, from, valid);     // once or more
//   copies.commit();                    // these are a group
//   copies.wait<1>();                   // all groups but the youngest one have arrived, for this thread
//   __syncthreads();                    // ... and for the block
//
// Until the wait the destination belongs to the copy. A wait is for groups: what was not committed may arrive after it, over what was written
// there since. The emulator has a file of its own for this, and reports what breaks these rules.
#ifndef TRIAD_HOPPER_ASYNC_COPY_CUH
#define TRIAD_HOPPER_ASYNC_COPY_CUH
#include <cuda_runtime.h>

#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
struct AsyncCopies {
	__device__ void copy16(SharedAddress to, const void *from, bool valid) { copy<uint4>(to, from, valid); }
	__device__ void copy4(SharedAddress to, const void *from, bool valid) { copy<uint32_t>(to, from, valid); }
	__device__ void commit() {}
	template <int Pending> __device__ void wait() {}

private:
	template <class Word> __device__ void copy(SharedAddress to, const void *from, bool valid) {
		*static_cast<Word *>(__cvta_shared_to_generic(to)) = valid ? *static_cast<const Word *>(from) : Word{};
	}
};
#else
struct AsyncCopies {
	// copy16 copies 16 aligned bytes, past the first-level cache; where the source is not valid it is not read, and zeros are written.
	__device__ void copy16(SharedAddress to, const void *from, bool valid) {
		asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid ? 16 : 0) : "memory");
	}
	__device__ void copy4(SharedAddress to, const void *from, bool valid) {
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid ? 4 : 0) : "memory");
	}
	__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
	template <int Pending> __device__ void wait() { asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory"); }
};
#endif

} // namespace hopper
} // namespace triad
#endif
