// cub_library.cuh: NVIDIA's CUB, whose header-only algorithms nvcc compiles with our kernels. What is not fp32 is read and written through iterators,
// so that sums are of fp32; integers are added as unsigned, whose sums wrap.
//
//   struct Sum; // of the emulator, which has no CUB, only the name
//   #ifndef __CUEMU__
//   struct Sum {
//       // run makes the call; without scratch memory it sets how many bytes it needs.
//       template <class T> static cudaError_t run(const triad_call *call, void *scratch, size_t &bytes);
//   };
//   #endif
//   template <class T> int sum_fwd_cub(const triad_call *call) { return triad::cub_run<Sum, T>(call); }
#ifndef TRIAD_CUB_LIBRARY_CUH
#define TRIAD_CUB_LIBRARY_CUH
#include "call.cuh"
#include "element.cuh"
#include "limits.cuh"

#ifdef __CUEMU__
namespace triad {

inline void check_cub(Check &check, const triad_call *) { check.that(false, "CUB runs on a GPU alone"); }

template <class Algorithm, class T> int64_t cub_bytes_of(const triad_call *) { return 0; }
template <class Algorithm, class T> int cub_run(const triad_call *) { return TRIAD_UNSUPPORTED; }

} // namespace triad
#else
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <thrust/iterator/transform_iterator.h>

#include <cuda/std/functional>
#include <iterator>
#include <type_traits>

namespace triad {

inline void check_cub(Check &, const triad_call *) {}

struct CubRead {
	template <class T> __device__ float operator()(T x) const { return to_float(x); }
};

// CubOutput stores sums of fp32 as T. thrust's iterator says that T is its value, and CUB would add in it.
template <class T> struct CubOutput {
	struct Place {
		T *at;
		__device__ void operator=(float sum) const { *at = from_float<T>(sum); }
	};
	using value_type = float;
	using reference = Place;
	using pointer = void;
	using difference_type = ptrdiff_t;
	using iterator_category = std::random_access_iterator_tag;
	T *at;
	__host__ __device__ Place operator*() const { return {at}; }
	__host__ __device__ Place operator[](ptrdiff_t i) const { return {at + i}; }
	__host__ __device__ CubOutput operator+(ptrdiff_t i) const { return {at + i}; }
	__host__ __device__ CubOutput &operator+=(ptrdiff_t i) { at += i; return *this; }
};

using CubPlus = ::cuda::std::plus<>;

// cub_zero is the sum of nothing: what its type is, CUB adds in.
template <class T> auto cub_zero() {
	if constexpr (std::is_same_v<T, int32_t>) return uint32_t{0};
	else return 0.0f;
}

// cub_input reads elements as what they are added in, cub_output stores sums.
template <class T> auto cub_input(const triad_tensor &t) {
	const T *const data = static_cast<const T *>(t.data);
	if constexpr (std::is_same_v<T, float>) return data;
	else if constexpr (std::is_same_v<T, int32_t>) return reinterpret_cast<const uint32_t *>(data);
	else return thrust::make_transform_iterator(data, CubRead());
}
template <class T> auto cub_output(const triad_tensor &t) {
	T *const data = static_cast<T *>(t.data);
	if constexpr (std::is_same_v<T, float>) return data;
	else if constexpr (std::is_same_v<T, int32_t>) return reinterpret_cast<uint32_t *>(data);
	else return CubOutput<T>{data};
}

// cub_bytes_of is how much scratch memory a call needs.
template <class Algorithm, class T> int64_t cub_bytes_of(const triad_call *call) {
	size_t bytes = 0;
	return cleared(Algorithm::template run<T>(call, nullptr, bytes)) == cudaSuccess ? static_cast<int64_t>(bytes) : 0;
}

template <class Algorithm, class T> int cub_run(const triad_call *call) {
	size_t bytes = static_cast<size_t>(call->workspace_bytes);
	return static_cast<int>(Algorithm::template run<T>(call, call->workspace, bytes));
}

} // namespace triad
#endif

namespace triad {

inline Limit cub_limit() { return limit("a GPU", check_cub); }

// cub_bytes is cub_bytes_of the first input's dtype.
template <class Algorithm> int64_t cub_bytes(const triad_call *call) {
	switch (call->in[0].dtype) {
	case TRIAD_F32: return cub_bytes_of<Algorithm, float>(call);
	case TRIAD_F16: return cub_bytes_of<Algorithm, __half>(call);
	default: return cub_bytes_of<Algorithm, __nv_bfloat16>(call);
	}
}

} // namespace triad
#endif
