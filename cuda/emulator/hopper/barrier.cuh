// Stands in for cuda/include/hopper/barrier.cuh: mbarriers and fences of the emulator (async_barriers.cc, async.cc).
#ifndef TRIAD_HOPPER_BARRIER_CUH
#define TRIAD_HOPPER_BARRIER_CUH
#include <cstring>

#include "cuemu/async.h"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

inline void barrier_init(SharedAddress barrier, uint32_t arrivals, CUEMU_HERE) {
	cuemu_mbarrier_init(pointer_to(barrier), arrivals, file, line);
}
inline void fence_init() { cuemu_mbarrier_fence(); }
inline void barrier_arrive(SharedAddress barrier, CUEMU_HERE) { cuemu_mbarrier_arrive(pointer_to(barrier), 0, file, line); }
inline void barrier_arrive_expecting(SharedAddress barrier, uint32_t bytes, CUEMU_HERE) {
	cuemu_mbarrier_arrive(pointer_to(barrier), bytes, file, line);
}
inline void barrier_arrive_at(SharedAddress barrier, uint32_t rank, CUEMU_HERE) {
	cuemu_mbarrier_arrive_at(pointer_to(barrier), rank, file, line);
}
inline void barrier_wait(SharedAddress barrier, uint32_t parity, CUEMU_HERE) {
	cuemu_mbarrier_wait(pointer_to(barrier), parity, file, line);
}
inline void fence_stores() { cuemu_proxy_fence(); }
inline void store_shared(SharedAddress address, const uint32_t (&words)[4]) {
	struct alignas(16) Sixteen {
		uint32_t word[4];
	};
	*static_cast<Sixteen *>(pointer_to(address)) = {{words[0], words[1], words[2], words[3]}};
}

constexpr bool setmaxnreg_takes(int registers) { return registers % 8 == 0 && registers >= 24 && registers <= 256; }
template <int Registers> inline void give_registers(CUEMU_HERE) {
	static_assert(setmaxnreg_takes(Registers), "what setmaxnreg takes");
	cuemu_registers(Registers, 0, file, line);
}
template <int Registers> inline void take_registers(CUEMU_HERE) {
	static_assert(setmaxnreg_takes(Registers), "what setmaxnreg takes");
	cuemu_registers(Registers, 1, file, line);
}

} // namespace hopper
} // namespace triad
#endif
