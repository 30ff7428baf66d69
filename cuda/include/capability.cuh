// capability.cuh: variants that only some GPUs can run. A library holds code for several architectures, so what the GPU is decides at the call.
#ifndef TRIAD_CAPABILITY_CUH
#define TRIAD_CAPABILITY_CUH
#include "arguments.cuh"
#include "register.cuh"

namespace triad {

// A compute capability, as 10 * major + minor: 75 is 7.5. 0 where it cannot be read.
inline int compute_capability() { return 10 * device_attribute(cudaDevAttrComputeCapabilityMajor) + device_attribute(cudaDevAttrComputeCapabilityMinor); }

// needs_capability: the call is refused on GPUs below a compute capability, and where no newer one will do, on those above it.
inline void needs_capability(Check &check, const char *what, int least, bool newer) {
	const int found = compute_capability();
	check.that(found > 0, "the compute capability of the GPU cannot be read");
	check.that(newer ? found >= least : found == least, "%s needs a GPU of compute capability %d.%d%s, this one has %d.%d", what, least / 10, least % 10,
	           newer ? " or newer" : "", found / 10, found % 10);
}

// capability: the same as a limit of a registration. `what` is what needs the GPU.
inline Limit capability(const char *what, int least, bool newer) {
	const std::string version = std::to_string(least / 10) + "." + std::to_string(least % 10);
	return {Limit::nothing, {what}, least,
	        newer ? [](Check &check, const triad_call *, const Limit &l) { needs_capability(check, l.name(), static_cast<int>(l.number), true); }
	              : [](Check &check, const triad_call *, const Limit &l) { needs_capability(check, l.name(), static_cast<int>(l.number), false); },
	        "a GPU of compute capability " + version + (newer ? " or newer" : "")};
}

// wgmma_capability: a GPU for wgmma, whose code is compiled for 9.0 alone. The emulator, a GPU of 8.0, has models of the instructions.
inline Limit wgmma_capability() {
	Limit limit = capability("wgmma", 90, false);
#ifdef __CUEMU__
	limit.keeps = [](Check &, const triad_call *, const Limit &) {};
#endif
	return limit;
}

} // namespace triad
#endif
