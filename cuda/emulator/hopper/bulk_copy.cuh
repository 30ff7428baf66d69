// Stands in for cuda/include/hopper/bulk_copy.cuh: bytes in a row to and from shared memory (async_copies.cc, async_sums.cc).
#ifndef TRIAD_HOPPER_BULK_COPY_CUH
#define TRIAD_HOPPER_BULK_COPY_CUH
#include "cuemu/async.h"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

inline void copy_bytes(SharedAddress to, const void *from, uint32_t bytes, SharedAddress barrier, CUEMU_HERE) {
	cuemu_copy_bytes(pointer_to(to), from, bytes, pointer_to(barrier), file, line);
}
inline void add_to_sums(float *to, SharedAddress from, uint32_t bytes, CUEMU_HERE) {
	cuemu_sums_add(to, static_cast<const float *>(pointer_to(from)), bytes, file, line);
}
inline void sums_commit() { cuemu_sums_commit(); }
template <int Pending> inline void sums_wait_read(CUEMU_HERE) { cuemu_sums_wait(Pending, file, line); }

} // namespace hopper
} // namespace triad
#endif
