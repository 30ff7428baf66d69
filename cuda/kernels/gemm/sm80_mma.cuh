// sm80_mma.cuh: gemm of 16-bit operands on tensor cores (mma.sync.m16n8k16, sm_80 and newer), with fp32 sums; mma_product.cuh says how.
#ifndef TRIAD_GEMM_SM80_MMA_CUH
#define TRIAD_GEMM_SM80_MMA_CUH
#include "product.cuh"
#include "hopper/mma_product.cuh"

namespace triad {
namespace gemm {

using hopper::Mma;
using hopper::MmaTile;

template <class T, bool AlongKA, bool AlongKB> __global__ void __launch_bounds__(Mma::threads, 2) sm80_mma_kernel(Product<T> p) {
	using TileA = MmaTile<Mma::m, AlongKA>;
	using TileB = MmaTile<Mma::n, AlongKB>;
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t across = (p.n + Mma::n - 1) / Mma::n, down = (p.m + Mma::m - 1) / Mma::m;
	const int64_t matrix = blockIdx.x / (across * down), row0 = blockIdx.x / across % down * Mma::m, col0 = blockIdx.x % across * Mma::n;
	const hopper::MmaProduct<Operand<T>> part = {p.a.matrix(matrix), p.b.matrix(matrix), row0, p.m, col0, p.n, p.k};
	const hopper::MmaSums<T> sums = hopper::mma_product<T, TileA, TileB>(mma_tiles, part);
	T *const y = p.y + matrix * p.m * p.n;
	if (p.c == nullptr && p.n % Mma::chunk == 0 && reinterpret_cast<uintptr_t>(y) % 16 == 0) sums.store_rows(y, p.alpha);
	else sums.each([&](int64_t row, int64_t col, float sum) { p.store(matrix, row, col, sum); });
}

// lies_along_k says which dim of an operand is contiguous; the stride of a dim of one element says nothing.
template <class T> bool lies_along_k(const Operand<T> &x, int64_t k) { return x.k_stride == 1 && k % Mma::chunk == 0; }

template <class T> int sm80_mma(const triad_call *call) {
	using Largest = hopper::MmaTiles<T, MmaTile<Mma::m, true>, MmaTile<Mma::n, true>>;
	return each_product<T>(call, [](const Product<T> &p, cudaStream_t stream) {
		const unsigned blocks = static_cast<unsigned>(p.batch * ceil_div(p.m, Mma::m) * ceil_div(p.n, Mma::n));
		const bool a = lies_along_k(p.a, p.k), b = lies_along_k(p.b, p.k);
		void (*const kernel)(Product<T>) = a ? (b ? sm80_mma_kernel<T, true, true> : sm80_mma_kernel<T, true, false>)
		                                     : (b ? sm80_mma_kernel<T, false, true> : sm80_mma_kernel<T, false, false>);
		if (const int status = Largest::allow(kernel)) return status;
		kernel<<<blocks, Mma::threads, Largest::bytes, stream>>>(p);
		return launched();
	});
}

} // namespace gemm
} // namespace triad
#endif
