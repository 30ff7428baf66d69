// narrow.h: c10::Half and c10::BFloat16. Arithmetic of two rounds its result to the type; with a float it is in fp32, as in torch.
#ifndef TRIAD_TORCH_NARROW_H
#define TRIAD_TORCH_NARROW_H
#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace c10 {

#define TRIAD_TORCH_NARROW(Name, native, from_float, to_float)                                               \
	struct alignas(2) Name {                                                                             \
		unsigned short x;                                                                            \
		Name() = default;                                                                            \
		__host__ __device__ Name(float value) {                                                      \
			native n = from_float(value);                                                        \
			x = reinterpret_cast<const unsigned short &>(n);                                     \
		}                                                                                            \
		__host__ __device__ Name(native n) : x(reinterpret_cast<const unsigned short &>(n)) {}       \
		__host__ __device__ operator float() const { return to_float(reinterpret_cast<const native &>(x)); } \
		__host__ __device__ operator native() const { return reinterpret_cast<const native &>(x); }  \
		__host__ __device__ Name &operator+=(Name b) { return *this = Name(float(*this) + float(b)); } \
		__host__ __device__ Name &operator-=(Name b) { return *this = Name(float(*this) - float(b)); } \
		__host__ __device__ Name &operator*=(Name b) { return *this = Name(float(*this) * float(b)); } \
		__host__ __device__ Name &operator/=(Name b) { return *this = Name(float(*this) / float(b)); } \
	};                                                                                                   \
	TRIAD_TORCH_OPERATOR(Name, +)                                                                        \
	TRIAD_TORCH_OPERATOR(Name, -)                                                                        \
	TRIAD_TORCH_OPERATOR(Name, *)                                                                        \
	TRIAD_TORCH_OPERATOR(Name, /)                                                                        \
	TRIAD_TORCH_COMPARISON(Name, <)                                                                      \
	TRIAD_TORCH_COMPARISON(Name, >)                                                                      \
	TRIAD_TORCH_COMPARISON(Name, <=)                                                                     \
	TRIAD_TORCH_COMPARISON(Name, >=)                                                                     \
	TRIAD_TORCH_COMPARISON(Name, ==)                                                                     \
	TRIAD_TORCH_COMPARISON(Name, !=)                                                                     \
	__host__ __device__ inline Name operator-(Name a) { return Name(-float(a)); }

#define TRIAD_TORCH_OPERATOR(Name, op)                                                                       \
	__host__ __device__ inline Name operator op(Name a, Name b) { return Name(float(a) op float(b)); }   \
	__host__ __device__ inline float operator op(Name a, float b) { return float(a) op b; }              \
	__host__ __device__ inline float operator op(float a, Name b) { return a op float(b); }              \
	__host__ __device__ inline double operator op(Name a, double b) { return double(float(a)) op b; }    \
	__host__ __device__ inline double operator op(double a, Name b) { return a op double(float(b)); }    \
	__host__ __device__ inline Name operator op(Name a, int b) { return Name(float(a) op float(b)); }    \
	__host__ __device__ inline Name operator op(int a, Name b) { return Name(float(a) op float(b)); }

#define TRIAD_TORCH_COMPARISON(Name, op)                                                                     \
	__host__ __device__ inline bool operator op(Name a, Name b) { return float(a) op float(b); }         \
	__host__ __device__ inline bool operator op(Name a, float b) { return float(a) op b; }               \
	__host__ __device__ inline bool operator op(float a, Name b) { return a op float(b); }               \
	__host__ __device__ inline bool operator op(Name a, int b) { return float(a) op float(b); }

TRIAD_TORCH_NARROW(Half, __half, __float2half, __half2float)
TRIAD_TORCH_NARROW(BFloat16, __nv_bfloat16, __float2bfloat16, __bfloat162float)
#undef TRIAD_TORCH_NARROW
#undef TRIAD_TORCH_OPERATOR
#undef TRIAD_TORCH_COMPARISON

} // namespace c10
#endif
