// Stands in for the emulator's runtime where a test asks which kernels a call launches: nothing runs. Each launch appends a line to the file
// named by TRIAD_TEST_LAUNCHES: the library, and the offset in it of the function that runs a thread, of which every launched instantiation
// of a kernel has its own.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "cuda_runtime.h"

extern "C" __attribute__((visibility("default"))) void cuemu_launch(const cuemu::Job *job) {
	static FILE *const to = std::fopen(std::getenv("TRIAD_TEST_LAUNCHES"), "a");
	Dl_info in;
	if (to == nullptr || dladdr(reinterpret_cast<void *>(job->thread), &in) == 0) std::abort();
	const char *const base = static_cast<const char *>(in.dli_fbase);
	std::fprintf(to, "%s %llu\n", in.dli_fname, static_cast<unsigned long long>(reinterpret_cast<const char *>(job->thread) - base));
	std::fflush(to);
}

// There is no memory behind the pointers of a call: what cudaMemset, cudaMemcpy and their like come to does nothing.
extern "C" __attribute__((visibility("default"))) cudaError_t cuemu_fill_memory(void *, int, size_t, const char *, int) {
	return cudaSuccess;
}

extern "C" __attribute__((visibility("default"))) cudaError_t cuemu_copy_memory(void *, const void *, size_t, cudaMemcpyKind, bool, const char *,
                                                                                int) {
	return cudaSuccess;
}
