// expert_parallel_pair.cuh: expert parallelism whose ranks lie on two devices. Each device knows the choice of its own tokens; both give it to the
// other first, then each finds the rows of all tokens by itself.
//
//   dispatch_pair   rows of the ranks. Stores: a device writes its tokens into the rows, wherever these lie, and fills the end of its own ranks'
//                   rows. Copies: each half of x crosses whole, since the device alone knows how many tokens a rank gets, and a copy's size is the
//                   host's; a token crosses once, however many ranks it goes to. Each device writes the rows of its own ranks, first those of
//                   its own tokens, while the others cross.
//   combine_pair    sums of the tokens. The row that a rank has of the other device's token goes to a place of its own over there: stored into it,
//                   or packed here and copied, all places. Then each device adds up its own tokens, by rank.
#ifndef TRIAD_EXPERT_PARALLEL_PAIR_CUH
#define TRIAD_EXPERT_PARALLEL_PAIR_CUH
#include <initializer_list>
#include <type_traits>

#include "device_pair.cuh"
#include "expert_parallel.cuh"

namespace triad {

// Side is the scratch memory of one device. Of the other device's tokens or ranks it holds only what came from there.
struct Side {
	int64_t *choice;              // [ranks, tokens, top]
	int32_t *row, *token;         // Routes of all ranks, [ranks, ranks * tokens]; token is written for the ranks here
	int32_t *received;            // [ranks]
	char *x;                      // [the other's ranks, tokens, dim]: copies
	float *weight;                // [the other's ranks, tokens, top]: copies
	char *came, *leaves;          // [the ranks there, the tokens here, dim], and [the ranks here, the tokens there, dim], which is copied
	float *came_weight, *leaves_weight; // alike, top in place of dim
};

// What a pass needs of a Side beside the routes.
struct Needs {
	bool x, weight, came, leaves;
};

// lay_side lays out the Side of a device and returns its bytes; at may be null.
inline int64_t lay_side(char *at, Side &side, const Routing &in, int64_t row_bytes, Needs needs, int device) {
	int64_t used = 0;
	const int64_t room = in.room(), here = half_of(in.ranks, device).count, there = in.ranks - here, weights = in.top * static_cast<int64_t>(sizeof(float));
	auto take = [&](auto *&pointer, int64_t bytes) {
		pointer = at == nullptr ? nullptr : reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(at + used);
		used += (bytes + 255) / 256 * 256;
	};
	take(side.choice, room * in.top * static_cast<int64_t>(sizeof(int64_t)));
	take(side.row, in.ranks * room * static_cast<int64_t>(sizeof(int32_t)));
	take(side.token, in.ranks * room * static_cast<int64_t>(sizeof(int32_t)));
	take(side.received, in.ranks * static_cast<int64_t>(sizeof(int32_t)));
	take(side.x, needs.x ? there * in.tokens * row_bytes : 0);
	take(side.weight, needs.x && needs.weight ? there * in.tokens * weights : 0);
	const int64_t places = here * there * in.tokens; // as many come as leave
	take(side.came, needs.came ? places * row_bytes : 0);
	take(side.leaves, needs.leaves ? places * row_bytes : 0);
	take(side.came_weight, needs.came && needs.weight ? places * weights : 0);
	take(side.leaves_weight, needs.leaves && needs.weight ? places * weights : 0);
	return used;
}

// side_bytes is the scratch memory of one device, the same of both: the workspace is twice that.
inline int64_t side_bytes(const Routing &in, int64_t row_bytes, Needs needs) {
	Side side;
	const int64_t zero = lay_side(nullptr, side, in, row_bytes, needs, 0), one = lay_side(nullptr, side, in, row_bytes, needs, 1);
	return zero > one ? zero : one;
}

inline EachOf<Side> sides_of(void *workspace, const Routing &in, int64_t row_bytes, Needs needs) {
	EachOf<Side> sides;
	const int64_t bytes = side_bytes(in, row_bytes, needs);
	for (int device = 0; device < 2; device++) lay_side(static_cast<char *>(workspace) + device * bytes, sides.of(device), in, row_bytes, needs, device);
	return sides;
}

// ---- routes -----------------------------------------------------------------------------------------------------------------------------

// A thread a choice of the device's tokens.
static __global__ void share_choice_kernel(Routing in, EachOf<Side> sides, int first) {
	const Span tokens = half_of(in.ranks, first + blockIdx.y);
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x, one = in.tokens * in.top;
	if (i >= tokens.count * one) return;
	const int64_t at = tokens.first * one + i, expert = in.choice[at];
	sides.zero.choice[at] = expert;
	sides.one.choice[at] = expert;
}

// A block a rank, on each device. source and received, of the ranks alone that lie there, may be null.
template <int Threads>
static __global__ void __launch_bounds__(Threads) routes_pair_kernel(Routing in, EachOf<Side> sides, int32_t *source, int32_t *received, int first) {
	const int device = first + blockIdx.y;
	const Side side = sides[device];
	const int64_t rank = blockIdx.x;
	const bool here = half_of(in.ranks, device).has(rank);
	in.choice = side.choice;
	const Routes out = {here ? source != nullptr ? source : side.token : nullptr, side.row, side.received};
	const uint32_t rows = find_rows<Threads>(in, out, rank);
	if (here && received != nullptr && threadIdx.x == 0) received[rank] = static_cast<int32_t>(rows);
}

// share_choice gives each device the choice of all tokens. route_pair follows.
inline void share_choice(DevicePair &pair, const Routing &in, const EachOf<Side> &sides, bool stores) {
	const int64_t one = in.tokens * in.top;
	if (stores && one > 0) {
		pair.each([&](Share at, cudaStream_t stream) {
			share_choice_kernel<<<at.grid(blocks_for(half_of(in.ranks, 0).count * one, 256)), 256, 0, stream>>>(in, sides, at.first);
		});
	} else {
		for (int device = 0; device < 2; device++) {
			const Span tokens = half_of(in.ranks, device);
			for (int to = 0; to < 2; to++)
				pair.copy(device, sides[to].choice + tokens.first * one, in.choice + tokens.first * one, tokens.count * one * static_cast<int64_t>(sizeof(int64_t)));
		}
	}
}

// route_pair finds on each device the routes of all tokens.
inline void route_pair(DevicePair &pair, const Routing &in, const EachOf<Side> &sides, int32_t *source, int32_t *received) {
	pair.meet();
	pair.each([&](Share at, cudaStream_t stream) {
		const dim3 grid = at.grid(static_cast<unsigned>(in.ranks));
		if (in.room() <= 64)
			routes_pair_kernel<64><<<grid, 64, 0, stream>>>(in, sides, source, received, at.first);
		else
			routes_pair_kernel<route_threads><<<grid, route_threads, 0, stream>>>(in, sides, source, received, at.first);
	});
}

// ---- rows -------------------------------------------------------------------------------------------------------------------------------

// Dispatch holds the tensors that a dispatch reads and writes. Without weight it has rows alone.
template <class T> struct Dispatch {
	const T *x;
	const float *weight;
	T *rows;
	float *row_weight;
	int64_t *row_choice;
	int64_t dim;
};

// write_places writes what a row says of its token's choices; weight is that token's. token = -1: no token.
template <class T, int Threads>
__device__ void write_places(const Routing &in, const Dispatch<T> &d, int64_t rank, int64_t row, int64_t token, const float *weight) {
	for (int64_t place = threadIdx.x; place < in.top; place += Threads) {
		const int64_t expert = token < 0 ? -1 : in.expert(rank, token, place), at = (rank * in.room() + row) * in.top + place;
		d.row_choice[at] = expert;
		d.row_weight[at] = expert < 0 ? 0.0f : weight[place];
	}
}

// A block a token of the device, which it writes to every rank that gets it, or a row there that is filled with 0: of ranks + 1 blocks one is a
// token's, so that filling goes on beside what crosses.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) send_rows_kernel(Routing in, Dispatch<T> d, EachOf<Side> sides, int first) {
	constexpr int held = 4;
	const int device = first + blockIdx.y;
	const Side side = sides[device];
	const Span here = half_of(in.ranks, device);
	const int64_t room = in.room(), jobs = here.count * in.tokens * (in.ranks + 1);
	in.choice = side.choice;
	for (int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
		const int64_t part = job % (in.ranks + 1), turn = job / (in.ranks + 1);
		if (part > 0) {
			const int64_t all = turn * in.ranks + part - 1, rank = here.first + all / room, row = all % room;
			if (row < side.received[rank]) continue;
			const Pack<T, V> zero = {};
			for (int64_t at = threadIdx.x * V; at < d.dim; at += Threads * V) put(d.rows + (rank * room + row) * d.dim + at, zero);
			if (d.weight != nullptr) write_places<T, Threads>(in, d, rank, row, -1, nullptr);
			continue;
		}
		const int64_t token = here.first * in.tokens + turn;
		for (int64_t at = threadIdx.x * V; at < d.dim; at += held * Threads * V) {
			Pack<T, V> pack[held];
#pragma unroll
			for (int h = 0; h < held; h++)
				if (at + h * Threads * V < d.dim) pack[h] = fetch<V>(d.x + token * d.dim + at + h * Threads * V);
			for (int64_t rank = 0; rank < in.ranks; rank++) {
				const int64_t row = side.row[rank * room + token];
				if (row < 0) continue;
#pragma unroll
				for (int h = 0; h < held; h++)
					if (at + h * Threads * V < d.dim) put(d.rows + (rank * room + row) * d.dim + at + h * Threads * V, pack[h]);
			}
		}
		if (d.weight == nullptr) continue;
		for (int64_t rank = 0; rank < in.ranks; rank++)
			if (const int64_t row = side.row[rank * room + token]; row >= 0)
				write_places<T, Threads>(in, d, rank, row, token, d.weight + token * in.top);
	}
}

// A block a row of the device's ranks. came: those whose token came from the other device, else the rest. source: the token in each row.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) take_rows_kernel(Routing in, Dispatch<T> d, EachOf<Side> sides, const int32_t *source, bool came, int first) {
	constexpr int held = 4;
	const int device = first + blockIdx.y;
	const Side side = sides[device];
	const Span here = half_of(in.ranks, device), there = half_of(in.ranks, 1 - device);
	const int64_t room = in.room();
	if (source == nullptr) source = side.token;
	in.choice = side.choice;
	for (int64_t all = here.first * room + blockIdx.x; all < (here.first + here.count) * room; all += gridDim.x) {
		const int64_t token = source[all], other = token - there.first * in.tokens;
		if (came != (token >= 0 && there.has(token / in.tokens))) continue;
		const T *from = came ? reinterpret_cast<const T *>(side.x) + other * d.dim : d.x + token * d.dim;
		for (int64_t at = threadIdx.x * V; at < d.dim; at += held * Threads * V) {
			Pack<T, V> pack[held] = {};
#pragma unroll
			for (int h = 0; h < held; h++)
				if (token >= 0 && at + h * Threads * V < d.dim) pack[h] = fetch<V>(from + at + h * Threads * V);
#pragma unroll
			for (int h = 0; h < held; h++)
				if (at + h * Threads * V < d.dim) put(d.rows + all * d.dim + at + h * Threads * V, pack[h]);
		}
		if (d.weight != nullptr)
			write_places<T, Threads>(in, d, all / room, all % room, token, came ? side.weight + other * in.top : d.weight + token * in.top);
	}
}

// with_width calls f with the elements of a pack and the threads of a block.
template <class T, class F> void with_width(int64_t dim, std::initializer_list<const void *> addresses, F f) {
	bool whole = dim % vector<T> == 0;
	for (const void *address : addresses) whole = whole && reinterpret_cast<uintptr_t>(address) % 16 == 0;
	if (!whole)
		f(std::integral_constant<int, 1>(), std::integral_constant<int, 128>());
	else if (dim <= 128 * vector<T>)
		f(std::integral_constant<int, vector<T>>(), std::integral_constant<int, 32>());
	else
		f(std::integral_constant<int, vector<T>>(), std::integral_constant<int, 256>());
}

// cross_beside copies each half of x, and of weight, to the other device, beside what finds the routes: it comes between share_choice, whose
// copies would wait for these, and route_pair.
template <class T> void cross_beside(DevicePair &pair, const Routing &in, const Dispatch<T> &d, const EachOf<Side> &sides) {
	for (int device = 0; device < 2; device++) {
		const Span here = half_of(in.ranks, device);
		const int64_t from = here.first * in.tokens, n = here.count * in.tokens;
		pair.beside(device, sides[1 - device].x, d.x + from * d.dim, n * d.dim * static_cast<int64_t>(sizeof(T)));
		if (d.weight != nullptr) pair.beside(device, sides[1 - device].weight, d.weight + from * in.top, n * in.top * static_cast<int64_t>(sizeof(float)));
	}
}

// dispatch_pair follows route_pair with the same source, and where it does not store, cross_beside.
template <class T>
void dispatch_pair(DevicePair &pair, const Routing &in, const Dispatch<T> &d, const EachOf<Side> &sides, const int32_t *source, bool stores) {
	const int64_t rows = half_of(in.ranks, 0).count * in.room(), tokens = half_of(in.ranks, 0).count * in.tokens;
	if (rows == 0) return;
	with_width<T>(d.dim, {d.x, d.rows, sides.zero.x}, [&](auto width, auto block) {
		constexpr int V = decltype(width)::value, threads = decltype(block)::value;
		if (stores)
			return pair.each([&](Share at, cudaStream_t stream) {
				send_rows_kernel<T, V, threads><<<at.grid(blocks_for(tokens * (in.ranks + 1), 1)), threads, 0, stream>>>(in, d, sides, at.first);
			});
		for (bool came : {false, true}) {
			if (came) pair.arrived();
			pair.each([&](Share at, cudaStream_t stream) {
				take_rows_kernel<T, V, threads><<<at.grid(blocks_for(rows, 1)), threads, 0, stream>>>(in, d, sides, source, came, at.first);
			});
		}
	});
}

// ---- sums -------------------------------------------------------------------------------------------------------------------------------

// Combine holds the tensors that a combine reads and writes; without row_weight it has sums alone.
template <class T> struct Combine {
	const T *rows;
	const float *row_weight;
	T *y;          // null: not wanted
	float *weight; // null: not wanted
	int64_t dim;
};

// A block a row of the device's ranks. What is the other device's token goes to its place: over there, or here where it is copied from.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) return_rows_kernel(Routing in, Combine<T> c, EachOf<Side> sides, bool stores, int first) {
	constexpr int held = 4;
	const int device = first + blockIdx.y;
	const Side side = sides[device];
	const Span here = half_of(in.ranks, device), there = half_of(in.ranks, 1 - device);
	const int64_t room = in.room(), tokens = there.count * in.tokens;
	T *const to = reinterpret_cast<T *>(stores ? sides[1 - device].came : side.leaves);
	float *const to_weight = stores ? sides[1 - device].came_weight : side.leaves_weight;
	for (int64_t row = blockIdx.x; row < here.count * room; row += gridDim.x) {
		const int64_t all = here.first * room + row, token = side.token[all];
		if (token < 0 || !there.has(token / in.tokens)) continue;
		const int64_t place = row / room * tokens + token - there.first * in.tokens;
		if (c.y != nullptr)
			for (int64_t at = threadIdx.x * V; at < c.dim; at += held * Threads * V) {
				Pack<T, V> pack[held];
#pragma unroll
				for (int h = 0; h < held; h++)
					if (at + h * Threads * V < c.dim) pack[h] = fetch<V>(c.rows + all * c.dim + at + h * Threads * V);
#pragma unroll
				for (int h = 0; h < held; h++)
					if (at + h * Threads * V < c.dim) put(to + place * c.dim + at + h * Threads * V, pack[h]);
			}
		if (c.weight != nullptr)
			for (int64_t k = threadIdx.x; k < in.top; k += Threads) to_weight[place * in.top + k] = c.row_weight[all * in.top + k];
	}
}

// A block a token of the device; its rows on four ranks are under way at a time.
template <class T, int V, int Threads>
__global__ void __launch_bounds__(Threads) add_pair_kernel(Routing in, Combine<T> c, EachOf<Side> sides, int first) {
	constexpr int held = 4;
	const int device = first + blockIdx.y;
	const Side side = sides[device];
	const Span here = half_of(in.ranks, device), there = half_of(in.ranks, 1 - device);
	const int64_t room = in.room(), tokens = here.count * in.tokens;
	in.choice = side.choice;
	for (int64_t own = blockIdx.x; own < tokens; own += gridDim.x) {
		const int64_t token = here.first * in.tokens + own;
		for (int64_t at = threadIdx.x * V; at < c.dim && c.y != nullptr; at += Threads * V) {
			float sum[V] = {};
			for (int64_t ranks = 0; ranks < in.ranks; ranks += held) {
				Pack<T, V> pack[held];
				bool has[held];
#pragma unroll
				for (int h = 0; h < held; h++) {
					const int64_t rank = ranks + h, row = rank < in.ranks ? side.row[rank * room + token] : -1;
					has[h] = row >= 0;
					if (!has[h]) continue;
					const T *from = here.has(rank) ? c.rows + (rank * room + row) * c.dim
					                               : reinterpret_cast<const T *>(side.came) + ((rank - there.first) * tokens + own) * c.dim;
					pack[h] = fetch<V>(from + at);
				}
#pragma unroll
				for (int h = 0; h < held; h++) {
					if (!has[h]) continue;
					float part[V];
					unpack(pack[h], part);
#pragma unroll
					for (int j = 0; j < V; j++) sum[j] += part[j];
				}
			}
			store(c.y + token * c.dim + at, sum);
		}
		for (int64_t k = threadIdx.x; k < in.top && c.weight != nullptr; k += Threads) {
			const int64_t rank = in.rank_of(token, k);
			float weight = 0.0f;
			if (rank >= 0)
				weight = here.has(rank) ? c.row_weight[(rank * room + side.row[rank * room + token]) * in.top + k]
				                        : side.came_weight[((rank - there.first) * tokens + own) * in.top + k];
			c.weight[token * in.top + k] = weight;
		}
	}
}

// combine_pair follows route_pair without a source.
template <class T> void combine_pair(DevicePair &pair, const Routing &in, const Combine<T> &c, const EachOf<Side> &sides, bool stores) {
	const int64_t rows = half_of(in.ranks, 0).count * in.room(), tokens = half_of(in.ranks, 0).count * in.tokens;
	const int64_t places = half_of(in.ranks, 0).count * half_of(in.ranks, 1).count * in.tokens;
	if (rows == 0) return;
	with_width<T>(c.dim, {c.rows, c.y, sides.zero.came}, [&](auto width, auto block) {
		constexpr int V = decltype(width)::value, threads = decltype(block)::value;
		pair.each([&](Share at, cudaStream_t stream) {
			return_rows_kernel<T, V, threads><<<at.grid(blocks_for(rows, 1)), threads, 0, stream>>>(in, c, sides, stores, at.first);
		});
		for (int device = 0; device < 2 && !stores; device++) {
			if (c.y != nullptr) pair.copy(device, sides[1 - device].came, sides[device].leaves, places * c.dim * static_cast<int64_t>(sizeof(T)));
			if (c.weight != nullptr)
				pair.copy(device, sides[1 - device].came_weight, sides[device].leaves_weight, places * in.top * static_cast<int64_t>(sizeof(float)));
		}
		pair.meet();
		pair.each([&](Share at, cudaStream_t stream) {
			add_pair_kernel<T, V, threads><<<at.grid(blocks_for(tokens, 1)), threads, 0, stream>>>(in, c, sides, at.first);
		});
	});
}

} // namespace triad
#endif
