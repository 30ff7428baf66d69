// own_call.cuh: what stands before a kernel file of the user's own in the code that triad writes to call it
// (internal/kernelfile): the headers that such a file may leave out, and what that code is made of. The builder
// of the emulator compiles it once for all files (cuda/prelude.go). register.cuh is left out: what it does for
// the kernels of the catalog takes as long to compile as a file.
#ifndef TRIAD_OWN_CALL_CUH // not #pragma once: the compiled header lies elsewhere
#define TRIAD_OWN_CALL_CUH

#include "arguments.cuh"
#include "call.cuh"
#include "own_calls.cuh"
#include "watched_launch.cuh"
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace triad_own {

inline bool is_empty(const triad_call *call, int i) {
	for (int d = 0; d < call->out[i].rank; d++) {
		if (call->out[i].shape[d] == 0) return true;
	}
	return false;
}
inline int64_t ceildiv(int64_t a, int64_t b) { return b == 0 ? 0 : (a + b - 1) / b; }
inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
inline int64_t factor(int64_t n, int which) { // the two factors of n that are nearest to each other
	int64_t small = 1;
	for (int64_t i = 1; i * i <= n; i++) small = n % i == 0 ? i : small;
	return which == 1 ? small : n / small;
}
// unread is a place for a number of the host's that a function writes and nobody reads: the time that it took.
template <class T> T *unread() {
	static thread_local T value;
	return &value;
}
inline unsigned size_of_launch(int64_t n) {
	return n < 0 || n > 0xffffffffll ? 0u : static_cast<unsigned>(n);
}
inline const triad_tensor &in(const triad_call *c, int i) { return c->in[i]; }
inline const triad_tensor &out(const triad_call *c, int i) { return c->out[i]; }
inline void *data_in(const triad_call *c, int i) { return c->in[i].data; }
inline void *data_out(const triad_call *c, int i) { return c->out[i].data; }
inline size_t bytes_of(const triad_tensor &t) {
	return static_cast<size_t>(triad::elements(t) * triad::element_bytes(t.dtype));
}
inline int zero_output(const triad_call *c, int i) {
	return static_cast<int>(cudaMemsetAsync(c->out[i].data, 0, bytes_of(c->out[i]), triad::stream_of(c)));
}
inline int copy_to_output(const triad_call *c, int i, int from) {
	return static_cast<int>(cudaMemcpyAsync(c->out[i].data, c->in[from].data, bytes_of(c->out[i]),
	                                        cudaMemcpyDeviceToDevice, triad::stream_of(c)));
}
inline double attribute(const triad_call *c, int i) { return c->attr[i]; }
inline int dtype(const triad_call *c) { return c->in[0].dtype; }
inline bool close(double a, double b) { return std::fabs(a - b) <= 1e-6 * std::fabs(b) + 1e-30; }

// kernel_of is an entry of the list of kernels; workspace may be null.
inline triad_kernel kernel_of(const char *op, const char *variant, const char *pass, const char *contract, uint32_t dtypes,
                              uint32_t outputs, uint32_t nondeterministic, int (*accepts)(const triad_call *, char *, int32_t),
                              int64_t (*workspace)(const triad_call *), int (*launch)(const triad_call *),
                              const char *constraint) {
	triad_kernel k = {};
	k.size = sizeof k;
	k.op = op;
	k.variant = variant;
	k.pass = pass;
	k.contract = contract;
	k.constraint = constraint;
	k.dtypes = dtypes;
	k.outputs = outputs;
	k.nondeterministic = nondeterministic;
	k.accepts = accepts;
	k.workspace = workspace;
	k.launch = launch;
	return k;
}

} // namespace triad_own
#endif
