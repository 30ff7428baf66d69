// triad_runtime.so: see runtime.h.
#include "runtime.h"

#include "ceilings.cuh"
#include "spread.cuh"
#include "timer.cuh"

extern "C" int32_t triad_runtime_version(void) { return TRIAD_RUNTIME; }

extern "C" int triad_physics_of(triad_physics *out) {
	int device = 0;
	cudaError_t error = cudaGetDevice(&device);
	auto ask = [&](cudaDeviceAttr what) {
		int value = 0;
		if (error == cudaSuccess) error = cudaDeviceGetAttribute(&value, what, device);
		return value;
	};
	out->l2_bytes = ask(cudaDevAttrL2CacheSize);
	out->multiprocessors = ask(cudaDevAttrMultiProcessorCount);
	out->major = ask(cudaDevAttrComputeCapabilityMajor);
	out->minor = ask(cudaDevAttrComputeCapabilityMinor);
	out->clock_mhz = ask(cudaDevAttrClockRate) / 1e3;
	// Double data rate: two transfers a clock. Width in bits, clock in kHz.
	double width = ask(cudaDevAttrGlobalMemoryBusWidth), clock = ask(cudaDevAttrMemoryClockRate);
	out->bytes_per_second = 2 * clock * 1e3 * width / 8;
	return error;
}
