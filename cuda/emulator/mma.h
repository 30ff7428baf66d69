// Stands in for CUDA's header of this name: products of matrices by a warp. Element i of lane l is the (32 i + l)-th of the
// matrix by rows; on a GPU it is another one. A product's sum is taken in double and rounded once.
#ifndef CUEMU_MMA_H
#define CUEMU_MMA_H

#include "cuemu/names_aside.h"

#include <type_traits>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuemu/warp.h"

namespace nvcuda {
namespace wmma {

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}

template <class T> struct Stored { typedef T type; };
template <> struct Stored<precision::tf32> { typedef float type; };

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
public:
	static constexpr int rows = std::is_same<Use, matrix_b>::value ? K : M, columns = std::is_same<Use, matrix_a>::value ? K : N;
	static constexpr int num_elements = (rows * columns + 31) / 32, num_storage_elements = num_elements;
	typedef typename Stored<T>::type element_type, storage_element_type;
	element_type x[num_elements];
};

// known_shape: a size and types that tensor cores have.
template <int M, int N, int K, class A> constexpr bool known_shape() {
	const bool sixteen = (M == 16 && N == 16 && K == 16) || (M == 32 && N == 8 && K == 16) || (M == 8 && N == 32 && K == 16);
	const bool small = std::is_same<A, __half>::value || std::is_same<A, __nv_bfloat16>::value || std::is_same<A, signed char>::value ||
	                   std::is_same<A, unsigned char>::value;
	return (sixteen && small) || (M == 16 && N == 16 && K == 8 && std::is_same<A, precision::tf32>::value) ||
	       (M == 8 && N == 8 && K == 4 && std::is_same<A, double>::value);
}

template <class T> CUEMU_PLAIN inline double value_of(T x) { return static_cast<double>(x); }
CUEMU_PLAIN inline double value_of(__half x) { return static_cast<double>(static_cast<float>(x)); }
CUEMU_PLAIN inline double value_of(__nv_bfloat16 x) { return static_cast<double>(static_cast<float>(x)); }

// What a lane of a warp's product works on.
template <class D, class A, class B, class C> struct Lane {
	D *d;
	const A *a;
	const B *b;
	const C *c;
};

// element takes one from the lane that has it; of a lane that has left the kernel, NaN.
template <class F, class L> CUEMU_PLAIN inline double element(void *const *lanes, const F *L::*of, int row, int col) {
	const int i = row * F::columns + col;
	const L *lane = static_cast<const L *>(lanes[i % 32]);
	return lane ? value_of((lane->*of)->x[i / 32]) : static_cast<double>(__builtin_nanf(""));
}

template <class D, class A, class B, class C> CUEMU_PLAIN void multiply(void *const *lanes) {
	typedef Lane<D, A, B, C> L;
	typedef typename D::element_type T;
	double a[A::rows][A::columns], b[B::rows][B::columns], d[D::rows][D::columns];
	for (int m = 0; m < A::rows; m++)
		for (int k = 0; k < A::columns; k++) a[m][k] = element<A, L>(lanes, &L::a, m, k);
	for (int k = 0; k < B::rows; k++)
		for (int n = 0; n < B::columns; n++) b[k][n] = element<B, L>(lanes, &L::b, k, n);
	for (int m = 0; m < D::rows; m++)
		for (int n = 0; n < D::columns; n++) {
			double sum = 0;
			for (int k = 0; k < A::columns; k++) sum += a[m][k] * b[k][n];
			d[m][n] = sum + element<C, L>(lanes, &L::c, m, n);
		}
	for (int i = 0; i < D::rows * D::columns; i++)
		if (L *lane = static_cast<L *>(lanes[i % 32])) {
			const double v = d[i / D::columns][i % D::columns];
			lane->d->x[i / 32] = std::is_integral<T>::value ? static_cast<T>(static_cast<int64_t>(v)) : static_cast<T>(v);
		}
}

template <int M, int N, int K, class TD, class TA, class LA, class TB, class LB, class TC>
inline void mma_sync(fragment<accumulator, M, N, K, TD> &d, const fragment<matrix_a, M, N, K, TA, LA> &a, const fragment<matrix_b, M, N, K, TB, LB> &b,
                     const fragment<accumulator, M, N, K, TC> &c, bool saturate = false, CUEMU_HERE) {
	static_assert(known_shape<M, N, K, TA>() && std::is_same<TA, TB>::value, "tensor cores have no product of this shape and these types");
	if (saturate) cuemu_trap(file, line);
	typedef fragment<accumulator, M, N, K, TD> D;
	typedef fragment<matrix_a, M, N, K, TA, LA> A;
	typedef fragment<matrix_b, M, N, K, TB, LB> B;
	typedef fragment<accumulator, M, N, K, TC> C;
	Lane<D, A, B, C> lane = {&d, &a, &b, &c};
	cuemu::warp_call(&multiply<D, A, B, C>, &lane, file, line);
}

// offset_of is where element i of this lane lies in memory, in elements; negative: the matrix has fewer.
template <class F> inline long offset_of(int i, bool by_rows, unsigned leading) {
	const int n = i * 32 + static_cast<int>(cuemu_lane());
	if (n >= F::rows * F::columns) return -1;
	const long row = n / F::columns, col = n % F::columns;
	return by_rows ? row * static_cast<long>(leading) + col : col * static_cast<long>(leading) + row;
}

extern "C" void cuemu_matrix_address(const void *p, uint64_t row_bytes, const char *file, int line);

template <class F, class T> inline void load(F &f, const T *p, unsigned leading, bool by_rows, const char *file, int line) {
	cuemu_matrix_address(p, leading * sizeof(T), file, line);
	for (int i = 0; i < F::num_elements; i++) {
		const long at = offset_of<F>(i, by_rows, leading);
		if (at >= 0) f.x[i] = p[at];
	}
}

template <class Use, int M, int N, int K, class T, class Layout>
inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &f, const typename Stored<T>::type *p, unsigned leading, CUEMU_HERE) {
	static_assert(!std::is_void<Layout>::value, "an accumulator is loaded with its layout");
	__syncwarp(0xffffffffu, file, line);
	load(f, p, leading, std::is_same<Layout, row_major>::value, file, line);
}
template <int M, int N, int K, class T>
inline void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *p, unsigned leading, layout_t layout, CUEMU_HERE) {
	__syncwarp(0xffffffffu, file, line);
	load(f, p, leading, layout == mem_row_major, file, line);
}
template <int M, int N, int K, class T>
inline void store_matrix_sync(T *p, const fragment<accumulator, M, N, K, T> &f, unsigned leading, layout_t layout, CUEMU_HERE) {
	typedef fragment<accumulator, M, N, K, T> F;
	__syncwarp(0xffffffffu, file, line);
	cuemu_matrix_address(p, leading * sizeof(T), file, line);
	for (int i = 0; i < F::num_elements; i++) {
		const long at = offset_of<F>(i, layout == mem_row_major, leading);
		if (at >= 0) p[at] = f.x[i];
	}
}
template <class Use, int M, int N, int K, class T, class Layout, class V> inline void fill_fragment(fragment<Use, M, N, K, T, Layout> &f, V value) {
	for (auto &x : f.x) x = static_cast<typename Stored<T>::type>(value);
}

// __float_to_tf32 keeps 10 bits of the mantissa, to nearest.
inline float __float_to_tf32(float x) {
	uint32_t bits;
	__builtin_memcpy(&bits, &x, 4);
	if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
	__builtin_memcpy(&x, &bits, 4);
	return x;
}

}  // namespace wmma
}  // namespace nvcuda

#include "cuemu/names_back.h"

#endif
