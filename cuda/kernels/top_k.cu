// top_k: values[r,i] = x[r, indices[r,i]]: the k largest elements of each row, falling, with the columns they stand in
// Layout   x: [rows, cols]; values, indices: [rows, k], contiguous; fp32, fp16, bf16; indices are int32. An element is copied, never
//          computed: -0 stays -0, and a NaN keeps its payload.
// Order    NaN before everything, then falling; 0 and -0 are equal. Of equal elements heap takes any, the others the first in their row.
// Limits   rows = 0 launches nothing; 1 <= k <= cols; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Batcher 1968, Sorting networks and their applications (bitonic); Alabi et al. 2012, Fast k-selection algorithms (radix)
//   heap      a thread a row, the best so far in a heap that lies in the outputs; any strides; the readable one, and the one to trust first
//   bitonic   a block sorts a whole row in shared memory: log^2 steps, whatever k is; cols <= 4096
//   radix     a block a row: counts the leading digits of all elements until the k-th is found, and sorts what lies before it; reads a row
//             four (fp32) or three times, mostly from the L2 cache; any cols, k <= 2048
#include <cstring>

#include "arguments.cuh"
#include "element.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"

namespace {

// ---- order ------------------------------------------------------------------------------------------------------------------------------

// key_of maps an element to an unsigned number of as many bits that rises with the order of top_k. 0 is no element's.
template <class T> __device__ uint32_t key_of(T element) {
	constexpr uint32_t sign = uint32_t{1} << (8 * sizeof(T) - 1), all = sign | (sign - 1);
	uint32_t bits = 0;
	memcpy(&bits, &element, sizeof element);
	const float value = triad::to_float(element);
	if (value != value) return all; // NaN
	if (value == 0) return sign;    // -0 too
	return bits & sign ? ~bits & all : bits | sign;
}

// An entry is a key with its column, so that the larger of two entries is the better, and of equal elements the one in the earlier column.
// 0 is no element's entry: what pads a row to a power of two.
using Entry = unsigned long long;

__device__ inline Entry entry_of(uint32_t key, int64_t col) { return Entry{key} << 32 | (0xffffffffu - static_cast<uint32_t>(col)); }
__device__ inline int32_t column_of(Entry e) { return static_cast<int32_t>(0xffffffffu - static_cast<uint32_t>(e)); }

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

// sort_entries sorts n entries in shared memory, n a power of two, the larger first. All threads of the block take part.
template <int Threads> __device__ void sort_entries(Entry *entries, int n) {
	for (int size = 2; size <= n; size *= 2)
		for (int stride = size / 2; stride > 0; stride /= 2) {
			__syncthreads();
			for (int i = threadIdx.x; i < n / 2; i += Threads) {
				const int a = 2 * i - (i & (stride - 1)), b = a + stride;
				const bool falling = (a & size) == 0; // runs fall and rise by turns, so that two of them make the next
				const Entry first = entries[a], second = entries[b];
				if ((first < second) == falling) {
					entries[a] = second;
					entries[b] = first;
				}
			}
		}
	__syncthreads();
}

// write_entries writes the first k of the sorted entries: what they point to.
template <class T, int Threads> __device__ void write_entries(const Entry *entries, const T *x, T *values, int32_t *indices, int64_t k) {
	for (int64_t i = threadIdx.x; i < k; i += Threads) {
		const int32_t col = column_of(entries[i]);
		values[i] = x[col];
		if (indices != nullptr) indices[i] = col;
	}
}

template <class T, int Threads, int Most>
__global__ void __launch_bounds__(Threads)
    top_k_bitonic_kernel(triad::Rows<const T> x, T *values, int32_t *indices, int64_t rows, int cols, int padded, int k) {
	__shared__ Entry entries[Most];
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		for (int c = threadIdx.x; c < padded; c += Threads) entries[c] = c < cols ? entry_of(key_of(from[c]), c) : 0;
		sort_entries<Threads>(entries, padded);
		write_entries<T, Threads>(entries, from, values + row * k, indices == nullptr ? nullptr : indices + row * k, k);
		__syncthreads(); // the next row overwrites the entries
	}
}

// Radix finds the k-th largest key digit by digit, from the first: counts how many keys that begin as it does have each next digit, and
// takes the digit in which the k-th lies.
constexpr int digit_bits = 11, digits = 1 << digit_bits;

// beyond is, for each thread, how many of the counts belong to later threads. totals: a value for each warp, free for use.
template <int Threads> __device__ int beyond(int own, int *totals) {
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	int sum = own; // of this lane and the later ones
#pragma unroll
	for (int step = 1; step < 32; step *= 2) {
		const int other = __shfl_down_sync(triad::all_lanes, sum, step);
		if (lane + step < 32) sum += other;
	}
	if (lane == 0) totals[warp] = sum;
	__syncthreads();
	for (int w = warp + 1; w < Threads / 32; w++) sum += totals[w];
	__syncthreads();
	return sum - own;
}

struct Found {
	uint32_t prefix; // the digits of the k-th key that are known, in place
	int rank;        // how many keys that begin so are wanted
};

// next_digit extends what is known of the k-th key by the digit of `width` bits from bit `shift` on.
template <class T, int Threads>
__device__ Found next_digit(const T *x, int64_t cols, Found known, int shift, int width, int *counts, int *totals, Found *found) {
	for (int d = threadIdx.x; d < digits; d += Threads) counts[d] = 0;
	__syncthreads();
	for (int64_t c = threadIdx.x; c < cols; c += Threads) {
		const uint32_t key = key_of(x[c]);
		if ((uint64_t{key} ^ known.prefix) >> (shift + width) == 0) atomicAdd(&counts[key >> shift & ((1 << width) - 1)], 1);
	}
	__syncthreads();
	constexpr int each = digits / Threads; // neighbouring digits of a thread
	int own = 0;
	for (int i = 0; i < each; i++) own += counts[threadIdx.x * each + i];
	int above = beyond<Threads>(own, totals); // keys with a larger digit
	for (int d = threadIdx.x * each + each - 1; d >= static_cast<int>(threadIdx.x) * each; above += counts[d--])
		if (above < known.rank && known.rank <= above + counts[d]) *found = {known.prefix | static_cast<uint32_t>(d) << shift, known.rank - above};
	__syncthreads();
	return *found;
}

// gather collects the keys before the k-th, in any order, and after them so many equal to it as are wanted, the first of the row.
template <class T, int Threads>
__device__ void gather(const T *x, int64_t cols, Found kth, int k, Entry *entries, int *slot, int *totals) {
	for (int64_t c = threadIdx.x; c < cols; c += Threads) {
		const uint32_t key = key_of(x[c]);
		if (key > kth.prefix) entries[atomicAdd(slot, 1)] = entry_of(key, c);
	}
	int taken = 0;
	for (int64_t first = 0; first < cols && taken < kth.rank; first += Threads) {
		const int64_t c = first + threadIdx.x;
		const bool equal = c < cols && key_of(x[c]) == kth.prefix;
		const unsigned lanes = __ballot_sync(triad::all_lanes, equal);
		if (threadIdx.x % 32 == 0) totals[threadIdx.x / 32] = __popc(lanes);
		__syncthreads();
		int place = taken + __popc(lanes & ((1u << threadIdx.x % 32) - 1));
		for (int w = 0; w < Threads / 32; w++) {
			if (w < static_cast<int>(threadIdx.x / 32)) place += totals[w];
			taken += totals[w];
		}
		if (equal && place < kth.rank) entries[k - kth.rank + place] = entry_of(kth.prefix, c);
		__syncthreads(); // totals are read
	}
}

template <class T, int Threads, int Most>
__global__ void __launch_bounds__(Threads)
    top_k_radix_kernel(triad::Rows<const T> x, T *values, int32_t *indices, int64_t rows, int64_t cols, int k, int padded) {
	__shared__ Entry entries[Most];
	__shared__ int counts[digits], totals[Threads / 32], slot;
	__shared__ Found found;
	for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
		const T *from = x.row(row);
		Found kth{0, k};
		for (int left = 8 * sizeof(T); left > 0; left -= digit_bits) {
			const int width = left < digit_bits ? left : digit_bits;
			kth = next_digit<T, Threads>(from, cols, kth, left - width, width, counts, totals, &found);
		}
		for (int i = k + threadIdx.x; i < padded; i += Threads) entries[i] = 0;
		if (threadIdx.x == 0) slot = 0;
		__syncthreads();
		gather<T, Threads>(from, cols, kth, k, entries, &slot, totals);
		sort_entries<Threads>(entries, padded);
		write_entries<T, Threads>(entries, from, values + row * k, indices == nullptr ? nullptr : indices + row * k, k);
		__syncthreads();
	}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int bitonic_most = 4096, radix_most = 2048;

int power_of_two(int64_t n) {
	int p = 1;
	while (p < n) p *= 2;
	return p;
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
	    triad::Rows<const T>(call->in[0]), c.values, c.indices, c.rows, static_cast<int>(c.cols), power_of_two(c.cols), static_cast<int>(c.k));
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
	    triad::Rows<const T>(call->in[0]), c.values, c.indices, c.rows, c.cols, static_cast<int>(c.k), power_of_two(c.k));
	return triad::launched();
}

// ---- registration -----------------------------------------------------------------------------------------------------------------------

bool check_common(triad::Check &check, const triad_call *call) {
	if (!check.counts(call, 1, 2, 1)) return false;
	const triad_tensor &x = call->in[0], &values = call->out[0], &indices = call->out[1];
	if (!check.rank(x, "x", 2).floating(x, "x").rank(values, "values", 2).rank(indices, "indices", 2).holds()) return false;
	check.dtype(values, "values", x.dtype).dtype(indices, "indices", TRIAD_I32).contiguous(values, "values").contiguous(indices, "indices");
	check.that(triad::same_shape(values, indices), "values and indices have different shapes");
	check.that(values.shape[0] == x.shape[0], "values has another number of rows than x");
	const long long k = values.shape[1], cols = x.shape[1];
	check.that(1 <= k && k <= cols, "k %lld is not 1 to %lld, the columns", k, cols);
	return check.that(cols <= 0x7fffffff, "cols %lld is more than an int32 index can name", cols).holds();
}

int accepts_heap(const triad_call *call, char *why, int32_t why_bytes) {
	triad::Check check(why, why_bytes);
	check_common(check, call);
	return check.status();
}

int accepts_bitonic(const triad_call *call, char *why, int32_t why_bytes) {
	triad::Check check(why, why_bytes);
	if (check_common(check, call))
		check.contiguous_columns(call->in[0], "x").that(call->in[0].shape[1] <= bitonic_most, "cols %lld is more than %d",
		                                                static_cast<long long>(call->in[0].shape[1]), bitonic_most);
	return check.status();
}

int accepts_radix(const triad_call *call, char *why, int32_t why_bytes) {
	triad::Check check(why, why_bytes);
	if (check_common(check, call))
		check.contiguous_columns(call->in[0], "x").that(call->out[0].shape[1] <= radix_most, "k %lld is more than %d",
		                                                static_cast<long long>(call->out[0].shape[1]), radix_most);
	return check.status();
}

} // namespace

TRIAD_KERNEL(top_k, heap, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).accepts(accepts_heap).launch(TRIAD_BY_DTYPE(top_k_heap)))
TRIAD_KERNEL(top_k, bitonic, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).accepts(accepts_bitonic).launch(TRIAD_BY_DTYPE(top_k_bitonic))
             .constraint("columns contiguous, cols <= 4096"))
TRIAD_KERNEL(top_k, radix, forward,
             .contract("exact").dtypes(triad::floats).outputs(3).accepts(accepts_radix).launch(TRIAD_BY_DTYPE(top_k_radix))
             .constraint("columns contiguous, k <= 2048"))
