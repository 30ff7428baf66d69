// own_call.cuh: what stands before a kernel file of the user's own in the code that triad writes to call it
// (internal/ownfile/shim): the headers that such a file may leave out, and what that code is made of. The builder
// of the emulator compiles it once for all files (cuda/build/precompiled_header.go). register.cuh is left out:
// what it does for the kernels of the catalog takes as long to compile as a file.
#ifndef TRIAD_OWN_CALL_CUH // not #pragma once: the compiled header lies elsewhere
#define TRIAD_OWN_CALL_CUH

#include "arguments.cuh"
#include "call.cuh"
#include "own_calls.cuh"
#include "own_words.h"
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

// What an interpretation of the function decides comes with each call, as words that the driver computes
// (internal/ownfile/shim/call.go): the bytes of the workspace, the bits of the inputs that are taken, the number
// of slots, the slots, and lists of copies, each behind its length.
struct Location { int64_t of, index, bytes; };               // so many bytes behind the begin of what `of` says
struct Slot { Location location; double real; };             // nowhere: bytes and real are a number
struct Copy {                                                // rows in three loops; from nowhere: zeros
	Location to, from;
	int64_t many[3], to_step[3], from_step[3], bytes;
};
enum { nowhere, in_input, in_output, in_workspace };
constexpr int header_words = 3, slot_words = sizeof(Slot) / 8, copy_words = sizeof(Copy) / 8;

inline const int64_t *words_of(const triad_call *c) { return reinterpret_cast<const triad_own_call_t *>(c)->words; }
inline bool has_words(const triad_call *c) { return c->size >= sizeof(triad_own_call_t) && words_of(c) != nullptr; }
inline bool takes(const triad_call *c, int i) { return words_of(c)[1] >> i & 1; }
inline int64_t workspace(const triad_call *c) { return words_of(c)[0]; }
inline const Slot &slot(const triad_call *c, int i) {
	return reinterpret_cast<const Slot *>(words_of(c) + header_words)[i];
}
inline int64_t whole(const triad_call *c, int i) { return slot(c, i).location.bytes; }
inline double real(const triad_call *c, int i) { return slot(c, i).real; }
inline const triad_tensor &tensor_at(const triad_call *c, const Location &l) {
	return l.of == in_output ? c->out[l.index] : c->in[l.index];
}
inline const triad_tensor &tensor_of(const triad_call *c, int i) { return tensor_at(c, slot(c, i).location); }
inline char *address(const triad_call *c, const Location &l) {
	return static_cast<char *>(l.of == in_workspace ? c->workspace : tensor_at(c, l).data) + l.bytes;
}
template <typename T> T *pointer(const triad_call *c, int i) {
	return reinterpret_cast<T *>(address(c, slot(c, i).location));
}
// copies makes those of a list, on the stream of the call.
inline int copies(const triad_call *c, int list) {
	const int64_t *at = words_of(c) + header_words + words_of(c)[2] * slot_words;
	for (; list > 0; list--) at += 1 + at[0] * copy_words;
	const cudaStream_t stream = triad::stream_of(c);
	for (int64_t n = at[0]; n > 0; n--) {
		const Copy &y = reinterpret_cast<const Copy *>(at + 1)[at[0] - n];
		if (y.bytes == 0 || y.many[2] == 0) continue;
		for (int64_t i = 0; i < y.many[0]; i++) {
			for (int64_t j = 0; j < y.many[1]; j++) {
				char *to = address(c, y.to) + i * y.to_step[0] + j * y.to_step[1];
				const size_t bytes = static_cast<size_t>(y.bytes);
				cudaError_t status = cudaSuccess;
				if (y.from.of == nowhere) {
					status = cudaMemsetAsync(to, 0, bytes, stream);
				} else {
					const char *from = address(c, y.from) + i * y.from_step[0] + j * y.from_step[1];
					status = y.many[2] == 1
					             ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream)
					             : cudaMemcpy2DAsync(to, static_cast<size_t>(y.to_step[2]), from,
					                                 static_cast<size_t>(y.from_step[2]), bytes,
					                                 static_cast<size_t>(y.many[2]), cudaMemcpyDeviceToDevice, stream);
				}
				if (status != cudaSuccess) return static_cast<int>(status);
			}
		}
	}
	return 0;
}
// kept is a place for an argument that a function takes as a reference to change it: int &rows. Place tells the
// arguments of a call apart.
template <int Place, class T> T &kept(T value) {
	static thread_local T place;
	return place = value;
}
inline unsigned size_of_launch(int64_t n) {
	return n < 0 || n > 0xffffffffll ? 0u : static_cast<unsigned>(n);
}
// cooperative launches a kernel whose blocks wait for each other, in grid.sync(): all of them have to run at once.
template <class... Params, class... Args>
inline void cooperative(void (*kernel)(Params...), dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream, Args &&...args) {
	cudaLaunchAttribute attribute{};
	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	cudaLaunchConfig_t config{};
	config.gridDim = grid, config.blockDim = block, config.dynamicSmemBytes = shared_bytes;
	config.stream = stream, config.attrs = &attribute, config.numAttrs = 1;
	cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...);
}
inline const triad_tensor &in(const triad_call *c, int i) { return c->in[i]; }
inline const triad_tensor &out(const triad_call *c, int i) { return c->out[i]; }
inline size_t bytes_of(const triad_tensor &t) {
	return static_cast<size_t>(triad::elements(t) * triad::element_bytes(t.dtype));
}
inline int dtype(const triad_call *c) { return c->in[0].dtype; }

// kernel_of is an entry of the list of kernels. What the function is not judged on the driver says.
inline triad_kernel kernel_of(const char *op, const char *variant, const char *pass, const char *contract, uint32_t dtypes,
                              uint32_t outputs, uint32_t nondeterministic, int (*accepts)(const triad_call *, char *, int32_t),
                              int (*launch)(const triad_call *)) {
	triad_kernel k = {};
	k.size = sizeof k;
	k.op = op;
	k.variant = variant;
	k.pass = pass;
	k.contract = contract;
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
