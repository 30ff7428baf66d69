// threshold.cuh: top_k for small k; cuda/kernels/top_k.cu has the formula and calls launch.
//
//   1  a block loads a part of a row, up to 4096 columns, 16 bytes at a time, and keeps it as entries: key above column, so that no two are equal
//   2  it finds a bound that at least k and few more entries reach, and ranks those by counting (best.cuh)
//   3  the rank is the place in the output; of a row of several parts the k best of each go to the workspace, and further launches choose
#ifndef TRIAD_TOP_K_THRESHOLD_CUH
#define TRIAD_TOP_K_THRESHOLD_CUH
#include "best.cuh"

namespace triad {
namespace top_k {

// Output takes the best of a part: outputs where a row has one part, else entries for the next launch.
template <class T> struct Output {
	Rows<const T> x;
	T *values;
	int32_t *indices; // may be null
	Rank *left;
	int k;

	__device__ void put(const best::Cut &cut, int64_t row, int64_t at, uint32_t rank, Rank entry) const {
		if (cut.parts > 1) return best::put_left(left, cut, row, at, k, rank, entry);
		const int32_t column = place_of(entry);
		values[row * k + rank] = x.row(row)[column];
		if (indices != nullptr) indices[row * k + rank] = column;
	}
};

// aligned: the rows of x begin at a multiple of 16 bytes.
template <class T, int Items>
__global__ void __launch_bounds__(best::threads, sizeof(T) == 4 ? 4 : 8) top_k_threshold_kernel(Output<T> out, best::Cut cut, int64_t rows, bool aligned) {
	for (int64_t at = blockIdx.x; at < rows * cut.parts; at += gridDim.x) {
		const int64_t row = at / cut.parts;
		const int begin = cut.begin(row, at);
		typename best::EntryOf<T>::Type own[Items];
		best::read_entries(out.x.row(row), begin, cut.of(begin), aligned, own);
		best::select<T>(own, static_cast<uint32_t>(out.k), [&](uint32_t rank, auto entry) {
			out.put(cut, row, at, rank, entry == 0 ? 0 : best::widen(entry, begin));
		});
	}
}

template <class T> best::Left<T> left_of(const triad_call *call) {
	return best::Left<T>(call, call->in[0].shape[0], call->in[0].shape[1], call->out[0].shape[1]);
}

template <class T> int launch(const triad_call *call) {
	const triad_tensor &x = call->in[0];
	const int64_t rows = x.shape[0], cols = x.shape[1];
	if (rows == 0) return TRIAD_OK;
	const best::Left<T> left = left_of<T>(call);
	const Output<T> out{Rows<const T>(x), static_cast<T *>(call->out[0].data), static_cast<int32_t *>(call->out[1].data), left.of[0],
	                    static_cast<int>(call->out[0].shape[1])};
	const bool aligned = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && (rows == 1 || x.stride[0] * static_cast<int64_t>(sizeof(T)) % 16 == 0);
	const best::Cut cut(cols, vector<T>);
	const auto kernel = cols <= best::part / 4 ? top_k_threshold_kernel<T, best::most_items / 4> : top_k_threshold_kernel<T, best::most_items>;
	kernel<<<blocks_for(rows * cut.parts, 1), best::threads, 0, stream_of(call)>>>(out, cut, rows, aligned);
	best::choose(cut, rows, left, out, stream_of(call));
	return launched();
}

} // namespace top_k
} // namespace triad
#endif
