// integer_product.cuh: the product of two matrices of int8 by cuBLASLt, and the sums of the rows of one and the columns of the other, all in int32.
#ifndef TRIAD_INTEGER_PRODUCT_CUH
#define TRIAD_INTEGER_PRODUCT_CUH
#include "call.cuh"
#include "cublaslt_library.cuh"
#include "rows.cuh"

#ifndef __CUEMU__
namespace triad {

// Lines are the rows of a or the columns of b: their number, how far they and their values are apart.
struct Lines {
	const int8_t *data;
	int64_t lines, line_stride, stride;
};

// A block adds up a line, whose values are neighbours.
static __global__ void integer_long_lines_kernel(Lines x, int k, int *sums) {
	__shared__ int warps[8];
	int sum = 0;
	for (int i = threadIdx.x; i < k; i += 256) sum += x.data[blockIdx.x * x.line_stride + i * x.stride];
	for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lanes);
	if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
	__syncthreads();
	if (threadIdx.x != 0) return;
	for (int w = 1; w < 8; w++) sum += warps[w];
	sums[blockIdx.x] = sum;
}

// Threads take neighbouring lines, and a block 64 values of each: integers add up to the same in any order. The sums begin with 0.
static __global__ void integer_neighbour_lines_kernel(Lines x, int k, int *sums) {
	const int64_t line = blockIdx.x * int64_t{256} + threadIdx.x;
	if (line >= x.lines) return;
	const int first = static_cast<int>(blockIdx.y) * 64, end = first + 64 < k ? first + 64 : k;
	int sum = 0;
	for (int i = first; i < end; i++) sum += x.data[line * x.line_stride + i * x.stride];
	atomicAdd(sums + line, sum);
}

inline int add_lines(const Lines &x, int64_t k, int *sums, cudaStream_t stream) {
	if (x.stride == 1) {
		integer_long_lines_kernel<<<static_cast<unsigned>(x.lines), 256, 0, stream>>>(x, static_cast<int>(k), sums);
		return launched();
	}
	if (const cudaError_t error = cudaMemsetAsync(sums, 0, static_cast<size_t>(x.lines) * sizeof(int), stream)) return error;
	const dim3 grid(blocks_for(x.lines, 256), static_cast<unsigned>((k + 63) / 64));
	integer_neighbour_lines_kernel<<<grid, 256, 0, stream>>>(x, static_cast<int>(k), sums);
	return launched();
}

// IntegerProduct is the description of a call: as for cuBLAS, y^T = b^T a^T by columns.
class IntegerProduct {
public:
	explicit IntegerProduct(const CublasLt &library, const triad_call *call)
	    : library(library), a(call->in[0]), b(call->in[1]), m(a.shape[0]), n(b.shape[1]), k(a.shape[1]), product(library.destroy_product),
	      preference(library.destroy_preference), left(library.destroy_matrix), right(library.destroy_matrix), out(library.destroy_matrix) {}

	// choose describes the product, with its sums at `sums`, and asks for an algorithm; false where the library has none.
	bool choose(const void *sums) {
		const bool b_rows = b.stride[1] == 1, a_rows = a.stride[1] == 1;
		if ((!b_rows && b.stride[0] != 1) || (!a_rows && a.stride[0] != 1)) return false;
		const int turn_b = b_rows ? CublasLt::not_transposed : CublasLt::transposed;
		const int turn_a = a_rows ? CublasLt::not_transposed : CublasLt::transposed;
		const int64_t ld_b = b.stride[b_rows ? 0 : 1], ld_a = a.stride[a_rows ? 0 : 1];
		const auto most = static_cast<uint64_t>(cublas_workspace_bytes);
		int given = 0;
		return library.handle() != nullptr && library.create_product(&product.at, CublasLt::compute_32i, CublasLt::r_32i) == 0 &&
		       library.set_product(product.at, CublasLt::transpose_a, &turn_b, sizeof turn_b) == 0 &&
		       library.set_product(product.at, CublasLt::transpose_b, &turn_a, sizeof turn_a) == 0 &&
		       describe_matrix(library, left, CublasLt::r_8i, b_rows ? n : k, b_rows ? k : n, ld_b, 1, 0) &&
		       describe_matrix(library, right, CublasLt::r_8i, a_rows ? k : m, a_rows ? m : k, ld_a, 1, 0) &&
		       describe_matrix(library, out, CublasLt::r_32i, n, m, n, 1, 0) && library.create_preference(&preference.at) == 0 &&
		       library.set_preference(preference.at, CublasLt::most_workspace_bytes, &most, sizeof most) == 0 &&
		       prefer_aligned(library, preference.at, CublasLt::aligned_a, b.data) &&
		       prefer_aligned(library, preference.at, CublasLt::aligned_b, a.data) &&
		       prefer_aligned(library, preference.at, CublasLt::aligned_c, sums) &&
		       prefer_aligned(library, preference.at, CublasLt::aligned_d, sums) &&
		       library.choose(library.handle(), product.at, left.at, right.at, out.at, out.at, preference.at, 1, &chosen, &given) == 0 && given > 0;
	}

	int multiply(int *sums, void *workspace, cudaStream_t stream) const {
		const int one = 1, zero = 0;
		return library.multiply(library.handle(), product.at, &one, b.data, left.at, a.data, right.at, &zero, sums, out.at, sums, out.at,
		                        chosen.algorithm, workspace, static_cast<size_t>(cublas_workspace_bytes), stream) == 0
		           ? launched()
		           : static_cast<int>(cudaErrorUnknown);
	}

	Lines rows_of_a() const { return {static_cast<const int8_t *>(a.data), m, a.stride[0], a.stride[1]}; }
	Lines columns_of_b() const { return {static_cast<const int8_t *>(b.data), n, b.stride[1], b.stride[0]}; }

private:
	const CublasLt &library;
	const triad_tensor &a, &b;

public:
	const int64_t m, n, k;

private:
	Described product, preference, left, right, out;
	CublasLt::Heuristic chosen = {};
};

} // namespace triad
#endif
#endif
