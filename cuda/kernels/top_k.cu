// top_k: values[r,i] = x[r, indices[r,i]]: the k largest elements of each row, falling, with the columns they stand in
// Layout   x: [rows, cols]; values, indices: [rows, k], contiguous; fp32, fp16, bf16; indices are int32. An element is copied, never
//          computed: -0 stays -0, and a NaN keeps its payload.
// Order    NaN before everything, then falling; 0 and -0 are equal. Of equal elements heap takes any, the others the first in their row
//          (threshold in 16 bits: 0 before -0).
// Limits   rows = 0 launches nothing; 1 <= k <= cols; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Batcher 1968, Sorting networks and their applications (bitonic); Alabi et al. 2012, Fast k-selection algorithms (radix)
//   heap      a thread a row, the best so far in a heap that lies in the outputs; any strides; the readable
//             one, and the one to trust first. Costs: threads of a warp read 32 rows, and each waits for the
//             one with most to put in
//   bitonic   a block sorts a whole row in shared memory: log^2 steps, whatever k is; cols <= 4096. Costs: a
//             barrier a step, and sorting what nobody asked for
//   radix     a block a row: counts the leading digits of all elements until the k-th is found, and sorts those before it; reads a row three
//             (16 bits) to six times (fp32 with equal elements), mostly from the L2 cache; any cols, k <= 2048
//   threshold a block a row, or a part of 4096 columns, in registers: the k-th best of the threads' best is a bound that few elements reach,
//             and each of those counts how many are better. Reads a row once; k <= 128. Costs: a second launch for longer rows
#include "element.cuh"
#include "order.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/top_k.cuh"
#include "top_k/threshold.cuh"

namespace {

using triad::key_of;

// ---- order ------------------------------------------------------------------------------------------------------------------------------

// An entry is a key with its column, so that the larger of two entries is the better, and of equal elements the one in the earlier column.
// Columns take the low half: last - column, with 0 <= column <= last. 0 is no element's entry: what pads a row to a power of two.
using Entry = unsigned long long;

template <class T> __device__ Entry entry_of(T element, int64_t column, uint32_t last) {
	return Entry{key_of(element)} << 32 | (last - static_cast<uint32_t>(column));
}

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// Heap is a row of the outputs while it is filled: no element is better than those below it, place i being above 2i + 1 and 2i + 2. indices
// may be null.
template <class T> struct Heap {
	T *values;
	int32_t *indices;

	__device__ void set(int64_t i, T value, int32_t col) {
		values[i] = value;
		if (indices != nullptr) indices[i] = col;
	}

	// down puts an element into place i of the first n, or below.
	__device__ void down(int64_t i, int64_t n, T value, int32_t col) {
		const uint32_t key = key_of(value);
		while (2 * i + 1 < n) {
			int64_t worse = 2 * i + 1;
			if (worse + 1 < n && key_of(values[worse + 1]) < key_of(values[worse])) worse++;
			if (key <= key_of(values[worse])) break;
			set(i, values[worse], col_of(worse));
			i = worse;
		}
		set(i, value, col);
	}

	__device__ int32_t col_of(int64_t i) const { return indices == nullptr ? 0 : indices[i]; }
};

template <class T>
__global__ void top_k_heap_kernel(triad::Matrix<const T> x, T *values, int32_t *indices, int64_t rows, int64_t cols, int64_t k) {
	const int64_t row = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (row >= rows) return;
	Heap<T> heap{values + row * k, indices == nullptr ? nullptr : indices + row * k};
	for (int64_t c = 0; c < k; c++) heap.set(c, x(row, c), static_cast<int32_t>(c));
	for (int64_t i = k / 2 - 1; i >= 0; i--) heap.down(i, k, heap.values[i], heap.col_of(i));
	for (int64_t c = k; c < cols; c++)
		if (key_of(x(row, c)) > key_of(heap.values[0])) heap.down(0, k, x(row, c), static_cast<int32_t>(c));
	for (int64_t n = k - 1; n > 0; n--) { // the worst that is left goes to the end
		const T last = heap.values[n];
		const int32_t col = heap.col_of(n);
		heap.set(n, heap.values[0], heap.col_of(0));
		heap.down(0, n, last, col);
	}
}

// write_entries writes the first k of the sorted entries: what they point to.
template <class T, int Threads>
__device__ void write_entries(const Entry *entries, uint32_t last, const T *x, T *values, int32_t *indices, int64_t k) {
	for (int64_t i = threadIdx.x; i < k; i += Threads) {
		const uint32_t column = last - static_cast<uint32_t>(entries[i]);
		values[i] = x[column];
		if (indices != nullptr) indices[i] = static_cast<int32_t>(column);
	}
}

template <class T, int Threads, int Most>
__global__ void __launch_bounds__(Threads)
    top_k_bitonic_kernel(triad::Rows<const T> x, T *values, int32_t *indices, int64_t rows, int cols, int padded, int k) {
	__shared__ Entry entries[Most];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		for (int c = threadIdx.x; c < padded; c += Threads) entries[c] = c < cols ? entry_of(from[c], c, padded - 1) : 0;
		triad::sort_falling<Threads>(entries, padded);
		write_entries<T, Threads>(entries, padded - 1, from, values + row * k, indices == nullptr ? nullptr : indices + row * k, k);
		__syncthreads(); // the next row overwrites the entries
	}
}

// Radix finds the k-th largest entry digit by digit, from the first: it counts how many entries that begin as the k-th does have each next
// digit, and takes the digit in which the k-th lies, until all that begin so are wanted.
constexpr int digit_bits = 11, digits = 1 << digit_bits;

struct Found {
	Entry prefix; // what is known of the k-th entry, in place
	int rank;     // how many of the entries that begin so are wanted
	bool all;     // all of them are
};

// next_digit extends what is known by the digit of `width` bits from bit `shift` on.
template <class T, int Threads>
__device__ Found next_digit(const T *x, int64_t cols, uint32_t last, Found known, int shift, int width, int *counts, int *scratch, Found *found) {
	for (int d = threadIdx.x; d < digits; d += Threads) counts[d] = 0;
	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += Threads) {
		const Entry e = entry_of(x[c], c, last);
		if ((e ^ known.prefix) >> shift >> width == 0) atomicAdd(&counts[e >> shift & ((1 << width) - 1)], 1);
	}
	__syncthreads();
	constexpr int each = digits / Threads; // neighbouring digits of a thread
	const int first = static_cast<int>(threadIdx.x) * each;
	int own = 0;
	for (int d = first; d < first + each; d++) own += counts[d];
	int above = triad::sum_of_later<Threads>(own, scratch); // entries with a larger digit
	for (int d = first + each - 1; d >= first; above += counts[d--])
		if (above < known.rank && known.rank <= above + counts[d])
			*found = {known.prefix | static_cast<Entry>(d) << shift, known.rank - above, known.rank == above + counts[d]};
	__syncthreads();
	return *found;
}

template <class T, int Threads, int Most>
__global__ void __launch_bounds__(Threads, 2) // without the 2 ptxas aims at more blocks, and spills
    top_k_radix_kernel(triad::Rows<const T> x, T *values, int32_t *indices, int64_t rows, int64_t cols, int column_bits, int k, int padded) {
	__shared__ Entry entries[Most];
	__shared__ int counts[digits], scratch[Threads / 32], slot;
	__shared__ Found found;
	const uint32_t last = (uint32_t{1} << column_bits) - 1;
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		Found kth{0, k, false};
		for (int left = 32 + 8 * static_cast<int>(sizeof(T)); left > 0 && !kth.all;) { // first the key, then the column where keys are equal
			const int above = left > 32 ? left - 32 : left, width = above < digit_bits ? above : digit_bits;
			kth = next_digit<T, Threads>(from, cols, last, kth, left - width, width, counts, scratch, &found);
			left = left - width == 32 ? column_bits : left - width;
		}
		for (int i = k + threadIdx.x; i < padded; i += Threads) entries[i] = 0;
		if (threadIdx.x == 0) slot = 0;
		__syncthreads();
		for (int64_t c = threadIdx.x; c < cols; c += Threads) { // the k best, in any order
			const Entry e = entry_of(from[c], c, last);
			if (e >= kth.prefix) entries[atomicAdd(&slot, 1)] = e;
		}
		triad::sort_falling<Threads>(entries, padded);
		write_entries<T, Threads>(entries, last, from, values + row * k, indices == nullptr ? nullptr : indices + row * k, k);
		__syncthreads();
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int bitonic_most = 4096, radix_most = 2048;

// bits_of is the smallest number of bits that tell n things apart.
int bits_of(int64_t n) {
	int bits = 0;
	while (int64_t{1} << bits < n) bits++;
	return bits;
}

template <class T> struct Call {
	int64_t rows, cols, k;
	T *values;
	int32_t *indices;

	explicit Call(const triad_call *call)
	    : rows(call->in[0].shape[0]), cols(call->in[0].shape[1]), k(call->out[0].shape[1]), values(static_cast<T *>(call->out[0].data)),
	      indices(static_cast<int32_t *>(call->out[1].data)) {}
};

template <class T> int top_k_heap(const triad_call *call) {
	constexpr int threads = 64; // few, so that few rows fill many multiprocessors
	const Call<T> c(call);
	if (c.rows == 0) return TRIAD_OK;
	top_k_heap_kernel<T><<<triad::blocks_for(c.rows, threads), threads, 0, triad::stream_of(call)>>>(
	    triad::Matrix<const T>(call->in[0]), c.values, c.indices, c.rows, c.cols, c.k);
	return triad::launched();
}

template <class T, int Threads, int Most> int bitonic_of(const triad_call *call) {
	const Call<T> c(call);
	top_k_bitonic_kernel<T, Threads, Most><<<triad::blocks_for(c.rows, 1), Threads, 0, triad::stream_of(call)>>>(
	    triad::Rows<const T>(call->in[0]), c.values, c.indices, c.rows, static_cast<int>(c.cols), 1 << bits_of(c.cols), static_cast<int>(c.k));
	return triad::launched();
}

template <class T> int top_k_bitonic(const triad_call *call) {
	const Call<T> c(call);
	if (c.rows == 0) return TRIAD_OK;
	if (c.cols <= 512) return bitonic_of<T, 128, 512>(call); // shorter rows, more blocks on a multiprocessor
	return bitonic_of<T, 512, bitonic_most>(call);
}

template <class T> int top_k_radix(const triad_call *call) {
	constexpr int threads = 512;
	const Call<T> c(call);
	if (c.rows == 0) return TRIAD_OK;
	top_k_radix_kernel<T, threads, radix_most><<<triad::blocks_for(c.rows, 1), threads, 0, triad::stream_of(call)>>>(
	    triad::Rows<const T>(call->in[0]), c.values, c.indices, c.rows, c.cols, bits_of(c.cols), static_cast<int>(c.k),
	    1 << bits_of(c.k));
	return triad::launched();
}

// ---- registration -----------------------------------------------------------------------------------------------------------------------

// An index is an int32.
const triad::Limits heap = {triad::at_most("cols", 0x7fffffff)};
const triad::Limits bitonic = {triad::contiguous_columns(), triad::at_most("cols", bitonic_most)};

template <int Most> void few(triad::Check &check, const triad_call *call) {
	const long long k = call->out[0].shape[1];
	check.that(k <= Most, "k %lld is more than %d", k, Most);
}
const triad::Limits radix = {triad::contiguous_columns(), triad::at_most("cols", 0x7fffffff), triad::limit("k <= 2048", few<radix_most>)};
const triad::Limits threshold = {triad::contiguous_columns(), triad::at_most("cols", 0x7fffffff), triad::limit("k <= 128", few<triad::best::most_k>)};

int64_t threshold_bytes(const triad_call *call) {
	return call->in[0].dtype == TRIAD_F32 ? triad::top_k::left_of<float>(call).bytes : triad::top_k::left_of<__half>(call).bytes;
}

} // namespace

TRIAD_KERNEL(top_k, heap, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).limits(heap).launch(TRIAD_BY_DTYPE(top_k_heap)))
TRIAD_KERNEL(top_k, bitonic, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).limits(bitonic).launch(TRIAD_BY_DTYPE(top_k_bitonic)))
TRIAD_KERNEL(top_k, radix, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).limits(radix).launch(TRIAD_BY_DTYPE(top_k_radix)))
TRIAD_KERNEL(top_k, threshold, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).limits(threshold).workspace(threshold_bytes)
             .launch(TRIAD_BY_DTYPE(triad::top_k::launch)))
