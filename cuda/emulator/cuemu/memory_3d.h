// Memory of three dimensions in CUDA's runtime API: rows with a pitch, slices of rows.
#ifndef CUEMU_MEMORY_3D_H
#define CUEMU_MEMORY_3D_H

#include "cuemu/runtime_api.h"

struct cudaExtent { size_t width, height, depth; };     // width in bytes
struct cudaPos { size_t x, y, z; };                     // x in bytes
struct cudaPitchedPtr {
	void *ptr;
	size_t pitch, xsize, ysize;                         // pitch: bytes from row to row; ysize: rows from slice to slice
};
struct cudaArray;
typedef cudaArray *cudaArray_t;
struct cudaMemcpy3DParms {
	cudaArray_t srcArray;
	cudaPos srcPos;
	cudaPitchedPtr srcPtr;
	cudaArray_t dstArray;
	cudaPos dstPos;
	cudaPitchedPtr dstPtr;
	cudaExtent extent;
	cudaMemcpyKind kind;
};

inline cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) { return {width, height, depth}; }
inline cudaPos make_cudaPos(size_t x, size_t y, size_t z) { return {x, y, z}; }
inline cudaPitchedPtr make_cudaPitchedPtr(void *p, size_t pitch, size_t width, size_t height) { return {p, pitch, width, height}; }

inline cudaError_t cudaMalloc3D(cudaPitchedPtr *p, cudaExtent e, CUEMU_HERE) {
	p->pitch = (e.width + 511) / 512 * 512;
	p->xsize = e.width;
	p->ysize = e.height;
	return cuemu_malloc(&p->ptr, p->pitch * e.height * e.depth, file, line);
}

namespace cuemu {

inline char *row_of(const cudaPitchedPtr &p, const cudaPos &pos, size_t row, size_t slice) {
	return static_cast<char *>(p.ptr) + pos.x + ((pos.z + slice) * p.ysize + pos.y + row) * p.pitch;
}

inline cudaError_t refused(cudaError_t error) {
	set_last_error(error);
	return error;
}

inline cudaError_t copy_slices(const cudaMemcpy3DParms *p, bool waits, const char *file, int line) {
	if (p->srcArray || p->dstArray) return refused(cudaErrorNotSupported);       // arrays are for textures
	const cudaExtent e = p->extent;
	if (!p->srcPtr.ptr || !p->dstPtr.ptr || p->srcPos.x + e.width > p->srcPtr.pitch || p->dstPos.x + e.width > p->dstPtr.pitch)
		return refused(cudaErrorInvalidValue);
	if (e.depth > 1 && (p->srcPos.y + e.height > p->srcPtr.ysize || p->dstPos.y + e.height > p->dstPtr.ysize))
		return refused(cudaErrorInvalidValue);
	for (size_t slice = 0; slice < e.depth; slice++)
		for (size_t row = 0; row < e.height; row++)
			if (cudaError_t error = cuemu_copy_memory(row_of(p->dstPtr, p->dstPos, row, slice), row_of(p->srcPtr, p->srcPos, row, slice), e.width,
			                                          p->kind, waits, file, line))
				return error;
	return cudaSuccess;
}

}  // namespace cuemu

inline cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms *p, CUEMU_HERE) { return cuemu::copy_slices(p, true, file, line); }
inline cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms *p, cudaStream_t = nullptr, CUEMU_HERE) {
	return cuemu::copy_slices(p, false, file, line);
}
inline cudaError_t cudaMemset3D(cudaPitchedPtr p, int value, cudaExtent e, CUEMU_HERE) {
	for (size_t slice = 0; slice < e.depth; slice++)
		for (size_t row = 0; row < e.height; row++)
			if (cudaError_t error = cuemu_fill_memory(cuemu::row_of(p, {0, 0, 0}, row, slice), value, e.width, file, line)) return error;
	return cudaSuccess;
}
inline cudaError_t cudaMemset3DAsync(cudaPitchedPtr p, int value, cudaExtent e, cudaStream_t = nullptr, CUEMU_HERE) {
	return cudaMemset3D(p, value, e, file, line);
}

#endif
