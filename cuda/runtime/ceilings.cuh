// Kernels that do nothing but move bytes: what they reach is what a kernel can be measured against. Each thread has four 16-byte accesses
// in flight; neighbouring threads take neighbouring words.
#pragma once
#include <cuda_runtime.h>

#include "runtime.h"

namespace triad_runtime {

constexpr int kThreads = 512;
constexpr int kWords = 4; // of 16 bytes, a thread
constexpr int64_t kBlockWords = int64_t(kThreads) * kWords;

__global__ void __launch_bounds__(kThreads) copy_kernel(uint4 *to, const uint4 *from, int64_t words) {
	int64_t first = blockIdx.x * kBlockWords + threadIdx.x;
	uint4 held[kWords];
#pragma unroll
	for (int i = 0; i < kWords; i++)
		if (first + i * kThreads < words) held[i] = __ldcs(from + first + i * kThreads);
#pragma unroll
	for (int i = 0; i < kWords; i++)
		if (first + i * kThreads < words) __stcs(to + first + i * kThreads, held[i]);
}

__global__ void __launch_bounds__(kThreads) read_kernel(uint32_t *sink, const uint4 *from, int64_t words) {
	int64_t first = blockIdx.x * kBlockWords + threadIdx.x;
	uint32_t seen = 0;
#pragma unroll
	for (int i = 0; i < kWords; i++)
		if (first + i * kThreads < words) {
			uint4 word = __ldcs(from + first + i * kThreads);
			seen |= word.x ^ word.y ^ word.z ^ word.w;
		}
	// All ones in every thread of a block do not occur in random data; the compiler cannot know.
	if (__syncthreads_and(seen == 0xFFFFFFFFu)) *sink = seen;
}

__global__ void __launch_bounds__(kThreads) write_kernel(uint4 *to, int64_t words) {
	int64_t first = blockIdx.x * kBlockWords + threadIdx.x;
	uint32_t value = uint32_t(first) * 2654435761u; // not a constant: the memory may treat runs of one value otherwise
#pragma unroll
	for (int i = 0; i < kWords; i++)
		if (first + i * kThreads < words) __stcs(to + first + i * kThreads, make_uint4(value, value ^ i, ~value, value + i));
}

__global__ void __launch_bounds__(kThreads) differing_kernel(const unsigned char *a, const unsigned char *b, int64_t bytes, unsigned long long *count) {
	unsigned long long mine = 0;
	for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < bytes; i += int64_t(gridDim.x) * kThreads) mine += a[i] != b[i];
	if (mine) atomicAdd(count, mine);
}

} // namespace triad_runtime

extern "C" int triad_ceiling(int32_t ceiling, void *to, const void *from, int64_t bytes, void *stream) {
	using namespace triad_runtime;
	cudaStream_t s = static_cast<cudaStream_t>(stream);
	int64_t words = bytes / 16;
	if (bytes <= 0 || bytes % 16) return cudaErrorInvalidValue;
	unsigned blocks = unsigned((words + kBlockWords - 1) / kBlockWords);
	switch (ceiling) {
	case TRIAD_CEILING_MEMCPY: return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, s);
	case TRIAD_CEILING_COPY: copy_kernel<<<blocks, kThreads, 0, s>>>(static_cast<uint4 *>(to), static_cast<const uint4 *>(from), words); break;
	case TRIAD_CEILING_READ: read_kernel<<<blocks, kThreads, 0, s>>>(static_cast<uint32_t *>(to), static_cast<const uint4 *>(from), words); break;
	case TRIAD_CEILING_WRITE: write_kernel<<<blocks, kThreads, 0, s>>>(static_cast<uint4 *>(to), words); break;
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}

extern "C" int triad_differing(const void *a, const void *b, int64_t bytes, int64_t *differing) {
	using namespace triad_runtime;
	*differing = 0;
	if (bytes == 0) return cudaSuccess;
	unsigned long long *count = nullptr, seen = 0;
	cudaError_t error = cudaMalloc(&count, sizeof *count);
	if (error != cudaSuccess) return error;
	error = cudaMemset(count, 0, sizeof *count);
	if (error == cudaSuccess) {
		differing_kernel<<<1024, kThreads>>>(static_cast<const unsigned char *>(a), static_cast<const unsigned char *>(b), bytes, count);
		error = cudaGetLastError();
	}
	if (error == cudaSuccess) error = cudaMemcpy(&seen, count, sizeof seen, cudaMemcpyDeviceToHost);
	cudaFree(count);
	*differing = int64_t(seen);
	return error;
}
