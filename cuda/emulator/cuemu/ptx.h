// Inline PTX: the rewriter turns each instruction that it knows (cuda/rewrite/instructions.go) into a call of the function of its name here. Which lane
// holds which element of a matrix is as the PTX manual draws it (PTX ISA 8.8, section 9.7.14).
#ifndef CUEMU_PTX_H
#define CUEMU_PTX_H

#include "cuemu/async.h"
#include "cuemu/atomics.h"
#include "cuemu/matrix.h"
#include "cuemu/shared_address.h"

// An address of shared memory is a number of 32 bits, as on a GPU.
inline size_t __cvta_generic_to_shared(const void *p) { return cuemu::shared_address(p); }
inline void *__cvta_shared_to_generic(size_t a) { return cuemu::pointer_to(static_cast<uint32_t>(a)); }

namespace cuemu {
namespace ptx {

// In is an operand of 32 bits that is read, whatever its type; Out one that is written.
struct In {
	uint32_t bits;
	template <class T> In(const T &x) : bits(0) {
		bits = static_cast<uint32_t>(to_bits(x));
	}
};
struct Out {
	void *at;
	Out(const Out &) = default;
	Out(Out &other) : at(other.at) {}
	template <class T> Out(T &x) : at(&x) { static_assert(sizeof(T) == 4, "this operand of an instruction has 32 bits"); }
	template <class T> void set(T value) const { __builtin_memcpy(at, &value, 4); }
};

// Register is one that a statement declares for itself.
struct Register {
	uint64_t bits = 0;
	explicit operator bool() const { return bits != 0; }
};

// wide is the value of an operand of up to 64 bits.
template <class T> inline uint64_t wide(const T &x) {
	if constexpr (std::is_integral_v<T>) return static_cast<uint64_t>(static_cast<int64_t>(x));   // a negative number has its sign in all bits
	else return to_bits(x);
}
inline uint64_t wide(const Register &x) { return x.bits; }
template <class T> inline void assign(T &to, uint64_t bits) { __builtin_memcpy(static_cast<void *>(&to), &bits, sizeof(T) < 8 ? sizeof(T) : 8); }
inline void assign(Register &to, uint64_t bits) { to.bits = bits; }

// beyond is an address so many bytes further on.
template <class T> inline uint64_t beyond(const T &base, long bytes) { return wide(base) + static_cast<uint64_t>(bytes); }

template <class T> inline char *in_shared_memory(const T &a) { return static_cast<char *>(pointer_to(static_cast<uint32_t>(wide(a)))); }
template <class T> inline const char *in_memory(const T &a) { return reinterpret_cast<const char *>(wide(a)); }

template <class D, class S> inline void mov_u32(D &to, const S &from) { assign(to, static_cast<uint32_t>(wide(from))); }
template <class D, class S> inline void mov_b32(D &to, const S &from) { mov_u32(to, from); }
template <class D, class S> inline void mov_u64(D &to, const S &from) { assign(to, wide(from)); }
template <class D, class S> inline void mov_b64(D &to, const S &from) { assign(to, wide(from)); }
template <class D, class S> inline void cvta_to_shared_u64(D &to, const S &from) { assign(to, __cvta_generic_to_shared(in_memory(from))); }
template <class D, class S> inline void cvt_u32_u64(D &to, const S &from) { assign(to, static_cast<uint32_t>(wide(from))); }
template <class A, class B> inline void setp_ne_b32(Register &to, const A &a, const B &b) {
	to.bits = static_cast<uint32_t>(wide(a)) != static_cast<uint32_t>(wide(b));
}
template <class A, class B> inline void setp_ne_u32(Register &to, const A &a, const B &b) { setp_ne_b32(to, a, b); }
template <class A, class B> inline void setp_ne_s32(Register &to, const A &a, const B &b) { setp_ne_b32(to, a, b); }

// ---- special registers
inline uint32_t in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
inline uint32_t laneid() { return cuemu_lane(); }
inline uint32_t warpid() { return in_block() / 32; }
inline uint32_t nwarpid() { return 64; }
inline uint32_t smid() { return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % cuemu::MULTIPROCESSORS; }
inline uint32_t lanemask_eq() { return 1u << laneid(); }
inline uint32_t lanemask_lt() { return lanemask_eq() - 1; }
inline uint32_t lanemask_le() { return lanemask_lt() | lanemask_eq(); }
inline uint32_t lanemask_gt() { return ~lanemask_le(); }
inline uint32_t lanemask_ge() { return ~lanemask_lt(); }
inline uint32_t clock() { return static_cast<uint32_t>(clock64()); }
inline uint64_t clock64() { return static_cast<uint64_t>(::clock64()); }
inline uint64_t globaltimer() { return clock64(); }
#define CUEMU_PTX_INDEX(name, of)                 \
	inline uint32_t name##_x() { return of.x; }      \
	inline uint32_t name##_y() { return of.y; }      \
	inline uint32_t name##_z() { return of.z; }
CUEMU_PTX_INDEX(tid, threadIdx)
CUEMU_PTX_INDEX(ntid, blockDim)
CUEMU_PTX_INDEX(ctaid, blockIdx)
CUEMU_PTX_INDEX(nctaid, gridDim)
#undef CUEMU_PTX_INDEX

// ---- barriers and fences
// A count is one of whole warps, of which the last may have fewer threads.
inline int block_threads() { return static_cast<int>(blockDim.x * blockDim.y * blockDim.z); }
inline int whole_warps() { return (block_threads() + 31) / 32 * 32; }
inline void bar_sync(int number, int threads, CUEMU_HERE) {
	if (threads == whole_warps() && (number == 0 || threads != block_threads())) __syncthreads(file, line);
	else cuemu_named_barrier(number, threads, 1, file, line);
}
inline void bar_sync(int number, CUEMU_HERE) { bar_sync(number, whole_warps(), file, line); }
inline void barrier_sync(int number, CUEMU_HERE) { bar_sync(number, file, line); }
inline void barrier_sync(int number, int threads, CUEMU_HERE) { bar_sync(number, threads, file, line); }
inline void membar_gl() { __threadfence(); }
inline void membar_cta() { __threadfence_block(); }
inline void membar_sys() { __threadfence_system(); }
inline void fence_acq_rel_gpu() { __threadfence(); }

// ---- arithmetic
inline uint32_t low_ones(uint32_t bits) { return bits >= 32 ? ~0u : (1u << bits) - 1; }
// Position and length of a field are the low 8 bits of their operands.
inline void bfe_u32(Out d, In a, In from, In bits) {
	from.bits &= 0xff, bits.bits &= 0xff;
	d.set(from.bits > 31 ? 0 : a.bits >> from.bits & low_ones(bits.bits));
}
inline void bfe_s32(Out d, In a, In from, In bits) {
	from.bits &= 0xff, bits.bits &= 0xff;
	const uint32_t sign_at = from.bits + bits.bits > 32 ? 31 : from.bits + bits.bits - 1;
	const uint32_t field = from.bits > 31 ? 0 : a.bits >> from.bits & low_ones(bits.bits), sign = bits.bits ? a.bits >> (sign_at & 31) & 1 : 0;
	const uint32_t width = from.bits > 31 ? 0 : sign_at - from.bits + 1;
	d.set(sign ? field | ~low_ones(width) : field);
}
inline void bfi_b32(Out d, In field, In into, In from, In bits) {
	from.bits &= 0xff, bits.bits &= 0xff;
	const uint32_t mask = from.bits > 31 ? 0 : low_ones(bits.bits) << from.bits;
	d.set((into.bits & ~mask) | (from.bits > 31 ? 0 : field.bits << from.bits & mask));
}
#define CUEMU_PTX_APPROX(name, expression)                                            \
	inline void name##_approx_f32(Out d, float x) { d.set(static_cast<float>(expression)); } \
	inline void name##_approx_ftz_f32(Out d, float x) { name##_approx_f32(d, x); }
CUEMU_PTX_APPROX(ex2, exp2f(x))
CUEMU_PTX_APPROX(lg2, log2f(x))
CUEMU_PTX_APPROX(rcp, 1.0f / x)
CUEMU_PTX_APPROX(rsqrt, rsqrtf(x))
CUEMU_PTX_APPROX(sqrt, sqrtf(x))
CUEMU_PTX_APPROX(tanh, tanhf(x))
CUEMU_PTX_APPROX(sin, sinf(x))
CUEMU_PTX_APPROX(cos, cosf(x))
#undef CUEMU_PTX_APPROX

// ---- copies that the hardware makes while the kernel goes on
template <class To, class From> inline void copy_async(const To &to, const From &from, int bytes, int read, const char *file, int line) {
	if (bytes != 4 && bytes != 8 && bytes != 16) cuemu_trap(file, line);
	cuemu_copy_async(in_shared_memory(to), in_memory(from), bytes, read, file, line);
}
#define CUEMU_PTX_COPY(name)                                                                                                            \
	template <class To, class From> inline void name(const To &to, const From &from, int bytes, CUEMU_HERE) {                             \
		copy_async(to, from, bytes, bytes, file, line);                                                                                      \
	}                                                                                                                                      \
	template <class To, class From> inline void name(const To &to, const From &from, int bytes, int read, CUEMU_HERE) {                   \
		copy_async(to, from, bytes, read, file, line);                                                                                       \
	}
CUEMU_PTX_COPY(cp_async_ca_shared_global)
CUEMU_PTX_COPY(cp_async_cg_shared_global)
#undef CUEMU_PTX_COPY
inline void cp_async_commit_group() { cuemu_copy_commit(); }
inline void cp_async_wait_group(int pending, CUEMU_HERE) { cuemu_copy_wait(pending, file, line); }
inline void cp_async_wait_all(CUEMU_HERE) {
	cuemu_copy_commit();
	cuemu_copy_wait(0, file, line);
}

// ---- matrices: lanes 8 i to 8 i + 7 name the rows of matrix i; the addresses of other lanes are not read
template <bool transposed, int count, class At> inline void ldmatrix(uint32_t (&r)[4], const At &at, const char *file, int line) {
	static const uint16_t unread[8] __attribute__((aligned(16))) = {};
	const void *row = cuemu_lane() < 8 * count ? in_shared_memory(at) : static_cast<const void *>(unread);
	if (reinterpret_cast<uintptr_t>(row) % 16 != 0) cuemu_trap(file, line);
	load_matrices<transposed>(r, row, file, line);
}
#define CUEMU_PTX_LDMATRIX(kind, transposed)                                                                              \
	template <class At> inline void ldmatrix_sync_aligned_m8n8_x1_##kind(Out a, const At &at, CUEMU_HERE) {                 \
		uint32_t r[4];                                                                                                         \
		ldmatrix<transposed, 1>(r, at, file, line);                                                                            \
		a.set(r[0]);                                                                                                           \
	}                                                                                                                        \
	template <class At> inline void ldmatrix_sync_aligned_m8n8_x2_##kind(Out a, Out b, const At &at, CUEMU_HERE) {          \
		uint32_t r[4];                                                                                                         \
		ldmatrix<transposed, 2>(r, at, file, line);                                                                            \
		a.set(r[0]), b.set(r[1]);                                                                                              \
	}                                                                                                                        \
	template <class At> inline void ldmatrix_sync_aligned_m8n8_x4_##kind(Out a, Out b, Out c, Out d, const At &at, CUEMU_HERE) { \
		uint32_t r[4];                                                                                                         \
		ldmatrix<transposed, 4>(r, at, file, line);                                                                            \
		a.set(r[0]), b.set(r[1]), c.set(r[2]), d.set(r[3]);                                                                    \
	}
CUEMU_PTX_LDMATRIX(shared_b16, false)
CUEMU_PTX_LDMATRIX(trans_shared_b16, true)
#undef CUEMU_PTX_LDMATRIX

// product is d = a b + c with sums in fp32 or int32; what a smaller shape lacks of a and b is zero.
template <class Format>
inline void product(Out d0, Out d1, Out d2, Out d3, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, In c0, In c1, In c2, In c3, const char *file, int line) {
	float d[4] = {float_of(c0.bits), float_of(c1.bits), float_of(c2.bits), float_of(c3.bits)};
	multiply_add<Format>(d, a, b0, b1, file, line);
	d0.set(d[0]), d1.set(d[1]), d2.set(d[2]), d3.set(d[3]);
}

#define CUEMU_PTX_PRODUCT(type, Format)                                                                                                              \
	inline void mma_sync_aligned_m16n8k16_row_col_f32_##type##_##type##_f32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In a2, In a3, In b0, In b1, \
	                                                                        In c0, In c1, In c2, In c3, CUEMU_HERE) {                                \
		product<Format>(d0, d1, d2, d3, {a0.bits, a1.bits, a2.bits, a3.bits}, b0.bits, b1.bits, c0, c1, c2, c3, file, line);                           \
	}                                                                                                                                                \
	inline void mma_sync_aligned_m16n8k8_row_col_f32_##type##_##type##_f32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In b0, In c0, In c1, In c2,  \
	                                                                       In c3, CUEMU_HERE) {                                                      \
		product<Format>(d0, d1, d2, d3, {a0.bits, a1.bits, 0, 0}, b0.bits, 0, c0, c1, c2, c3, file, line);                                            \
	}
CUEMU_PTX_PRODUCT(f16, Half)
CUEMU_PTX_PRODUCT(bf16, Bfloat16)
#undef CUEMU_PTX_PRODUCT

// Sums of halves: taken as the others, then rounded to pairs.
inline void product_of_halves(Out d0, Out d1, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, In c0, In c1, const char *file, int line) {
	float d[4] = {Half::decode(c0.bits & 0xffffu), Half::decode(c0.bits >> 16), Half::decode(c1.bits & 0xffffu), Half::decode(c1.bits >> 16)};
	multiply_add<Half>(d, a, b0, b1, file, line);
	d0.set(Half::encode(d[0]) | Half::encode(d[1]) << 16);
	d1.set(Half::encode(d[2]) | Half::encode(d[3]) << 16);
}
inline void mma_sync_aligned_m16n8k16_row_col_f16_f16_f16_f16(Out d0, Out d1, In a0, In a1, In a2, In a3, In b0, In b1, In c0, In c1, CUEMU_HERE) {
	product_of_halves(d0, d1, {a0.bits, a1.bits, a2.bits, a3.bits}, b0.bits, b1.bits, c0, c1, file, line);
}
inline void mma_sync_aligned_m16n8k8_row_col_f16_f16_f16_f16(Out d0, Out d1, In a0, In a1, In b0, In c0, In c1, CUEMU_HERE) {
	product_of_halves(d0, d1, {a0.bits, a1.bits, 0, 0}, b0.bits, 0, c0, c1, file, line);
}

// Elements of int8; a sum beyond int32 wraps.
inline void product_of_bytes(Out d0, Out d1, Out d2, Out d3, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, In c0, In c1, In c2, In c3, const char *file,
                             int line) {
	int32_t d[4] = {static_cast<int32_t>(c0.bits), static_cast<int32_t>(c1.bits), static_cast<int32_t>(c2.bits), static_cast<int32_t>(c3.bits)};
	multiply_add(d, a, b0, b1, file, line);
	d0.set(d[0]), d1.set(d[1]), d2.set(d[2]), d3.set(d[3]);
}
inline void mma_sync_aligned_m16n8k32_row_col_s32_s8_s8_s32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In a2, In a3, In b0, In b1, In c0, In c1, In c2,
                                                            In c3, CUEMU_HERE) {
	product_of_bytes(d0, d1, d2, d3, {a0.bits, a1.bits, a2.bits, a3.bits}, b0.bits, b1.bits, c0, c1, c2, c3, file, line);
}
inline void mma_sync_aligned_m16n8k16_row_col_s32_s8_s8_s32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In b0, In c0, In c1, In c2, In c3, CUEMU_HERE) {
	product_of_bytes(d0, d1, d2, d3, {a0.bits, a1.bits, 0, 0}, b0.bits, 0, c0, c1, c2, c3, file, line);
}

// Elements of tf32, which are fp32 whose last 13 bits do not count: element (lane / 4, lane % 4) of each quarter of A and half of B.
inline CUEMU_PLAIN void multiply_tf32(void *const *lanes) {
	double a[16][8], b[8][8];
	for (int l = 0; l < 32; l++) {
		const Fragments *f = static_cast<const Fragments *>(lanes[l]);
		const int across = l / 4, along = l % 4;
		auto element = [&](const uint32_t *bits) CUEMU_PLAIN { return static_cast<double>(float_of(f ? *bits & ~0x1fffu : ~0u)); };
		for (int i = 0; i < 4; i++) a[across + i % 2 * 8][along + i / 2 * 4] = element(f ? f->a + i : nullptr);
		for (int i = 0; i < 2; i++) b[along + i * 4][across] = element(f ? f->b + i : nullptr);
	}
	for (int l = 0; l < 32; l++) {
		if (!lanes[l]) continue;
		Fragments &f = *static_cast<Fragments *>(lanes[l]);
		for (int i = 0; i < 4; i++) {
			double sum = 0;
			for (int k = 0; k < 8; k++) sum += a[l / 4 + i / 2 * 8][k] * b[k][2 * (l % 4) + i % 2];
			f.d[i] = static_cast<float>(static_cast<double>(f.d[i]) + sum);
		}
	}
}
inline void product_of_tf32(Out d0, Out d1, Out d2, Out d3, const uint32_t (&a)[4], uint32_t b0, uint32_t b1, In c0, In c1, In c2, In c3, const char *file,
                            int line) {
	Fragments lane = {{a[0], a[1], a[2], a[3]}, {b0, b1}, {float_of(c0.bits), float_of(c1.bits), float_of(c2.bits), float_of(c3.bits)}};
	warp_call(&multiply_tf32, &lane, file, line);
	d0.set(lane.d[0]), d1.set(lane.d[1]), d2.set(lane.d[2]), d3.set(lane.d[3]);
}
inline void mma_sync_aligned_m16n8k8_row_col_f32_tf32_tf32_f32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In a2, In a3, In b0, In b1, In c0, In c1, In c2,
                                                               In c3, CUEMU_HERE) {
	product_of_tf32(d0, d1, d2, d3, {a0.bits, a1.bits, a2.bits, a3.bits}, b0.bits, b1.bits, c0, c1, c2, c3, file, line);
}
inline void mma_sync_aligned_m16n8k4_row_col_f32_tf32_tf32_f32(Out d0, Out d1, Out d2, Out d3, In a0, In a1, In b0, In c0, In c1, In c2, In c3, CUEMU_HERE) {
	product_of_tf32(d0, d1, d2, d3, {a0.bits, a1.bits, 0, 0}, b0.bits, 0, c0, c1, c2, c3, file, line);
}

}  // namespace ptx
}  // namespace cuemu

#endif
