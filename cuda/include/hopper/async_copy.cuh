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
// there since. The emulator copies as late as it may, at the wait, and fills the destination with ones (NaN) when the copy is asked for: a
// missing wait, a missing barrier and a destination that is still being read all show. It traps where a copy is never waited for.
#ifndef TRIAD_HOPPER_ASYNC_COPY_CUH
#define TRIAD_HOPPER_ASYNC_COPY_CUH
#include <cuda_runtime.h>

#include <cstring>

#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

#ifdef __CUEMU__
class AsyncCopies {
public:
	AsyncCopies() = default;
	AsyncCopies(const AsyncCopies &) = delete;
	AsyncCopies &operator=(const AsyncCopies &) = delete;
	~AsyncCopies() {
		if (count > 0) __trap(); // a copy that no wait covers: commit it, and wait for it
	}
	void copy16(SharedAddress to, const void *from, bool valid) { add(to, from, valid, 16); }
	void copy4(SharedAddress to, const void *from, bool valid) { add(to, from, valid, 4); }
	void commit() { groups++; }
	template <int Pending> void wait() {
		int done = 0;
		for (; done < count && list[done].group < groups - Pending; done++) {
			const Copy &c = list[done];
			if (c.valid) memcpy(pointer_to(c.to), __builtin_assume_aligned(c.from, 4), static_cast<size_t>(c.bytes));
			else memset(pointer_to(c.to), 0, static_cast<size_t>(c.bytes));
		}
		for (int i = done; i < count; i++) list[i - done] = list[i];
		count -= done;
	}

private:
	static constexpr int most = 160;
	struct Copy {
		SharedAddress to;
		const void *from;
		int group, bytes;
		bool valid;
	};
	void add(SharedAddress to, const void *from, bool valid, int bytes) {
		const bool aligned = reinterpret_cast<uintptr_t>(pointer_to(to)) % static_cast<unsigned>(bytes) == 0 &&
		                     (!valid || reinterpret_cast<uintptr_t>(from) % static_cast<unsigned>(bytes) == 0);
		if (!aligned || count == most) __trap();
		memset(pointer_to(to), 0xff, static_cast<size_t>(bytes));
		list[count++] = {to, from, groups, bytes, valid};
	}
	Copy list[most];
	int count = 0, groups = 0;
};
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
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
