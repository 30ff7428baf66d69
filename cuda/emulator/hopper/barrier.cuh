// Stands in for cuda/include/hopper/barrier.cuh. A barrier is a word in shared memory: the parity of the phase that runs, the arrivals of a
// phase and those still missing, and the bytes still to come. Found here: a barrier that was not initialised, more arrivals than a phase has,
// more bytes than were expected. A thread that waits lets the others run; if only bytes are missing, it has the copies made.
#ifndef TRIAD_HOPPER_BARRIER_CUH
#define TRIAD_HOPPER_BARRIER_CUH
#include "hopper/copies.cuh"
#include "hopper/shared_address.cuh"

namespace triad {
namespace hopper {

// BarrierWord: 7 bits that show it was initialised, 1 parity, 12 arrivals of a phase, 12 missing, 32 bytes to come.
struct BarrierWord {
	static constexpr uint64_t made = 0x5A;
	uint32_t parity, arrivals, missing, bytes;

	static uint64_t *at(SharedAddress barrier) {
		if (barrier % 8 != 0) __trap(); // a barrier is aligned to 8 bytes
		return static_cast<uint64_t *>(pointer_to(barrier));
	}
	static BarrierWord read(SharedAddress barrier) {
		const uint64_t w = __atomic_load_n(at(barrier), __ATOMIC_ACQUIRE);
		if (w >> 57 != made) __trap(); // not initialised, or written over
		return {static_cast<uint32_t>(w >> 56 & 1), static_cast<uint32_t>(w >> 44 & 0xfff), static_cast<uint32_t>(w >> 32 & 0xfff), static_cast<uint32_t>(w)};
	}
	void write(SharedAddress barrier) {
		if (missing == 0 && bytes == 0) parity ^= 1, missing = arrivals;
		const uint64_t word = made << 57 | static_cast<uint64_t>(parity) << 56 | static_cast<uint64_t>(arrivals) << 44 | static_cast<uint64_t>(missing) << 32 | bytes;
		__atomic_exchange_n(at(barrier), word, __ATOMIC_RELEASE);
	}
};

inline void barrier_init(SharedAddress barrier, uint32_t arrivals) {
	if (arrivals == 0 || arrivals > 0xfff) __trap();
	BarrierWord{0, arrivals, arrivals, 0}.write(barrier);
}
inline void fence_init() {}

inline void arrive_with(SharedAddress barrier, uint32_t bytes) {
	BarrierWord w = BarrierWord::read(barrier);
	if (w.missing == 0) __trap(); // more arrivals than a phase has: its bytes have not come
	w.bytes += bytes;
	w.missing--;
	w.write(barrier);
}
inline void barrier_arrive(SharedAddress barrier) { arrive_with(barrier, 0); }
inline void barrier_arrive_expecting(SharedAddress barrier, uint32_t bytes) { arrive_with(barrier, bytes); }

// bytes_came: a copy has been made.
inline void bytes_came(SharedAddress barrier, uint32_t bytes) {
	BarrierWord w = BarrierWord::read(barrier);
	if (w.bytes < bytes) __trap(); // more than was expected; the model wants them expected first
	w.bytes -= bytes;
	w.write(barrier);
}

inline void barrier_wait(SharedAddress barrier, uint32_t parity) {
	while (BarrierWord::read(barrier).parity == parity) {
		uint32_t bytes = 0;
		if (BarrierWord::read(barrier).missing == 0) bytes = cuemu::copies().make_one_for(barrier, pointer_to);
		if (bytes > 0) bytes_came(barrier, bytes);
		else cuemu_yield();
	}
}

inline void fence_stores() {}

template <int Registers> inline void give_registers() { static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256, "what setmaxnreg takes"); }
template <int Registers> inline void take_registers() { static_assert(Registers % 8 == 0 && Registers >= 24 && Registers <= 256, "what setmaxnreg takes"); }

} // namespace hopper
} // namespace triad
#endif
