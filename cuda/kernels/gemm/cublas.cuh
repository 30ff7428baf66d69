// cublas.cuh: NVIDIA's cuBLAS and cuBLASLt behind the interface of a gemm variant; include/cublas_library.cuh has how they are opened, and how they see
// matrices that lie by rows.
//   cublas    one call, with the algorithm that the library takes. It adds to what the output holds: c is copied there first
//   cublaslt  the product described apart from its operands: c is read where it lies, and the algorithm is the first that the library's
//             heuristic names for these sizes, this workspace and sums in fp32. Costs: a description of each matrix for each call
#ifndef TRIAD_GEMM_CUBLAS_CUH
#define TRIAD_GEMM_CUBLAS_CUH
#include "cublaslt_library.cuh"
#include "product.cuh"
#include "register.cuh"

namespace triad {
namespace gemm {

#ifdef __CUEMU__
inline void check_cublas(Check &check, const triad_call *) { check.that(false, "cuBLAS runs on a GPU alone"); }
inline void check_cublaslt(Check &check, const triad_call *) { check.that(false, "cuBLASLt runs on a GPU alone"); }
inline int64_t cublas_workspace(const triad_call *) { return 0; }
template <class T> int cublas(const triad_call *) { return TRIAD_UNSUPPORTED; }
template <class T> int cublaslt(const triad_call *) { return TRIAD_UNSUPPORTED; }
#else
// Columns is an operand as cuBLAS sees it: by columns, ld apart, transposed or not.
struct Columns {
	int op;
	int64_t ld;
	bool fits;
};

// columns_of sees an operand as a matrix with its rows down the columns, or with its reduction down the columns.
template <class T> Columns columns_of(const Operand<T> &x, int64_t rows, int64_t k, bool rows_down) {
	const auto unit = [](int64_t stride, int64_t size) { return size <= 1 || stride == 1; };
	const bool by_rows = unit(x.row_stride, rows) && (k <= 1 || x.k_stride >= rows);     // neighbours are rows
	const bool by_k = unit(x.k_stride, k) && (rows <= 1 || x.row_stride >= k);           // neighbours are along the reduction
	const int64_t ld = by_rows ? (k <= 1 ? rows : x.k_stride) : (rows <= 1 ? k : x.row_stride);
	return {by_rows == rows_down ? Cublas::not_transposed : Cublas::transposed, ld, (by_rows || by_k) && ld <= INT32_MAX};
}

inline int64_t cublas_workspace(const triad_call *) { return cublas_workspace_bytes; }

template <class T> Check &check_columns(Check &check, const triad_call *call) {
	for (int i = 0; i < call->n_out; i++) {
		const Product<T> p = product_of<T>(call, i);
		check.that(p.k > 0, "cuBLAS is not asked for empty sums");
		check.that(p.batch <= INT32_MAX && p.m <= INT32_MAX && p.n <= INT32_MAX && p.k <= INT32_MAX, "cuBLAS takes sizes below 2^31");
		check.that(columns_of(p.a, p.m, p.k, false).fits && columns_of(p.b, p.n, p.k, true).fits,
		           "cuBLAS takes matrices whose rows or columns are neighbours in memory");
	}
	return check;
}

inline void check_call(Check &check, const triad_call *call) {
	check.that(call->attr[alpha] != 0, "cuBLAS does not read a and b where alpha is 0");
	call->in[0].dtype == TRIAD_F32 ? check_columns<float>(check, call) : check_columns<__half>(check, call); // bf16 has the size of fp16
}

inline void check_cublas(Check &check, const triad_call *call) {
	check_call(check, call);
	check.that(Cublas::found() != nullptr, "there is no libcublas.so.13 or libcublas.so.12: install NVIDIA's cuBLAS, or name its folder in "
	           "LD_LIBRARY_PATH");
}

template <class T> int cublas(const triad_call *call) {
	const Cublas *const library = Cublas::found();
	Cublas::Use use;
	if (library != nullptr) use = library->ready(stream_of(call), call->workspace, call->workspace_bytes);
	if (use.handle == nullptr) return static_cast<int>(cudaErrorUnknown);
	return each_product<T>(call, [&](const Product<T> &p, cudaStream_t stream) {
		const Columns a = columns_of(p.a, p.m, p.k, false), b = columns_of(p.b, p.n, p.k, true);
		const float beta = p.c != nullptr ? p.beta : 0.0f;
		if (p.c != nullptr) { // cuBLAS adds to what the output holds
			const size_t bytes = static_cast<size_t>(p.batch * p.m * p.n) * sizeof(T);
			const cudaError_t copied = cudaMemcpyAsync(p.y, p.c, bytes, cudaMemcpyDeviceToDevice, stream);
			if (copied != cudaSuccess) return static_cast<int>(copied);
		}
		const int type = cublas_type<T>;
		const int status = library->multiply(use.handle, b.op, a.op, static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &p.alpha,
		                                     p.b.data, type, static_cast<int>(b.ld), p.b.batch_stride, p.a.data, type, static_cast<int>(a.ld),
		                                     p.a.batch_stride, &beta, p.y, type, static_cast<int>(p.n), p.m * p.n, static_cast<int>(p.batch),
		                                     Cublas::compute_32f, Cublas::default_algorithm);
		return status == 0 ? launched() : static_cast<int>(cudaErrorUnknown);
	});
}

// ---- cublaslt -----------------------------------------------------------------------------------------------------------------------------

inline void check_cublaslt(Check &check, const triad_call *call) {
	check_call(check, call);
	check.that(CublasLt::found() != nullptr, "there is no libcublasLt.so.13 or libcublasLt.so.12: install NVIDIA's cuBLAS, or name its folder in "
	           "LD_LIBRARY_PATH");
}

template <class T> int cublaslt_product(const CublasLt &library, const Product<T> &p, void *workspace, int64_t bytes, cudaStream_t stream) {
	const auto refused = static_cast<int>(cudaErrorUnknown);
	const CublasLt::Handle handle = library.handle();
	const Columns a = columns_of(p.a, p.m, p.k, false), b = columns_of(p.b, p.n, p.k, true);
	const int type = cublas_type<T>;
	Described product(library.destroy_product), preference(library.destroy_preference);
	Described left(library.destroy_matrix), right(library.destroy_matrix), out(library.destroy_matrix);
	const bool b_turned = b.op == CublasLt::transposed, a_turned = a.op == CublasLt::transposed;
	if (handle == nullptr || library.create_product(&product.at, CublasLt::compute_32f, CublasLt::r_32f) != 0 ||
	    library.set_product(product.at, CublasLt::transpose_a, &b.op, sizeof b.op) != 0 ||
	    library.set_product(product.at, CublasLt::transpose_b, &a.op, sizeof a.op) != 0 ||
	    !describe_matrix(library, left, type, b_turned ? p.k : p.n, b_turned ? p.n : p.k, b.ld, p.batch, p.b.batch_stride) ||
	    !describe_matrix(library, right, type, a_turned ? p.m : p.k, a_turned ? p.k : p.m, a.ld, p.batch, p.a.batch_stride) ||
	    !describe_matrix(library, out, type, p.n, p.m, p.n, p.batch, p.m * p.n))
		return refused;
	const auto most = static_cast<uint64_t>(bytes);
	const uint32_t schemes = CublasLt::in_place | CublasLt::in_compute_type;
	const T *const c = p.c != nullptr ? p.c : p.y;
	CublasLt::Heuristic chosen = {};
	int given = 0;
	if (library.create_preference(&preference.at) != 0 ||
	    library.set_preference(preference.at, CublasLt::most_workspace_bytes, &most, sizeof most) != 0 ||
	    library.set_preference(preference.at, CublasLt::reductions, &schemes, sizeof schemes) != 0 ||
	    !prefer_aligned(library, preference.at, CublasLt::aligned_a, p.b.data) ||
	    !prefer_aligned(library, preference.at, CublasLt::aligned_b, p.a.data) ||
	    !prefer_aligned(library, preference.at, CublasLt::aligned_c, c) ||
	    !prefer_aligned(library, preference.at, CublasLt::aligned_d, p.y) ||
	    library.choose(handle, product.at, left.at, right.at, out.at, out.at, preference.at, 1, &chosen, &given) != 0 || given == 0)
		return refused;
	const float beta = p.c != nullptr ? p.beta : 0.0f;
	const int status = library.multiply(handle, product.at, &p.alpha, p.b.data, left.at, p.a.data, right.at, &beta, c, out.at, p.y,
	                                    out.at, chosen.algorithm, workspace, static_cast<size_t>(bytes), stream);
	return status == 0 ? launched() : refused;
}

template <class T> int cublaslt(const triad_call *call) {
	const CublasLt *const library = CublasLt::found();
	if (library == nullptr) return static_cast<int>(cudaErrorUnknown);
	return each_product<T>(call, [&](const Product<T> &p, cudaStream_t stream) {
		return cublaslt_product(*library, p, call->workspace, call->workspace_bytes, stream);
	});
}
#endif

} // namespace gemm
} // namespace triad
#endif
