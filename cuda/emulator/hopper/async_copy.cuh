// Stands in for cuda/include/hopper/async_copy.cuh: cp.async of the emulator (async_copies.cc).
#ifndef TRIAD_HOPPER_ASYNC_COPY_CUH
#define TRIAD_HOPPER_ASYNC_COPY_CUH
#include "cuemu/async.h"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

struct AsyncCopies {
	AsyncCopies() = default;
	AsyncCopies(const AsyncCopies &) = delete;
	AsyncCopies &operator=(const AsyncCopies &) = delete;
	~AsyncCopies() { cuemu_copy_end(); }
	void copy16(SharedAddress to, const void *from, bool valid, CUEMU_HERE) {
		cuemu_copy_async(pointer_to(to), from, 16, valid ? 16 : 0, file, line);
	}
	void copy4(SharedAddress to, const void *from, bool valid, CUEMU_HERE) {
		cuemu_copy_async(pointer_to(to), from, 4, valid ? 4 : 0, file, line);
	}
	void commit() { cuemu_copy_commit(); }
	template <int Pending> void wait(CUEMU_HERE) { cuemu_copy_wait(Pending, file, line); }
};

} // namespace hopper
} // namespace triad
#endif
