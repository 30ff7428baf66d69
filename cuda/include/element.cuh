// element.cuh: one element between its storage type and fp32, in which everything is computed, and the choice of the type at launch.
// to_float is exact for every format. from_float rounds once, to nearest even; overflow gives infinity (fp16, bf16).
#ifndef TRIAD_ELEMENT_CUH
#define TRIAD_ELEMENT_CUH
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "register.cuh"

namespace triad {

__device__ inline float to_float(float v) { return v; }
__device__ inline float to_float(__half v) { return __half2float(v); }
__device__ inline float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ inline float to_float(__nv_fp8_e4m3 v) { return static_cast<float>(v); }
__device__ inline float to_float(__nv_fp8_e5m2 v) { return static_cast<float>(v); }

template <class T> __device__ inline T from_float(float v);
template <> __device__ inline float from_float<float>(float v) { return v; }
template <> __device__ inline __half from_float<__half>(float v) { return __float2half_rn(v); }
template <> __device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float v) { return __float2bfloat16_rn(v); }

// by_dtype calls the instance of a launcher that fits the dtype of input `Main`: by_dtype<0, f<float>, f<__half>, f<__nv_bfloat16>>.
template <int Main, int (*F32)(const triad_call *), int (*F16)(const triad_call *), int (*BF16)(const triad_call *)>
int by_dtype(const triad_call *call) {
	switch (call->in[Main].dtype) {
	case TRIAD_F32: return cleared(F32(call));
	case TRIAD_F16: return cleared(F16(call));
	case TRIAD_BF16: return cleared(BF16(call));
	default: return TRIAD_UNSUPPORTED;
	}
}

// by_half is the same for kernels of 16-bit elements.
template <int (*F16)(const triad_call *), int (*BF16)(const triad_call *)> int by_half(const triad_call *call) {
	switch (call->in[0].dtype) {
	case TRIAD_F16: return cleared(F16(call));
	case TRIAD_BF16: return cleared(BF16(call));
	default: return TRIAD_UNSUPPORTED;
	}
}

} // namespace triad

#define TRIAD_BY_HALF(launcher) (::triad::by_half<launcher<__half>, launcher<__nv_bfloat16>>)

// TRIAD_BY_DTYPE(launcher): a launch function from a launcher template over the element type of the first input.
#define TRIAD_BY_DTYPE(launcher) TRIAD_BY_DTYPE_OF(0, launcher)
#define TRIAD_BY_DTYPE_OF(input, launcher)                                                                                                 \
	(::triad::by_dtype<input, launcher<float>, launcher<__half>, launcher<__nv_bfloat16>>)
#endif
