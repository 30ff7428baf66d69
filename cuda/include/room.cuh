// room.cuh: how a workspace is laid out.
#ifndef TRIAD_ROOM_CUH
#define TRIAD_ROOM_CUH
#include <cstdint>

#include "abi.h"

namespace triad {

// Room is the workspace of a call, from whose beginning `used` bytes are taken. Where it is still to be asked for, it begins at 0 and is only measured.
struct Room {
	uintptr_t at;
	int64_t used = 0;

	explicit Room(const triad_call *call) : at(reinterpret_cast<uintptr_t>(call->workspace)) {}

	// take gives n values that begin at a multiple of 256 bytes; none that is not wanted takes room.
	template <class V> V *take(int64_t n, bool wanted = true) {
		V *const first = reinterpret_cast<V *>(at + static_cast<uintptr_t>(used));
		if (wanted) used += (static_cast<int64_t>(sizeof(V)) * n + 255) / 256 * 256;
		return first;
	}
};

} // namespace triad
#endif
