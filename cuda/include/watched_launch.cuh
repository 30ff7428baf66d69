// watched_launch.cuh: whether a launch <<<...>>> is refused for its grid or its block. The error does not tell: nvcc 13 launches by kernel handle, and
// such a launch then ends with cudaErrorInvalidValue (1), as a dozen other mistakes do, where it used to be cudaErrorInvalidConfiguration (9).
//
//   triad::begin_watching(); solve(x, y, n); return triad::watched();
//
// nvcc turns k<<<grid, block, bytes, stream>>> into a call of __cudaPushCallConfiguration. A library whose file includes this one is linked with
// --wrap of that name (see GPUBuilder), so that the sizes come by here first. The emulator knows the error by itself.
#ifndef TRIAD_WATCHED_LAUNCH_CUH
#define TRIAD_WATCHED_LAUNCH_CUH
#include "call.cuh"

#include <atomic>

namespace triad {

// Some launch since begin_watching had sizes that no GPU takes.
static std::atomic<bool> impossible{false};

// possible holds the limits of CUDA on grids and blocks, those of every GPU of compute capability 3.0 or newer.
inline bool possible(dim3 grid, dim3 block) {
	unsigned long long threads = 1ull * block.x * block.y * block.z;
	return threads >= 1 && threads <= 1024 && block.x <= 1024 && block.y <= 1024 && block.z <= 64 && grid.x >= 1 && grid.x <= 0x7fffffffu && grid.y >= 1 &&
	       grid.y <= 65535 && grid.z >= 1 && grid.z <= 65535;
}

inline void begin_watching() { impossible = false; }

// watched is launched() with the error of an impossible grid or block called by its name.
inline int watched() {
	int code = launched();
	return code != 0 && impossible ? static_cast<int>(cudaErrorInvalidConfiguration) : code;
}

} // namespace triad

#if defined(__CUDACC__) && !defined(__CUEMU__)
#define TRIAD_HIDDEN extern "C" __attribute__((visibility("hidden")))
TRIAD_HIDDEN unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
TRIAD_HIDDEN unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream) {
	if (!triad::possible(grid, block)) triad::impossible = true;
	return __real___cudaPushCallConfiguration(grid, block, shared_bytes, stream);
}
#undef TRIAD_HIDDEN
#endif
#endif
