// encode_map.cuh: what the maps of tensor_map.cuh and head_map.cuh share: the driver's function that makes them, and the prefetch of one.
// Source   CUDA driver API 13.0, cuTensorMapEncodeTiled; PTX ISA 9.0, "prefetch.tensormap"
#ifndef TRIAD_HOPPER_ENCODE_MAP_CUH
#define TRIAD_HOPPER_ENCODE_MAP_CUH
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace triad::hopper {

// encode_map makes a map of a tensor of Rank dims, boxes of which land swizzled by 128 bytes; what lies outside reads as zero. strides are in
// bytes, of all dims but the first. Returns 0 or a CUDA error code.
template <int Rank>
int encode_map(CUtensorMap *map, CUtensorMapDataType type, const void *data, const cuuint64_t (&shape)[Rank], const cuuint64_t (&strides)[Rank - 1],
               const cuuint32_t (&box)[Rank]) {
	void *found = nullptr;
	cudaDriverEntryPointQueryResult known;
	const cudaError_t status = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &known);
	if (status != cudaSuccess) return static_cast<int>(status);
	if (known != cudaDriverEntryPointSuccess || found == nullptr) return static_cast<int>(cudaErrorNotSupported);
	cuuint32_t steps[Rank];
	for (cuuint32_t &step : steps) step = 1;
	return static_cast<int>(reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(found)(
		map, type, Rank, const_cast<void *>(data), shape, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
		CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
}

__device__ inline void prefetch_map(const CUtensorMap *map) {
	asm volatile("prefetch.tensormap [%0];" ::"l"(reinterpret_cast<uint64_t>(map)) : "memory");
}

} // namespace triad::hopper
#endif
