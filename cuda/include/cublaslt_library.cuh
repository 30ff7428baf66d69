// cublaslt_library.cuh: cuBLASLt, as kernels open it (see cublas_library.cuh): products whose operands are described apart from the call.
#ifndef TRIAD_CUBLASLT_LIBRARY_CUH
#define TRIAD_CUBLASLT_LIBRARY_CUH
#include "cublas_library.cuh"

#ifndef __CUEMU__
namespace triad {

// The functions of cuBLASLt that are called, with the numbers of its enumerations (cublasLt.h).
class CublasLt : public CublasNumbers {
public:
	using Handle = void *;
	struct Heuristic { // cublasLtMatmulHeuristicResult_t
		uint64_t algorithm[8];
		size_t workspace_bytes;
		int state;
		float waves;
		int reserved[4];
	};
	int (*create)(Handle *);
	int (*create_product)(void **, int compute, int scale);
	int (*destroy_product)(void *);
	int (*set_product)(void *, int attribute, const void *value, size_t bytes);
	int (*create_matrix)(void **, int type, uint64_t rows, uint64_t cols, int64_t ld);
	int (*destroy_matrix)(void *);
	int (*set_matrix)(void *, int attribute, const void *value, size_t bytes);
	int (*create_preference)(void **);
	int (*destroy_preference)(void *);
	int (*set_preference)(void *, int attribute, const void *value, size_t bytes);
	int (*choose)(Handle, void *product, void *a, void *b, void *c, void *d, void *preference, int asked, Heuristic *, int *given);
	int (*multiply)(Handle, void *product, const void *alpha, const void *a, void *matrix_a, const void *b, void *matrix_b, const void *beta,
	                const void *c, void *matrix_c, void *d, void *matrix_d, const void *algorithm, void *workspace, size_t workspace_bytes,
	                cudaStream_t);
	enum ProductAttribute { transpose_a = 3, transpose_b = 4 };
	enum MatrixAttribute { batch_count = 5, batch_stride = 6 };
	enum PreferenceAttribute { most_workspace_bytes = 1, reductions = 3, aligned_a = 5, aligned_b = 6, aligned_c = 7, aligned_d = 8 };
	enum Reductions { in_place = 1, in_compute_type = 2 }; // of parts of a sum; 4, in the type of the output, is left out

	// found is the library, or null where there is none.
	static const CublasLt *found() {
		static const CublasLt library;
		return library.multiply != nullptr ? &library : nullptr;
	}

	Handle handle() const {
		static std::mutex mutex;
		static std::map<int, void *> handles;
		return handle_of_device(handles, mutex, create);
	}

private:
	CublasLt() : create(nullptr), multiply(nullptr) {
		void *const at = open_library({"libcublasLt.so.13", "libcublasLt.so.12"});
		if (at == nullptr) return;
		find_function(at, "cublasLtCreate", create);
		find_function(at, "cublasLtMatmulDescCreate", create_product);
		find_function(at, "cublasLtMatmulDescDestroy", destroy_product);
		find_function(at, "cublasLtMatmulDescSetAttribute", set_product);
		find_function(at, "cublasLtMatrixLayoutCreate", create_matrix);
		find_function(at, "cublasLtMatrixLayoutDestroy", destroy_matrix);
		find_function(at, "cublasLtMatrixLayoutSetAttribute", set_matrix);
		find_function(at, "cublasLtMatmulPreferenceCreate", create_preference);
		find_function(at, "cublasLtMatmulPreferenceDestroy", destroy_preference);
		find_function(at, "cublasLtMatmulPreferenceSetAttribute", set_preference);
		find_function(at, "cublasLtMatmulAlgoGetHeuristic", choose);
		if (create && create_product && destroy_product && set_product && create_matrix && destroy_matrix && set_matrix && create_preference &&
		    destroy_preference && set_preference && choose)
			find_function(at, "cublasLtMatmul", multiply);
	}
};

// Described is a description of the library's, which goes with the object.
class Described {
public:
	explicit Described(int (*destroy)(void *)) : destroy(destroy) {}
	~Described() {
		if (at != nullptr) destroy(at);
	}
	Described(const Described &) = delete;
	Described &operator=(const Described &) = delete;
	void *at = nullptr;

private:
	int (*destroy)(void *);
};

// describe_matrix says how a batch of matrices lies; false where the library refuses.
inline bool describe_matrix(const CublasLt &library, Described &matrix, int type, int64_t rows, int64_t cols, int64_t ld, int64_t batch,
                            int64_t stride) {
	const int count = static_cast<int>(batch);
	return library.create_matrix(&matrix.at, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), ld) == 0 &&
	       library.set_matrix(matrix.at, CublasLt::batch_count, &count, sizeof count) == 0 &&
	       library.set_matrix(matrix.at, CublasLt::batch_stride, &stride, sizeof stride) == 0;
}

// prefer_aligned says what an address is aligned to: the library takes 256 bytes for granted, and chooses kernels that need it.
inline bool prefer_aligned(const CublasLt &library, void *preference, int attribute, const void *data) {
	const uint64_t address = reinterpret_cast<uint64_t>(data) | 256;
	const auto bytes = static_cast<uint32_t>(address & -address); // its last bit that is set
	return library.set_preference(preference, attribute, &bytes, sizeof bytes) == 0;
}

} // namespace triad
#endif
#endif
