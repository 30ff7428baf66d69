// cublaslt.cuh: int8_gemm by NVIDIA's cuBLASLt, whose product knows no zero points: it gives sums of int32 in the workspace, kernels of ours add up the
// rows of a and the columns of b where a zero point asks for them, and a last one scales and rounds. Which layouts and sizes the library multiplies
// is asked of it: it has no algorithm where a size is no multiple of 4. Of a b that lies along its rows it multiplies by a kernel ten times as slow as
// sm90_wgmma: its fast ones want both operands along k, and nothing is moved here (torch/int_mm moves b first).
#ifndef TRIAD_INT8_GEMM_CUBLASLT_CUH
#define TRIAD_INT8_GEMM_CUBLASLT_CUH
#include "arguments.cuh"
#include "call.cuh"
#include "integer_product.cuh"
#include "quantiser.cuh"

namespace triad {
namespace int8_gemm {

#ifdef __CUEMU__
inline void check_cublaslt(Check &check, const triad_call *) { check.that(false, "cuBLASLt runs on a GPU alone"); }
inline int64_t cublaslt_workspace(const triad_call *) { return 0; }
inline int cublaslt(const triad_call *) { return TRIAD_UNSUPPORTED; }
#else
static __global__ void cublaslt_quantise_kernel(const int *product, const int *sums_a, const int *sums_b, int8_t *c, int64_t m, int64_t n, int k, Quantiser q) {
	const int64_t i = blockIdx.x * int64_t{256} + threadIdx.x;
	if (i < m * n) c[i] = q.of_sums(product[i], q.zero_b != 0 ? sums_a[i / n] : 0, q.zero_a != 0 ? sums_b[i % n] : 0, k);
}

inline int64_t cublaslt_workspace(const triad_call *call) {
	const int64_t m = call->out[0].shape[0], n = call->out[0].shape[1];
	return cublas_workspace_bytes + (m * n + m + n) * static_cast<int64_t>(sizeof(int));
}

inline void check_cublaslt(Check &check, const triad_call *call) {
	const CublasLt *const library = CublasLt::found();
	check.that(library != nullptr, "there is no libcublasLt.so.13 or libcublasLt.so.12: install NVIDIA's cuBLAS, or name its folder in "
	           "LD_LIBRARY_PATH");
	if (library == nullptr) return;
	check.that(call->out[0].shape[0] > 0, "cuBLASLt multiplies no empty matrix");
	check.that(call->out[0].shape[0] <= 0 || IntegerProduct(*library, call).choose(nullptr), // of the workspace, which begins at 256 bytes
	           "cuBLASLt has no algorithm for these sizes, strides and addresses");
}

inline int cublaslt(const triad_call *call) {
	const CublasLt *const library = CublasLt::found();
	if (library == nullptr) return static_cast<int>(cudaErrorUnknown);
	IntegerProduct p(*library, call);
	int *const sums = reinterpret_cast<int *>(static_cast<char *>(call->workspace) + cublas_workspace_bytes);
	int *const sums_a = sums + p.m * p.n, *const sums_b = sums_a + p.m;
	const cudaStream_t stream = stream_of(call);
	const Quantiser q(call);
	if (!p.choose(sums)) return static_cast<int>(cudaErrorUnknown);
	if (const int error = p.multiply(sums, call->workspace, stream)) return error;
	if (q.zero_b != 0)
		if (const int error = add_lines(p.rows_of_a(), p.k, sums_a, stream)) return error;
	if (q.zero_a != 0)
		if (const int error = add_lines(p.columns_of_b(), p.k, sums_b, stream)) return error;
	cublaslt_quantise_kernel<<<blocks_for(p.m * p.n, 256), 256, 0, stream>>>(sums, sums_a, sums_b, static_cast<int8_t *>(call->out[0].data), p.m, p.n,
	                                                                       static_cast<int>(p.k), q);
	return launched();
}
#endif

} // namespace int8_gemm
} // namespace triad
#endif
