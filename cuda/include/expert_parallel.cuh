// expert_parallel.cuh: which rank gets which token, in which row, and what follows from it: rows that are copied to the ranks, and rows that
// are added up where they came from. A rank is a place of a leading dim. Tokens are counted through all ranks.
//
//   routes_naive, routes   a thread, or a block, a rank: goes through all tokens in order
//   rows_naive, rows       what the ranks get of a tensor [ranks, tokens, dim]: [ranks, ranks * tokens, dim]
//   sums_naive, sums       the way back: for each token the sum of its rows, rank after rank, in fp32
#ifndef TRIAD_EXPERT_PARALLEL_CUH
#define TRIAD_EXPERT_PARALLEL_CUH
#include "pack.cuh"
#include "rows.cuh"
#include "scan.cuh"

namespace triad {

// Routing is the choice [ranks, tokens, top] of a call, contiguous. The experts of a rank are neighbours; a number that is no expert's is none.
struct Routing {
	const int64_t *choice;
	int64_t ranks, tokens, top, experts; // experts of each rank

	Routing(const triad_tensor &choice, int64_t experts)
	    : choice(static_cast<const int64_t *>(choice.data)), ranks(choice.shape[0]), tokens(choice.shape[1]), top(choice.shape[2]),
	      experts(experts / choice.shape[0]) {}
	__host__ __device__ int64_t room() const { return ranks * tokens; } // rows of each rank

	// expert is which expert of the rank a choice is, or -1.
	__device__ int64_t expert(int64_t rank, int64_t token, int64_t place) const {
		const int64_t e = choice[token * top + place] - rank * experts;
		return e >= 0 && e < experts ? e : -1;
	}
	__device__ bool sends(int64_t rank, int64_t token) const {
		for (int64_t place = 0; place < top; place++)
			if (expert(rank, token, place) >= 0) return true;
		return false;
	}
	// rank_of is the rank of a choice, or -1.
	__device__ int64_t rank_of(int64_t token, int64_t place) const {
		const int64_t e = choice[token * top + place];
		return e >= 0 && e < ranks * experts ? e / experts : -1;
	}
};

// Routes is what a pass wants to know, each null where it does not: the token in each row of each rank, -1 past its rows; the row of each token
// on each rank, or -1; and how many rows each rank has. [ranks, ranks * tokens] and [ranks].
struct Routes {
	int32_t *token, *row, *received;
};

static __global__ void routes_naive_kernel(Routing in, Routes out) {
	const int64_t rank = blockIdx.x, room = in.room();
	int32_t rows = 0;
	for (int64_t token = 0; token < room; token++) {
		const bool sent = in.sends(rank, token);
		if (out.row != nullptr) out.row[rank * room + token] = sent ? rows : -1;
		if (sent && out.token != nullptr) out.token[rank * room + rows] = static_cast<int32_t>(token);
		rows += sent;
	}
	if (out.received != nullptr) out.received[rank] = rows;
	if (out.token != nullptr)
		for (int64_t row = rows; row < room; row++) out.token[rank * room + row] = -1;
}

// The threads of a block take neighbouring tokens; how many of the threads before send theirs is a row. Returns how many rows the rank has.
template <int Threads> __device__ inline uint32_t find_rows(const Routing &in, const Routes &out, int64_t rank) {
	const int64_t room = in.room();
	uint32_t rows = 0;
	for (int64_t first = 0; first < room; first += Threads) {
		const int64_t token = first + threadIdx.x;
		const bool sent = token < room && in.sends(rank, token);
		uint32_t more;
		const uint32_t row = rows + before_in_block<Threads>(static_cast<uint32_t>(sent), more);
		if (out.row != nullptr && token < room) out.row[rank * room + token] = sent ? static_cast<int32_t>(row) : -1;
		if (out.token != nullptr && sent) out.token[rank * room + row] = static_cast<int32_t>(token);
		rows += more;
	}
	if (out.received != nullptr && threadIdx.x == 0) out.received[rank] = static_cast<int32_t>(rows);
	if (out.token != nullptr)
		for (int64_t row = rows + threadIdx.x; row < room; row += Threads) out.token[rank * room + row] = -1;
	return rows;
}

template <int Threads> static __global__ void __launch_bounds__(Threads) routes_kernel(Routing in, Routes out) { find_rows<Threads>(in, out, blockIdx.x); }

// Tokens is a view [ranks, rows of each, dim] with any strides.
template <class T> struct Tokens {
	const T *data;
	int64_t stride[3];

	explicit Tokens(const triad_tensor &t) : data(static_cast<const T *>(t.data)), stride{t.stride[0], t.stride[1], t.stride[2]} {}
	__device__ T operator()(int64_t rank, int64_t row, int64_t i) const { return data[rank * stride[0] + row * stride[1] + i * stride[2]]; }
};

// A thread an element of the rows.
template <class T>
__global__ void rows_naive_kernel(Tokens<T> x, const int32_t *token_of, T *rows, int64_t tokens, int64_t dim, int64_t elements) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= elements) return;
	const int64_t token = token_of[i / dim];
	rows[i] = token < 0 ? from_float<T>(0.0f) : x(token / tokens, token % tokens, i % dim);
}

// A thread an element of the sums. row_of: [ranks, tokens of all].
template <class T>
__global__ void sums_naive_kernel(Tokens<T> rows, const int32_t *row_of, T *y, int64_t ranks, int64_t room, int64_t dim) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i >= room * dim) return;
	float sum = 0.0f;
	for (int64_t rank = 0; rank < ranks; rank++) {
		const int64_t row = row_of[rank * room + i / dim];
		if (row >= 0) sum += to_float(rows(rank, row, i % dim));
	}
	y[i] = from_float<T>(sum);
}

// A block a row, 16 bytes a thread; four of them are under way at a time.
template <class T, int Threads>
__global__ void __launch_bounds__(Threads) rows_kernel(const T *x, const int32_t *token_of, T *rows, int64_t all, int64_t dim) {
	constexpr int V = vector<T>, held = 4;
	for (int64_t row = blockIdx.x; row < all; row += gridDim.x) {
		const int64_t token = token_of[row];
		for (int64_t first = threadIdx.x * V; first < dim; first += held * Threads * V) {
			Pack<T, V> pack[held] = {};
#pragma unroll
			for (int h = 0; h < held; h++)
				if (token >= 0 && first + h * Threads * V < dim) pack[h] = fetch<V>(x + token * dim + first + h * Threads * V);
#pragma unroll
			for (int h = 0; h < held; h++)
				if (first + h * Threads * V < dim) put(rows + row * dim + first + h * Threads * V, pack[h]);
		}
	}
}

// A block a token, 16 bytes a thread; its rows on four ranks are under way at a time.
template <class T, int Threads>
__global__ void __launch_bounds__(Threads) sums_kernel(const T *rows, const int32_t *row_of, T *y, int64_t ranks, int64_t room, int64_t dim) {
	constexpr int V = vector<T>, held = 4;
	for (int64_t token = blockIdx.x; token < room; token += gridDim.x)
		for (int64_t at = threadIdx.x * V; at < dim; at += Threads * V) {
			float sum[V] = {};
			for (int64_t first = 0; first < ranks; first += held) {
				Pack<T, V> pack[held];
				int32_t row[held];
#pragma unroll
				for (int h = 0; h < held; h++) {
					row[h] = first + h < ranks ? row_of[(first + h) * room + token] : -1;
					if (row[h] >= 0) pack[h] = fetch<V>(rows + ((first + h) * room + row[h]) * dim + at);
				}
#pragma unroll
				for (int h = 0; h < held; h++) {
					if (row[h] < 0) continue;
					float part[V];
					unpack(pack[h], part);
#pragma unroll
					for (int j = 0; j < V; j++) sum[j] += part[j];
				}
			}
			store(y + token * dim + at, sum);
		}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

constexpr int route_threads = 512, element_threads = 256;

inline void find_routes_naive(const Routing &in, const Routes &out, cudaStream_t stream) {
	routes_naive_kernel<<<static_cast<unsigned>(in.ranks), 1, 0, stream>>>(in, out);
}

inline void find_routes(const Routing &in, const Routes &out, cudaStream_t stream) {
	if (in.room() <= 64)
		routes_kernel<64><<<static_cast<unsigned>(in.ranks), 64, 0, stream>>>(in, out);
	else
		routes_kernel<route_threads><<<static_cast<unsigned>(in.ranks), route_threads, 0, stream>>>(in, out);
}

template <class T> void copy_rows_naive(const triad_tensor &x, const int32_t *token_of, const triad_tensor &rows, cudaStream_t stream) {
	const int64_t n = rows.shape[0] * rows.shape[1] * rows.shape[2];
	if (n > 0)
		rows_naive_kernel<T><<<blocks_for(n, element_threads), element_threads, 0, stream>>>(Tokens<T>(x), token_of, static_cast<T *>(rows.data), x.shape[1],
		                                                                                      x.shape[2], n);
}

template <class T> void add_rows_naive(const triad_tensor &rows, const int32_t *row_of, const triad_tensor &y, cudaStream_t stream) {
	const int64_t n = y.shape[0] * y.shape[1] * y.shape[2];
	if (n > 0)
		sums_naive_kernel<T><<<blocks_for(n, element_threads), element_threads, 0, stream>>>(Tokens<T>(rows), row_of, static_cast<T *>(y.data), y.shape[0],
		                                                                                      y.shape[0] * y.shape[1], y.shape[2]);
}

template <class T> void copy_rows(const triad_tensor &x, const int32_t *token_of, const triad_tensor &rows, cudaStream_t stream) {
	const int64_t all = rows.shape[0] * rows.shape[1], dim = x.shape[2];
	const T *from = static_cast<const T *>(x.data);
	T *to = static_cast<T *>(rows.data);
	if (all == 0) return;
	if (dim <= 128 * vector<T>)
		rows_kernel<T, 32><<<blocks_for(all, 1), 32, 0, stream>>>(from, token_of, to, all, dim);
	else
		rows_kernel<T, 256><<<blocks_for(all, 1), 256, 0, stream>>>(from, token_of, to, all, dim);
}

template <class T> void add_rows(const triad_tensor &rows, const int32_t *row_of, const triad_tensor &y, cudaStream_t stream) {
	const int64_t room = rows.shape[1], dim = y.shape[2];
	const T *from = static_cast<const T *>(rows.data);
	T *to = static_cast<T *>(y.data);
	if (room == 0) return;
	if (dim <= 128 * vector<T>)
		sums_kernel<T, 32><<<blocks_for(room, 1), 32, 0, stream>>>(from, row_of, to, rows.shape[0], room, dim);
	else
		sums_kernel<T, 256><<<blocks_for(room, 1), 256, 0, stream>>>(from, row_of, to, rows.shape[0], room, dim);
}

// whole_packs: a pack of 16 bytes of the first input lies in one token.
inline Limit whole_packs() {
	return limit("dim a multiple of the elements in 16 bytes", [](Check &check, const triad_call *call) {
		const long long dim = call->in[0].shape[2], vector = 16 / element_bytes(call->in[0].dtype);
		check.that(dim % vector == 0, "dim %lld is not a multiple of %lld", dim, vector);
	});
}

} // namespace triad
#endif
