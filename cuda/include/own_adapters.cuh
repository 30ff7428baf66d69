// own_adapters.cuh: what the code that calls a kernel file of the user's own (internal/ownfile/shim) does around a call
// in the types of its parameters: it converts tensors, fills room to work in, and takes numbers. What is copied as
// it is, own_call.cuh copies.
#ifndef TRIAD_OWN_ADAPTERS_CUH
#define TRIAD_OWN_ADAPTERS_CUH

#include <algorithm>

#include "own_call.cuh"

namespace triad_own {

inline __device__ size_t thread_of_all() {
	return blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
}
inline __device__ size_t all_threads() { return static_cast<size_t>(gridDim.x) * blockDim.x; }
// blocks of 256 threads for n elements, as many as keep a GPU's memory busy: this work is part of the user's time.
// The emulator has few, so that the threads of small tensors take several elements there too.
#ifdef __CUEMU__
constexpr size_t most_blocks = 2;
#else
constexpr size_t most_blocks = 2048;
#endif
inline unsigned blocks(size_t n) { return static_cast<unsigned>(std::min<size_t>(n / 256 + 1, most_blocks)); }
template <typename T> __global__ void fill_lowest(T *to, size_t n) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		if constexpr (std::is_integral<T>::value) {
			to[i] = std::numeric_limits<T>::min();
		} else {
			to[i] = T(-INFINITY);
		}
	}
}
// fill fills room to work in with the lowest number, if that is asked for.
template <typename T> void fill(const triad_call *c, T *to, size_t n, int64_t lowest) {
	if constexpr (std::is_integral<T>::value || std::is_convertible<float, T>::value) {
		if (lowest == 1) fill_lowest<<<blocks(n), 256, 0, triad::stream_of(c)>>>(to, n);
	}
}
template <typename To, typename From> __global__ void convert(To *to, const From *from, size_t n) {
	for (size_t i = thread_of_all(); i < n; i += all_threads()) to[i] = static_cast<To>(from[i]);
}
// A copy in the host's memory, with a pattern behind its end.
constexpr size_t behind = 4096;
inline void *to_host(const void *data, size_t bytes) {
	char *copy = static_cast<char *>(std::malloc(bytes + behind));
	if (copy == nullptr) return nullptr;
	std::memset(copy + bytes, 0xa5, behind);
	if (bytes > 0 && cudaMemcpy(copy, data, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) {
		std::free(copy);
		return nullptr;
	}
	return copy;
}
inline int from_host(void *copy, void *data, size_t bytes, bool written) {
	int status = 0;
	for (size_t i = 0; i < behind; i++) {
		if (static_cast<unsigned char *>(copy)[bytes + i] != 0xa5) status = 700; // an illegal address
	}
	if (status == 0 && written && bytes > 0) {
		status = static_cast<int>(cudaMemcpy(data, copy, bytes, cudaMemcpyHostToDevice));
	}
	std::free(copy);
	return status;
}
// A number that a function returned.
template <typename T> void give(const triad_tensor &t, T value) {
	if (t.dtype == TRIAD_F32) {
		const float one = static_cast<float>(value);
		cudaMemcpy(t.data, &one, sizeof one, cudaMemcpyHostToDevice);
	} else if (t.dtype == TRIAD_I64) {
		const int64_t one = static_cast<int64_t>(value);
		cudaMemcpy(t.data, &one, sizeof one, cudaMemcpyHostToDevice);
	}
}
// by one block of 256 threads
template <typename From> __global__ void add_up(float *to, const From *values, size_t n) {
	__shared__ double sums[256];
	double sum = 0;
	for (size_t i = threadIdx.x; i < n; i += 256) sum += static_cast<double>(values[i]);
	sums[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		for (int i = 1; i < 256; i++) sum += sums[i];
		*to = static_cast<float>(sum);
	}
}
template <typename To, typename From> __global__ void in_its_place(void *data, size_t n) {
	static_assert(sizeof(To) == sizeof(From), "in its place");
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		From from = static_cast<const From *>(data)[i];
		To to = static_cast<To>(from);
		static_cast<To *>(data)[i] = to;
	}
}
// y[r, c] * factor * weight[c] + bias[c]; without weight or bias where they are null
__global__ void scale_and_add(float *y, float factor, const float *weight, const float *bias, size_t n,
                              size_t cols) {
	const size_t step = cols > 0 ? all_threads() % cols : 0;
	size_t c = cols > 0 ? thread_of_all() % cols : 0; // a division for each element would take longer than its memory
	for (size_t i = thread_of_all(); i < n; i += all_threads()) {
		float value = y[i] * factor;
		if (weight != nullptr) value = value * weight[c];
		y[i] = bias != nullptr ? value + bias[c] : value;
		c += step;
		if (c >= cols) c -= cols;
	}
}

} // namespace triad_own
#endif
