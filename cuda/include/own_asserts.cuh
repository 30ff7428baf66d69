// own_asserts.cuh: lets a failed assert of the host code of a kernel file of the user's own decline the call: it asks
// for sizes, since host code does not see the values of tensors. One in a kernel fails as it would, which is a decline
// where its text speaks of sizes alone (internal/ownfile/shim).
#ifndef TRIAD_OWN_ASSERTS_CUH
#define TRIAD_OWN_ASSERTS_CUH

#include "own_call.cuh"

namespace triad_own {

struct declined : std::exception {
	const char *what() const noexcept override { return "an assert does not hold"; }
};
[[noreturn]] inline __host__ __device__ void assert_fails(const char *text, const char *file, unsigned line,
                                                          const char *function) {
#if defined(__CUDA_ARCH__)
	__assert_fail(text, file, line, function);
#else
#if !defined(__NVCC__)
	if (cuemu_in_kernel()) __assert_fail(text, file, line, function);
#endif
	std::fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
	throw declined();
#endif
}

} // namespace triad_own

#define __assert_fail ::triad_own::assert_fails
#endif
