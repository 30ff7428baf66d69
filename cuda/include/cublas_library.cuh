// cublas_library.cuh: NVIDIA's libraries of products, cuBLAS and cuBLASLt, as kernels open them. A library is opened at run time and its header is not
// needed, so that the kernels compile, and the other variants run, where it is not installed. It is looked for in the folders of
// TRIAD_CUDA_LIBRARIES (the worker's caller names those of the Python environment), and where the loader looks.
//
// cuBLAS knows matrices by columns alone: element (row, column) lies at row + column * ld. What lies by rows, y[m][n], is to it a matrix of n
// rows and m columns, the transpose y^T, and y = a b is y^T = b^T a^T: b goes first, a second, and m and n change places. A row-major b[k][n] is
// already b^T by columns ("not transposed"); b[n][k] is b by columns, and is transposed. No element is moved.
#ifndef TRIAD_CUBLAS_LIBRARY_CUH
#define TRIAD_CUBLAS_LIBRARY_CUH
#include <cuda_runtime.h>

#include "element.cuh"

#ifndef __CUEMU__
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>

namespace triad {

// open_library is the first of these names that the loader finds; null where there is none.
inline void *open_library(std::initializer_list<const char *> names) {
	for (const char *const name : names) {
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

// find_function sets what a library has under a name, null where it has nothing.
template <class F> void find_function(void *library, const char *name, F &function) { function = reinterpret_cast<F>(dlsym(library, name)); }

// The numbers of enumerations that both libraries share (cublas_api.h, library_types.h).
struct CublasNumbers {
	enum { not_transposed = 0, transposed = 1, r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, compute_32f = 68, compute_32i = 72 };
};
template <class T> constexpr int cublas_type = CublasNumbers::r_32f;
template <> constexpr int cublas_type<__half> = CublasNumbers::r_16f;
template <> constexpr int cublas_type<__nv_bfloat16> = CublasNumbers::r_16bf;

// handle_of_device is that of the current device, made by `create` on first use; null where the library refuses one.
template <class Create> void *handle_of_device(std::map<int, void *> &handles, std::mutex &mutex, Create create) {
	const std::lock_guard<std::mutex> lock(mutex);
	int device = 0;
	if (cudaGetDevice(&device) != cudaSuccess) return nullptr;
	void *&h = handles[device];
	if (h == nullptr && create(&h) != 0) h = nullptr;
	return h;
}

// The functions of cuBLAS that are called.
class Cublas : public CublasNumbers {
public:
	using Handle = void *;
	int (*create)(Handle *);
	int (*set_stream)(Handle, cudaStream_t);
	int (*set_workspace)(Handle, void *, size_t);
	int (*set_math)(Handle, int);
	int (*multiply)(Handle, int op_a, int op_b, int m, int n, int k, const void *alpha, const void *a, int type_a, int ld_a, long long stride_a,
	                const void *b, int type_b, int ld_b, long long stride_b, const void *beta, void *c, int type_c, int ld_c, long long stride_c,
	                int batch, int compute, int algorithm);
	enum { default_algorithm = -1, no_reduced_precision_reduction = 16 };

	// found is the library, or null where there is none.
	static const Cublas *found() {
		static const Cublas library;
		return library.multiply != nullptr ? &library : nullptr;
	}

	// Use is the handle of a device, which nobody else has meanwhile: its stream and workspace are state of its own. Null where cuBLAS refuses.
	struct Use {
		Handle handle = nullptr;
		std::unique_lock<std::mutex> alone;
	};

	// ready sets the handle of the current device to a stream and a workspace, with sums in fp32.
	Use ready(cudaStream_t stream, void *workspace, int64_t workspace_bytes) const {
		static std::mutex mutex, in_use;
		static std::map<int, void *> handles;
		const Handle h = handle_of_device(handles, mutex, create);
		Use use;
		use.alone = std::unique_lock<std::mutex>(in_use);
		if (h != nullptr && set_stream(h, stream) == 0 && set_workspace(h, workspace, static_cast<size_t>(workspace_bytes)) == 0 &&
		    set_math(h, no_reduced_precision_reduction) == 0)
			use.handle = h;
		return use;
	}

	// rows_product starts y[i,j] = sum_k a[i,k] b[j,k], plus what y holds where it `adds`; rows of y are contiguous, pitch elements apart. Of an operand
	// with data, row_stride and k_stride one stride is 1. Sizes are below 2^31, depth is not 0. The status of cuBLAS.
	template <class T, class Y, class Operand>
	int rows_product(Handle handle, const Operand &a, const Operand &b, Y *y, int64_t pitch, int64_t rows, int64_t cols, int64_t depth, bool adds) const {
		const auto along_k = [](const Operand &x) { return x.k_stride == 1; };
		const auto ld = [&](const Operand &x, int64_t size) { return static_cast<int>(along_k(x) ? std::max(x.row_stride, depth) : std::max(x.k_stride, size)); };
		const float one = 1.0f, beta = adds ? 1.0f : 0.0f;
		return multiply(handle, along_k(b) ? transposed : not_transposed, along_k(a) ? not_transposed : transposed, static_cast<int>(cols),
		                static_cast<int>(rows), static_cast<int>(depth), &one, b.data, cublas_type<T>, ld(b, cols), 0, a.data, cublas_type<T>, ld(a, rows), 0,
		                &beta, y, cublas_type<Y>, static_cast<int>(pitch), 0, 1, compute_32f, default_algorithm);
	}

private:
	Cublas() : create(nullptr), set_stream(nullptr), set_workspace(nullptr), set_math(nullptr), multiply(nullptr) {
		void *const at = open_library({"libcublas.so.13", "libcublas.so.12"});
		if (at == nullptr) return;
		find_function(at, "cublasCreate_v2", create);
		find_function(at, "cublasSetStream_v2", set_stream);
		find_function(at, "cublasSetWorkspace_v2", set_workspace);
		find_function(at, "cublasSetMathMode", set_math);
		if (create && set_stream && set_workspace && set_math) find_function(at, "cublasGemmStridedBatchedEx", multiply);
	}
};

} // namespace triad
#endif

namespace triad {

constexpr int64_t cublas_workspace_bytes = int64_t{32} << 20; // what NVIDIA recommends for Hopper

} // namespace triad
#endif
