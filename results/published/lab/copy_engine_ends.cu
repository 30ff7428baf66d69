// Which elements a store by the copy engine writes where its box reaches past the extents of its tensor map.
//
//	nvcc -arch=sm_90a -O2 copy_engine_ends.cu -o copy_engine_ends && ./copy_engine_ends
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

const size_t MEMORY_BYTES = 1 << 20;

// store_box stores a box of ones of rank 1 or 2 at (0, 0) of the map.
template <class T> __global__ void store_box(const __grid_constant__ CUtensorMap map, int rank, int elements, T one) {
	__shared__ alignas(128) unsigned char bytes[16384];
	T *box = reinterpret_cast<T *>(bytes);
	for (int i = threadIdx.x; i < elements; i += blockDim.x) box[i] = one;
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x != 0) return;
	const unsigned from = static_cast<unsigned>(__cvta_generic_to_shared(box));
	if (rank == 1) {
		asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%1}], [%2];" ::"l"(&map), "r"(0), "r"(from) : "memory");
	} else {
		asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %1}], [%2];" ::"l"(&map), "r"(0), "r"(from) : "memory");
	}
	asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

struct Described {
	const char *dtype;
	CUtensorMapDataType type;
	cuuint64_t cols, rows, stride_bytes; // rows is 0 for rank 1
	cuuint32_t box_cols, box_rows;
};

template <class T> void report(const Described &d, T one) {
	static void *encode = nullptr;
	if (!encode) {
		cudaDriverEntryPointQueryResult found;
		cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found);
	}
	char *memory;
	cudaMalloc(&memory, MEMORY_BYTES);
	cudaMemset(memory, 0, MEMORY_BYTES);
	const int rank = d.rows ? 2 : 1;
	const cuuint64_t shape[] = {d.cols, d.rows}, strides[] = {d.stride_bytes};
	const cuuint32_t box[] = {d.box_cols, d.box_rows}, steps[] = {1, 1};
	CUtensorMap map;
	const CUresult refused = reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(encode)(
		&map, d.type, rank, memory, shape, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
		CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
	std::vector<T> after(MEMORY_BYTES / sizeof(T));
	if (!refused) store_box<T><<<1, 128>>>(map, rank, static_cast<int>(d.box_cols * d.box_rows), one);
	const cudaError_t failed = cudaMemcpy(after.data(), memory, MEMORY_BYTES, cudaMemcpyDeviceToHost);
	const size_t step = rank == 1 ? after.size() : d.stride_bytes / sizeof(T);
	size_t inside = 0, outside = 0;
	for (size_t i = 0; i < after.size(); i++) {
		if (after[i] == 0) continue;
		const bool belongs = i % step < d.cols && i / step < (rank == 1 ? 1 : d.rows);
		++(belongs ? inside : outside);
	}
	printf("%s, extent %llu x %llu, stride %llu B, box %u x %u: ", d.dtype, static_cast<unsigned long long>(d.cols),
	       static_cast<unsigned long long>(d.rows), static_cast<unsigned long long>(d.stride_bytes), d.box_cols, d.box_rows);
	printf("%s, %zu elements inside and %zu outside are written\n", refused ? "refused" : cudaGetErrorName(failed), inside, outside);
	cudaFree(memory);
}

int main() {
	for (cuuint64_t cols : {3, 4, 5, 65, 127, 128}) report<float>({"fp32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, cols, 0, 0, 128, 1}, 1.0f);
	for (cuuint64_t cols : {1, 7, 8, 9, 65}) report<uint16_t>({"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, cols, 0, 0, 128, 1}, 0x3f80);
	for (cuuint64_t cols : {1, 15, 17}) report<uint8_t>({"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, cols, 0, 0, 128, 1}, 1);
	for (cuuint64_t stride : {272, 384}) report<float>({"fp32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 65, 4, stride, 128, 4}, 1.0f);
	report<uint16_t>({"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 65, 4, 144, 128, 4}, 0x3f80);
	report<uint16_t>({"bf16, fewer rows than the box", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 64, 3, 128, 64, 8}, 0x3f80);
}
