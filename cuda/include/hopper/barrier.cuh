// barrier.cuh: mbarriers in shared memory, the fence between ordinary stores and the tensor core's reads, and registers handed over between
// warpgroups. A barrier is named by its shared-memory address. Parity: the first phase ends with parity 0, the next with 1, and so on;
// waiting for parity 1 of a new barrier returns at once.
// Source   PTX ISA 9.0, "Parallel Synchronization and Communication Instructions: mbarrier", "membar/fence", "setmaxnreg"
#ifndef TRIAD_HOPPER_BARRIER_CUH
#define TRIAD_HOPPER_BARRIER_CUH
#include "hopper/shared_address.cuh"

namespace triad::hopper {

// init: a phase ends after so many arrivals (and all bytes that were expected). One thread does it, and then calls fence_init.
__device__ inline void barrier_init(uint32_t barrier, uint32_t arrivals) {
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// fence_init makes initialised barriers known to copies. A block barrier must follow.
__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void barrier_arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory"); }

// arrives, and the phase lasts until so many bytes more were copied.
__device__ inline void barrier_arrive_expecting(uint32_t barrier, uint32_t bytes) {
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// arrives at the barrier that lies at the same place in another block of the cluster, or in this one. What this thread stored is released to its own
// block alone: with `.release.cluster` ptxas writes MEMBAR.ALL.GPU, and what products have read needs no such thing.
__device__ inline void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
	asm volatile("{\n"
	             ".reg .b32 there;\n"
	             "mapa.shared::cluster.u32 there, %0, %1;\n"
	             "mbarrier.arrive.shared::cluster.b64 _, [there];\n"
	             "}\n" ::"r"(barrier),
	             "r"(rank)
	             : "memory");
}

// wait until the phase of this parity has ended.
__device__ inline void barrier_wait(uint32_t barrier, uint32_t parity) {
	asm volatile("{\n"
	             ".reg .pred done;\n"
	             "again:\n"
	             "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
	             "@done bra ended;\n"
	             "bra again;\n"
	             "ended:\n"
	             "}\n" ::"r"(barrier),
	             "r"(parity)
	             : "memory");
}

// fence_stores: what this thread has stored to shared memory may be read by wgmma or a bulk copy once a barrier was passed.
__device__ inline void fence_stores() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// store_shared writes 16 bytes to a shared-memory address, a multiple of 16.
__device__ inline void store_shared(uint32_t address, const uint32_t (&words)[4]) {
	asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory");
}

// The registers of a thread, for all threads of a warpgroup. Multiples of 8; take waits until others have given enough.
template <int Registers> __device__ inline void give_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Registers)); }
template <int Registers> __device__ inline void take_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Registers)); }

} // namespace triad::hopper
#endif
