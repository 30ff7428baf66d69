// What the models of Hopper's instructions keep of a block: a worker runs one block at a time, and a new block finds it empty.
#ifndef CUEMU_HOPPER_BLOCK_STATE_CUH
#define CUEMU_HOPPER_BLOCK_STATE_CUH
#include <cuda_runtime.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "cuemu/sanitizer.h"

namespace cuemu {

// BlockOf holds a State, plain data, zero for each new block.
template <class State> struct BlockOf {
	uint32_t launch;
	uint3 block;
	State state;
};

template <class State> CUEMU_PLAIN State &block_state() {
	static thread_local BlockOf<State> *held = nullptr;
	if (!held) {
		void *room = mmap(nullptr, sizeof(BlockOf<State>), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (room == MAP_FAILED) __trap();
		held = static_cast<BlockOf<State> *>(room);
	}
	if (held->launch != cuemu_launch_serial || held->block.x != blockIdx.x || held->block.y != blockIdx.y || held->block.z != blockIdx.z) {
		held->state.clear();
		held->launch = cuemu_launch_serial;
		held->block = blockIdx;
	}
	return held->state;
}

}  // namespace cuemu
#endif
