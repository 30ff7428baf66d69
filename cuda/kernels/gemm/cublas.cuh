// cublas.cuh: NVIDIA's cuBLAS behind the interface of a gemm variant. The library is opened at run time and its header is not needed, so that
// the kernels compile, and the other variants run, where it is not installed. It is looked for where the loader looks, and in the folders of
// TRIAD_CUDA_LIBRARIES (the worker's caller names those of the Python environment).
//
// cuBLAS knows matrices by columns alone: element (row, column) lies at row + column * ld. What lies by rows, y[m][n], is to it a matrix of n
// rows and m columns, the transpose y^T, and y = a b is y^T = b^T a^T: b goes first, a second, and m and n change places. A row-major b[k][n] is
// already b^T by columns ("not transposed"); b[n][k] is b by columns, and is transposed. No element is moved.
#ifndef TRIAD_GEMM_CUBLAS_CUH
#define TRIAD_GEMM_CUBLAS_CUH
#include "product.cuh"
#include "register.cuh"
#ifndef __CUEMU__
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#endif

namespace triad {
namespace gemm {

#ifdef __CUEMU__
inline void check_cublas(Check &check, const triad_call *) { check.that(false, "cuBLAS runs on a GPU alone"); }
inline int64_t cublas_workspace(const triad_call *) { return 0; }
template <class T> int cublas(const triad_call *) { return TRIAD_UNSUPPORTED; }
#else

// The functions of cuBLAS that are called, with the numbers of its enumerations (cublas_api.h, library_types.h).
class Cublas {
public:
	using Handle = void *;
	int (*create)(Handle *);
	int (*set_stream)(Handle, cudaStream_t);
	int (*set_workspace)(Handle, void *, size_t);
	int (*set_math)(Handle, int);
	int (*multiply)(Handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int ld_a, long long stride_a,
	                const void *b, int type_b, int ld_b, long long stride_b, const void *beta, void *c, int type_c, int ld_c, long long stride_c,
	                int batch, int compute, int algorithm);
	enum { not_transposed = 0, transposed = 1, r_32f = 0, r_16f = 2, r_16bf = 14, compute_32f = 68, default_algorithm = -1 };
	enum { no_reduced_precision_reduction = 16 };

	// found is the library, or null where there is none.
	static const Cublas *found() {
		static const Cublas library;
		return library.multiply != nullptr ? &library : nullptr;
	}

	// handle is that of the current device; null where cuBLAS refuses one.
	Handle handle() const {
		static std::mutex mutex;
		static std::map<int, Handle> handles;
		const std::lock_guard<std::mutex> lock(mutex);
		int device = 0;
		if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
		Handle &h = handles[device];
		if (h == nullptr && create(&h) != 0) h = nullptr;
		return h;
	}

private:
	Cublas() : create(nullptr), set_stream(nullptr), set_workspace(nullptr), set_math(nullptr), multiply(nullptr) {
		void *const at = open();
		if (at == nullptr) return;
		find(at, "cublasCreate_v2", create);
		find(at, "cublasSetStream_v2", set_stream);
		find(at, "cublasSetWorkspace_v2", set_workspace);
		find(at, "cublasSetMathMode", set_math);
		if (create && set_stream && set_workspace && set_math) find(at, "cublasGemmStridedBatchedEx", multiply);
	}

	static void *open() {
		for (const char *const name : {"libcublas.so.13", "libcublas.so.12"}) {
			const char *const folders = getenv("TRIAD_CUDA_LIBRARIES");
			for (const char *at = folders; at != nullptr && *at != '\0';) {
				const std::string rest = at, folder = rest.substr(0, rest.find(':'));
				if (void *const library = dlopen((folder + "/" + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
				at += folder.size() < rest.size() ? folder.size() + 1 : folder.size();
			}
			if (void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
		}
		return nullptr;
	}

	template <class F> static void find(void *library, const char *name, F &function) { function = reinterpret_cast<F>(dlsym(library, name)); }
};

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

constexpr int64_t cublas_workspace_bytes = int64_t{32} << 20; // what NVIDIA recommends for Hopper
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

inline void check_cublas(Check &check, const triad_call *call) {
	check.that(call->attr[alpha] != 0, "cuBLAS does not read a and b where alpha is 0");
	call->in[0].dtype == TRIAD_F32 ? check_columns<float>(check, call) : check_columns<__half>(check, call); // bf16 has the size of fp16
	check.that(Cublas::found() != nullptr, "there is no libcublas.so.13 or libcublas.so.12: install NVIDIA's cuBLAS, or name its folder in "
	           "LD_LIBRARY_PATH");
}

template <class T> constexpr int cublas_type = Cublas::r_32f;
template <> constexpr int cublas_type<__half> = Cublas::r_16f;
template <> constexpr int cublas_type<__nv_bfloat16> = Cublas::r_16bf;

template <class T> int cublas(const triad_call *call) {
	const Cublas *const library = Cublas::found();
	const Cublas::Handle handle = library != nullptr ? library->handle() : nullptr;
	if (handle == nullptr || library->set_stream(handle, stream_of(call)) != 0 ||
	    library->set_workspace(handle, call->workspace, static_cast<size_t>(call->workspace_bytes)) != 0 ||
	    library->set_math(handle, Cublas::no_reduced_precision_reduction) != 0)
		return static_cast<int>(cudaErrorUnknown);
	return each_product<T>(call, [&](const Product<T> &p, cudaStream_t stream) {
		const Columns a = columns_of(p.a, p.m, p.k, false), b = columns_of(p.b, p.n, p.k, true);
		const float beta = p.c != nullptr ? p.beta : 0.0f;
		if (p.c != nullptr) { // cuBLAS adds to what the output holds
			const size_t bytes = static_cast<size_t>(p.batch * p.m * p.n) * sizeof(T);
			const cudaError_t copied = cudaMemcpyAsync(p.y, p.c, bytes, cudaMemcpyDeviceToDevice, stream);
			if (copied != cudaSuccess) return static_cast<int>(copied);
		}
		const int type = cublas_type<T>;
		const int status = library->multiply(handle, b.op, a.op, static_cast<int>(p.n), static_cast<int>(p.m), static_cast<int>(p.k), &p.alpha,
		                                     p.b.data, type, static_cast<int>(b.ld), p.b.batch_stride, p.a.data, type, static_cast<int>(a.ld),
		                                     p.a.batch_stride, &beta, p.y, type, static_cast<int>(p.n), p.m * p.n, static_cast<int>(p.batch),
		                                     Cublas::compute_32f, Cublas::default_algorithm);
		return status == 0 ? launched() : static_cast<int>(cudaErrorUnknown);
	});
}
#endif

} // namespace gemm
} // namespace triad
#endif
