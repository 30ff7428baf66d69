// linear_cross_entropy: z = hidden weight^T, lse_i = log sum_c exp(z[i,c]), loss_i = lse_i - z[i,target_i]
// backward: dz[i,c] = w_i*(exp(z[i,c] - lse_i) - [c is target_i]), w = dloss, for the mean divided by the tokens that count;
//           dhidden = dz weight, dweight = dz^T hidden
// Layout   hidden [tokens, dim], weight [classes, dim], target [tokens] int64, dloss [tokens], or [1] for a sum or a mean: any strides;
//          lse [tokens], loss as dloss, fp32, and the gradients are contiguous. fp32, fp16, bf16.
// Numerics products and sums in fp32 (IEEE, not tf32). In 16 bits a chunk of logits, and of their gradients, is stored in the dtype.
// Limits   a token whose target is ignore_index has the loss 0 and the gradient 0, and adds nothing to dweight, whatever it holds; so has a
//          mean over no token. Every other target is a class.
// Special  a row of only -inf, with +inf or with NaN has the lse NaN.
// Source   Wijmans et al. 2024, arXiv:2411.09009; Hsu et al. 2024, arXiv:2410.10989 (chunks)
// With a vocabulary of 128256 the logits of 8192 tokens are 4.2 GB in fp32, many times what the operator takes and gives.
//   naive    every logit in memory, in fp32; a thread an element, a row, an element of a gradient. The
//            readable one, and the one to trust first. Costs: tokens * classes numbers of memory
//   chunked  the logits of 1024 tokens at a time. The backward computes them again from hidden and weight, turns them into their gradients where
//            they lie, and adds both products of the chunk to dhidden and dweight: memory for a chunk, and of dweight in fp32. Products in tiles of
//            64 x 64 in shared memory, 4 x 4 elements a thread. Costs: a fourth product
//   mma      as chunked, of fp16 and bf16: products on tensor cores, 128 x 128 elements a block, copies beside them (hopper/mma_product.cuh). A block
//            a row of logits, 16 bytes a load, maximum and sum in one pass. Costs: a newer GPU, rows of whole vectors of 16 bytes, and a copy of a
//            chunk of hidden in which ignored tokens are 0: what is copied to tensor cores as it lies cannot leave them out
//   sm90_tma wgmma of tiles of 128 x 128: the forward keeps of them only maxima and sums of rows, see linear_cross_entropy/sm90_tma.cuh; the backward
//            the gradients of logits of a band of classes, see linear_cross_entropy/sm90_tma_backward.cuh. Costs: a GPU of 9.0, and in the backward a
//            third product and up to 256 MiB for the gradients of a band
//   cublas   as mma, with the products of NVIDIA's library, where it is found at run time, on 4096 tokens at a time. Costs: four times the logits in
//            memory
#include <algorithm>

#include "arguments.cuh"
#include "capability.cuh"
#include "cublas_library.cuh"
#include "element.cuh"
#include "hopper/mma_product.cuh"
#include "linear_cross_entropy/naive.cuh"
#include "linear_cross_entropy/sm90_tma.cuh"
#include "linear_cross_entropy/sm90_tma_backward.cuh"
#include "linear_cross_entropy/tokens.cuh"
#include "log_sum.cuh"
#include "pack.cuh"
#include "reduce.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/linear_cross_entropy.cuh"
#include "tile_product.cuh"

namespace {

using triad::from_float;
using triad::Matrix;
using triad::to_float;

using namespace triad::linear_cross_entropy;

constexpr int64_t chunk = 1024; // tokens: enough for our products, and few enough that their logits are a small part of memory
constexpr int64_t library_chunk = 4096; // enough for those of a library

// ---- chunked: products in tiles -------------------------------------------------------------------------------------------------------------

enum Along { nothing, rows_of_y, the_sum }; // where tokens lie whose target is ignored: these are left out

// Product is y[i,j] = sum_k a[i,k] b[j,k] of a chunk; y is contiguous.
template <class T> struct Product {
	triad::Strided<T> a, b;
	T *y;
	int64_t rows, cols, depth;
	Tokens part;
	Along tokens;
	float *sums;       // of the chunks so far, where y is the sum of them all
	bool begins, ends; // with this one

	__device__ bool adds(int64_t k) const { return tokens != the_sum || part.counts(k); }

	__device__ void store(int64_t row, int64_t col, float value) const {
		if (row >= rows || col >= cols) return;
		const int64_t at = row * cols + col;
		if (tokens == rows_of_y && !part.counts(row)) value = 0.0f;
		if (tokens == the_sum && !begins) value += sums[at];
		if (tokens == the_sum && !ends) sums[at] = value;
		else y[at] = from_float<T>(value);
	}
};

template <class T> __global__ void __launch_bounds__(threads) linear_cross_entropy_product_kernel(Product<T> p) {
	__shared__ triad::ProductTiles tiles;
	const int64_t down = triad::product_tiles(p.rows); // neighbouring blocks share columns: those of the weights
	const int64_t row0 = blockIdx.x % down * triad::product_side, col0 = blockIdx.x / down * triad::product_side;
	triad::tile_product(tiles, p, row0, col0, [&](int64_t row, int64_t col, float sum) { p.store(row, col, sum); });
}

// A block a row of a chunk: neighbouring threads read neighbours.
template <class T> __global__ void __launch_bounds__(threads) linear_cross_entropy_chunk_kernel(const T *z, float *losses, float *lse, Tokens part) {
	__shared__ float scratch[threads / 32];
	const int64_t row = blockIdx.x, at = part.first + row;
	const T *own = z + row * part.classes;
	float largest = -INFINITY;
	for (int64_t c = threadIdx.x; c < part.classes; c += threads) largest = fmaxf(largest, to_float(own[c]));
	const float max = triad::block_reduce<threads>(largest, triad::Max(), scratch);
	triad::LongSum mine;
	for (int64_t c = threadIdx.x; c < part.classes; c += threads) mine.add(expf(to_float(own[c]) - max));
	const float log = logf(triad::block_reduce<threads>(mine.total(), triad::Sum(), scratch));
	if (threadIdx.x != 0) return;
	if (lse != nullptr) lse[at] = max + log;
	losses[at] = part.counts(row) ? loss_of(to_float(own[part.target(at)]), max, log) : 0.0f;
}

// ---- mma: products on tensor cores ----------------------------------------------------------------------------------------------------------

using triad::hopper::Mma;
using triad::hopper::MmaTile;
using Pairs = triad::Pack<float, 2>;

__device__ int64_t tiles_of(int64_t size) { return (size + Mma::m - 1) / Mma::m; }
static_assert(Mma::m == Mma::n, "tiles are square");

// Rows of y are whole vectors, those of logits behind the last class: there the operands are 0. Neighbouring blocks go along the shorter side of y, so
// that those which run at once share the tiles of both operands.
template <class T, Along tokens> __global__ void __launch_bounds__(Mma::threads, 2) linear_cross_entropy_mma_kernel(Product<T> p) {
	using TileA = MmaTile<Mma::m, tokens != the_sum>;
	using TileB = MmaTile<Mma::n, tokens == nothing>;
	extern __shared__ __align__(16) unsigned char mma_tiles[];
	const int64_t down = tiles_of(p.rows), across = tiles_of(p.cols);
	const int64_t row0 = (down < across ? blockIdx.x % down : blockIdx.x / across) * Mma::m;
	const int64_t col0 = (down < across ? blockIdx.x / down : blockIdx.x % across) * Mma::n;
	const triad::hopper::MmaProduct<triad::Strided<T>> part = {p.a, p.b, row0, p.rows, col0, p.cols, p.depth};
	triad::hopper::MmaSums<T> sums = triad::hopper::mma_product<T, TileA, TileB>(mma_tiles, part);
	sums.cols = (p.cols + Mma::chunk - 1) / Mma::chunk * Mma::chunk;
	if constexpr (tokens == rows_of_y)
		sums.each_pair([&](int64_t row, int64_t, float &first, float &second) {
			if (!p.part.counts(row)) first = second = 0.0f;
		});
	if constexpr (tokens == the_sum)
		sums.each_pair([&](int64_t row, int64_t col, float &first, float &second) {
			Pairs *const at = reinterpret_cast<Pairs *>(p.sums + row * sums.cols + col);
			if (!p.begins) first += at->at[0], second += at->at[1];
			if (!p.ends) *at = {first, second};
		});
	if (tokens != the_sum || p.ends) sums.store_rows(p.y, 1);
}

// A block a row of a chunk, 16 bytes a load.
template <class T> __global__ void __launch_bounds__(threads)
linear_cross_entropy_loss_kernel(triad::Strided<T> z, float *losses, float *lse, Tokens part) {
	__shared__ triad::LogSum scratch[threads / 32];
	const int64_t row = blockIdx.x, at = part.first + row;
	const T *own = z.data + row * z.row_stride;
	const triad::LogSum all = triad::block_log_sum<threads>(own, part.classes, scratch);
	if (threadIdx.x != 0) return;
	if (lse != nullptr) lse[at] = all.max + all.log();
	losses[at] = part.counts(row) ? loss_of(to_float(own[part.target(at)]), all.max, all.log()) : 0.0f;
}

// A block a row of a chunk: logits become their gradients, in place and 0 behind the last class, and the row of hidden is copied. Both are 0 of a token
// that is ignored, which then adds nothing to a product over tokens.
template <class T> __global__ void __launch_bounds__(threads)
linear_cross_entropy_rows_gradient_kernel(T *z, int64_t pitch, const float *lse, triad::Vector<const float> dloss, const float *counted, Tokens part,
                                          triad::Strided<T> hidden, T *copy, int64_t dim) {
	constexpr int V = triad::vector<T>;
	const int64_t row = blockIdx.x, at = part.first + row, target = part.target(at);
	const bool counts = part.counts(row);
	const float w = part.weight(dloss, counted, row), l = lse[at];
	T *own = z + row * pitch;
	for (int64_t c = threadIdx.x * V; c < pitch; c += threads * V) {
		float v[V] = {};
		if (counts) triad::load(own + c, v);
#pragma unroll
		for (int j = 0; j < V; j++) v[j] = counts && c + j < part.classes ? w * (expf(v[j] - l) - (c + j == target ? 1.0f : 0.0f)) : 0.0f;
		triad::store(own + c, v);
	}
	for (int64_t k = threadIdx.x * V; k < dim; k += threads * V)
		*reinterpret_cast<uint4 *>(copy + row * dim + k) =
		    counts ? *reinterpret_cast<const uint4 *>(hidden.data + row * hidden.row_stride + k) : uint4{};
}

// ---- cublas: what the library leaves to do ----------------------------------------------------------------------------------------------------

template <class T> __global__ void __launch_bounds__(threads) linear_cross_entropy_rounded_kernel(const float *sums, T *y, int64_t packs) {
	constexpr int V = triad::vector<T>;
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= packs) return;
	const triad::Pack<float, V> of = reinterpret_cast<const triad::Pack<float, V> *>(sums)[i];
	triad::store(y + i * V, of.at);
}

// A block a row of grad_hidden.
template <class T> __global__ void __launch_bounds__(threads) linear_cross_entropy_ignored_kernel(T *rows, int64_t dim, Tokens part) {
	if (part.counts(blockIdx.x)) return;
	for (int64_t k = threadIdx.x; k < dim; k += threads) rows[blockIdx.x * dim + k] = from_float<T>(0.0f);
}

// ---- launchers ------------------------------------------------------------------------------------------------------------------------------

// Call is what both passes take.
template <class T> struct Call {
	const triad_call *call;
	cudaStream_t stream;
	Tokens all;
	int64_t dim, pitch; // of hidden and weight; of logits in memory
	float *floats;      // the workspace

	explicit Call(const triad_call *c, int64_t vector = 1)
	    : call(c), stream(triad::stream_of(c)), all{triad::Vector<const int64_t>(c->in[2]), static_cast<int64_t>(c->attr[0]), 0,
	                                                c->in[0].shape[0], c->in[1].shape[0], static_cast<int>(c->attr[1])},
	      dim(c->in[0].shape[1]), pitch((c->in[1].shape[0] + vector - 1) / vector * vector), floats(static_cast<float *>(c->workspace)) {}

	Matrix<const T> matrix(int i) const { return Matrix<const T>(call->in[i]); }
	triad::Strided<T> operand(int i) const { return {static_cast<const T *>(call->in[i].data), call->in[i].stride[0], call->in[i].stride[1]}; }
	triad::Strided<T> logits(const T *z) const { return {z, pitch, 1}; }
	template <class V> V *out(int i) const { return static_cast<V *>(call->out[i].data); }
	unsigned blocks(int64_t items) const { return triad::blocks_for(items, threads); }
};

constexpr int64_t few = 64; // floats before others: they begin at a multiple of 256 bytes
int64_t rounded_up(int64_t floats) { return (floats + few - 1) / few * few; }

int64_t tokens_of(const triad_call *call) { return call->in[0].shape[0]; }
int64_t classes_of(const triad_call *call) { return call->in[1].shape[0]; }

// Bytes of the workspace: a loss a token, or the divisor; sums of dweight, where they are not kept in it; logits.
int64_t naive_bytes(const triad_call *call) { return 4 * (rounded_up(tokens_of(call) + 1) + tokens_of(call) * classes_of(call)); }
template <int64_t most> int64_t rows_bytes(const triad_call *call, int64_t cols) {
	return std::min(tokens_of(call), most) * cols * triad::element_bytes(call->in[0].dtype);
}
template <int64_t most = chunk> int64_t forward_bytes(const triad_call *call) {
	return 4 * rounded_up(tokens_of(call) + 1) + rows_bytes<most>(call, classes_of(call) + Mma::chunk);
}
int64_t sums_of(const triad_call *call) { return call->in[0].dtype == TRIAD_F32 ? 0 : rounded_up(triad::elements(call->in[1])); }
template <int64_t most = chunk> int64_t backward_bytes(const triad_call *call) {
	return 4 * (few + sums_of(call)) + rows_bytes<most>(call, classes_of(call) + Mma::chunk + call->in[0].shape[1]);
}
// What the library has of its own lies behind the rest.
template <int64_t (*rest)(const triad_call *)> int64_t with_library(const triad_call *call) {
	return 4 * rounded_up((rest(call) + 3) / 4) + triad::cublas_workspace_bytes;
}

// The losses of the tokens are the output, or go to the workspace and are added up.
template <class T, class Rows> int forward(const Call<T> &c, Rows rows) {
	float *losses = c.all.reduction == none ? c.template out<float>(0) : c.floats;
	if (c.all.count > 0) rows(losses, c.template out<float>(1), c.floats + rounded_up(c.all.count + 1));
	if (c.all.reduction != none)
		linear_cross_entropy_reduce_kernel<<<1, threads, 0, c.stream>>>(losses, c.template out<float>(0), c.all);
	return triad::launched();
}

template <class T> int forward_naive(const triad_call *call) {
	const Call<T> c(call);
	return forward<T>(c, [&](float *losses, float *lse, float *z) {
		linear_cross_entropy_logits_kernel<T><<<c.blocks(c.all.count * c.all.classes), threads, 0, c.stream>>>(c.matrix(0), c.matrix(1), z, c.all, c.dim);
		linear_cross_entropy_rows_kernel<<<c.blocks(c.all.count), threads, 0, c.stream>>>(z, losses, lse, c.all);
	});
}

// launch_gradient turns logits into their gradients.
template <class T, class Z> void launch_gradient(const Call<T> &c, const Tokens &part, Z *z) {
	if (part.count == 0) return;
	linear_cross_entropy_gradient_kernel<<<c.blocks(part.count * part.classes), threads, 0, c.stream>>>(
	    z, static_cast<const float *>(c.call->in[3].data), triad::Vector<const float>(c.call->in[4]), c.floats, part);
}

// InTiles is how chunked works on a chunk, OnTensorCores how mma does.
template <class T> struct InTiles {
	static constexpr int vector = 1; // rows of logits are whole ones
	static constexpr int64_t most = chunk;
	static int prepare(const Call<T> &) { return TRIAD_OK; }
	static int ended() { return triad::launched(); }

	template <Along tokens> static void product(Product<T> p, cudaStream_t stream) {
		p.tokens = tokens;
		const int64_t tiles = triad::product_tiles(p.rows) * triad::product_tiles(p.cols);
		if (tiles > 0) linear_cross_entropy_product_kernel<T><<<static_cast<unsigned>(tiles), threads, 0, stream>>>(p);
	}
	static void losses(const Call<T> &c, const T *z, float *losses, float *lse, const Tokens &part) {
		linear_cross_entropy_chunk_kernel<T><<<static_cast<unsigned>(part.count), threads, 0, c.stream>>>(z, losses, lse, part);
	}
	// gradients turns logits into theirs, and gives hidden as dweight's product can read it.
	static triad::Strided<T> gradients(const Call<T> &c, T *z, const Tokens &part) {
		launch_gradient(c, part, z);
		return c.operand(0).from(part.first);
	}
};

// ByPacks is what is done beside the products, 16 bytes at a time.
template <class T, int64_t Most> struct ByPacks {
	static constexpr int vector = triad::vector<T>;
	static constexpr int64_t most = Most;
	static int ended() { return triad::launched(); }

	static void losses(const Call<T> &c, const T *z, float *losses, float *lse, const Tokens &part) {
		linear_cross_entropy_loss_kernel<T><<<static_cast<unsigned>(part.count), threads, 0, c.stream>>>(c.logits(z), losses, lse, part);
	}
	static triad::Strided<T> gradients(const Call<T> &c, T *z, const Tokens &part) {
		T *const copy = z + std::min(most, c.all.count) * c.pitch;
		if (part.count > 0)
			linear_cross_entropy_rows_gradient_kernel<T><<<static_cast<unsigned>(part.count), threads, 0, c.stream>>>(
			    z, c.pitch, static_cast<const float *>(c.call->in[3].data), triad::Vector<const float>(c.call->in[4]), c.floats, part,
			    c.operand(0).from(part.first), copy, c.dim);
		return {copy, c.dim, 1};
	}
};

template <class T> struct OnTensorCores : ByPacks<T, chunk> {
	using Largest = triad::hopper::MmaTiles<T, MmaTile<Mma::m, true>, MmaTile<Mma::n, true>>;

	static int prepare(const Call<T> &) {
		for (const auto kernel : {linear_cross_entropy_mma_kernel<T, nothing>, linear_cross_entropy_mma_kernel<T, rows_of_y>,
		                          linear_cross_entropy_mma_kernel<T, the_sum>})
			if (const int status = Largest::allow(kernel)) return status;
		return TRIAD_OK;
	}
	template <Along tokens> static void product(const Product<T> &p, cudaStream_t stream) {
		const int64_t tiles = (p.rows + Mma::m - 1) / Mma::m * ((p.cols + Mma::n - 1) / Mma::n);
		if (tiles > 0) linear_cross_entropy_mma_kernel<T, tokens><<<static_cast<unsigned>(tiles), Mma::threads, Largest::bytes, stream>>>(p);
	}
};

// WithLibrary multiplies by cuBLAS. It cannot leave out a token that is ignored: its row of grad_hidden is written with 0 afterwards.
#ifdef __CUEMU__
void check_cublas(triad::Check &check, const triad_call *) { check.that(false, "cuBLAS runs on a GPU alone"); }
template <class T> struct WithLibrary : ByPacks<T, library_chunk> {
	static int prepare(const Call<T> &) { return TRIAD_UNSUPPORTED; }
	template <Along> static void product(const Product<T> &, cudaStream_t) {}
};
#else
void check_cublas(triad::Check &check, const triad_call *call) {
	check.that(call->in[0].shape[1] > 0 && classes_of(call) <= INT32_MAX && call->in[0].shape[1] <= INT32_MAX, "cuBLAS takes sizes of 1 to 2^31 - 1");
	for (int i = 0; i < 2; i++) {
		const triad_tensor &x = call->in[i];
		check.that((x.shape[0] <= 1 || x.stride[0] >= x.shape[1]) && x.stride[0] <= INT32_MAX, "cuBLAS takes rows that do not overlap");
	}
	check.that(triad::Cublas::found() != nullptr, "there is no libcublas.so.13 or libcublas.so.12: install NVIDIA's cuBLAS, or name its folder in "
	           "LD_LIBRARY_PATH");
}

template <class T> struct WithLibrary : ByPacks<T, library_chunk> {
	const triad::Cublas *library = triad::Cublas::found();
	triad::Cublas::Use use;
	int status = 0;

	int prepare(const Call<T> &c) {
		unsigned char *const end = static_cast<unsigned char *>(c.call->workspace) + c.call->workspace_bytes;
		if (library != nullptr) use = library->ready(c.stream, end - triad::cublas_workspace_bytes, triad::cublas_workspace_bytes);
		return use.handle == nullptr ? static_cast<int>(cudaErrorUnknown) : TRIAD_OK;
	}
	template <Along tokens> void product(const Product<T> &p, cudaStream_t stream) {
		const int64_t pitch = (p.cols + Mma::chunk - 1) / Mma::chunk * Mma::chunk;
		if constexpr (tokens == the_sum) {
			if (p.depth == 0) cudaMemsetAsync(p.sums, 0, static_cast<size_t>(p.rows * pitch) * sizeof *p.sums, stream); // no token at all
			else multiply(p, p.sums, pitch, !p.begins);
			const int64_t packs = p.rows * pitch / triad::vector<T>;
			if (p.ends) linear_cross_entropy_rounded_kernel<<<triad::blocks_for(packs, threads), threads, 0, stream>>>(p.sums, p.y, packs);
		} else if (p.rows > 0) {
			multiply(p, p.y, pitch, false);
			if (tokens == rows_of_y) linear_cross_entropy_ignored_kernel<<<static_cast<unsigned>(p.rows), threads, 0, stream>>>(p.y, p.cols, p.part);
		}
	}
	template <class Y> void multiply(const Product<T> &p, Y *y, int64_t pitch, bool adds) {
		const int found = library->rows_product<T>(use.handle, p.a, p.b, y, pitch, p.rows, p.cols, p.depth, adds);
		if (status == 0) status = found;
	}
	int ended() const { return status == 0 ? triad::launched() : static_cast<int>(cudaErrorUnknown); }
};
#endif

// launch_logits starts z = hidden weight^T of a chunk.
template <class Way, class T> void launch_logits(Way &way, const Call<T> &c, const Tokens &part, T *z) {
	way.template product<nothing>({c.operand(0).from(part.first), c.operand(1), z, part.count, c.all.classes, c.dim, part, nothing, nullptr, true, true},
	                              c.stream);
}

template <class T, class Way> int forward_chunks(const triad_call *call) {
	const Call<T> c(call, Way::vector);
	Way way;
	if (const int status = way.prepare(c)) return status;
	const int status = forward<T>(c, [&](float *losses, float *lse, float *room) {
		T *z = reinterpret_cast<T *>(room);
		for (int64_t first = 0; first < c.all.count; first += Way::most) {
			const Tokens part = c.all.part(first, Way::most);
			launch_logits(way, c, part, z);
			way.losses(c, z, losses, lse, part);
		}
	});
	return status != TRIAD_OK ? status : way.ended();
}

template <class T> int forward_chunked(const triad_call *call) { return forward_chunks<T, InTiles<T>>(call); }
template <class T> int forward_mma(const triad_call *call) { return forward_chunks<T, OnTensorCores<T>>(call); }
template <class T> int forward_tma(const triad_call *call) {
	const Call<T> c(call);
	int status = TRIAD_OK;
	const int ended = forward<T>(c, [&](float *losses, float *lse, float *room) {
		const triad::Strided<T> hidden = c.operand(0), weight = c.operand(1);
		status = launch_rows<T>(c.all, hidden.data, hidden.row_stride, weight.data, weight.row_stride, c.dim, room, losses, lse, c.stream);
	});
	return status != TRIAD_OK ? status : ended;
}
template <class T> int forward_cublas(const triad_call *call) { return forward_chunks<T, WithLibrary<T>>(call); }

template <class T> int backward_naive(const triad_call *call) {
	const Call<T> c(call);
	float *z = c.floats + rounded_up(c.all.count + 1);
	linear_cross_entropy_count_kernel<<<1, threads, 0, c.stream>>>(c.floats, c.all);
	if (c.all.count > 0) {
		linear_cross_entropy_logits_kernel<T><<<c.blocks(c.all.count * c.all.classes), threads, 0, c.stream>>>(c.matrix(0), c.matrix(1), z, c.all, c.dim);
		launch_gradient(c, c.all, z);
		linear_cross_entropy_grad_hidden_kernel<T><<<c.blocks(c.all.count * c.dim), threads, 0, c.stream>>>(z, c.matrix(1), c.template out<T>(0), c.all, c.dim);
	}
	linear_cross_entropy_grad_weight_kernel<T><<<c.blocks(c.all.classes * c.dim), threads, 0, c.stream>>>(z, c.matrix(0), c.template out<T>(1), c.all, c.dim);
	return triad::launched();
}

// One pass over the chunks. Without a token there is one, which is empty: dweight is 0.
template <class T, class Way> int backward_chunks(const triad_call *call) {
	const Call<T> c(call, Way::vector);
	T *dhidden = c.template out<T>(0), *dweight = c.template out<T>(1), *z = reinterpret_cast<T *>(c.floats + few + sums_of(call));
	float *sums = sums_of(call) > 0 ? c.floats + few : reinterpret_cast<float *>(dweight); // which is fp32 then
	Way way;
	if (const int status = way.prepare(c)) return status;
	linear_cross_entropy_count_kernel<<<1, threads, 0, c.stream>>>(c.floats, c.all);
	for (int64_t first = 0; first == 0 || first < c.all.count; first += Way::most) {
		const Tokens part = c.all.part(first, Way::most);
		const bool ends = first + Way::most >= c.all.count;
		launch_logits(way, c, part, z);
		const triad::Strided<T> hidden = way.gradients(c, z, part);
		way.template product<rows_of_y>({c.logits(z), c.operand(1).turned(), dhidden + first * c.dim, part.count, c.dim, c.all.classes, part, rows_of_y,
		                                  nullptr, true, true}, c.stream);
		way.template product<the_sum>({c.logits(z).turned(), hidden.turned(), dweight, c.all.classes, c.dim, part.count, part, the_sum, sums,
		                                first == 0, ends}, c.stream);
	}
	return way.ended();
}

template <class T> int backward_chunked(const triad_call *call) { return backward_chunks<T, InTiles<T>>(call); }
template <class T> int backward_mma(const triad_call *call) { return backward_chunks<T, OnTensorCores<T>>(call); }
template <class T> int backward_tma(const triad_call *call) { return launch_call_gradients<T>(call, Call<T>(call).all, triad::stream_of(call)); }
template <class T> int backward_cublas(const triad_call *call) { return backward_chunks<T, WithLibrary<T>>(call); }

constexpr uint32_t full = triad::bit(TRIAD_F32);

template <class... Name> triad::Limits mma(Name... gradients) {
	return {triad::capability("mma", 80, true), triad::multiple_of("dim", Mma::chunk), triad::contiguous_columns("hidden", "weight"),
	        triad::stepped(Mma::chunk, "hidden", "weight"), triad::aligned(16, "hidden", "weight", gradients...)};
}

const triad::Limit cublas = triad::limit("a GPU, cuBLAS, sizes of 1 to 2^31 - 1, rows that do not overlap", check_cublas);

} // namespace

// ---- registration ---------------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(linear_cross_entropy, naive, forward,
             .contract("fp32").dtypes(full).outputs(3).workspace(naive_bytes).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(linear_cross_entropy, naive, forward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(naive_bytes).launch(TRIAD_BY_DTYPE(forward_naive)))
TRIAD_KERNEL(linear_cross_entropy, chunked, forward,
             .contract("fp32").dtypes(full).outputs(3).workspace(forward_bytes).launch(TRIAD_BY_DTYPE(forward_chunked)))
TRIAD_KERNEL(linear_cross_entropy, chunked, forward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(forward_bytes).launch(TRIAD_BY_DTYPE(forward_chunked)))
TRIAD_KERNEL(linear_cross_entropy, naive, backward,
             .contract("fp32").dtypes(full).outputs(3).workspace(naive_bytes).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(linear_cross_entropy, naive, backward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(naive_bytes).launch(TRIAD_BY_DTYPE(backward_naive)))
TRIAD_KERNEL(linear_cross_entropy, chunked, backward,
             .contract("fp32").dtypes(full).outputs(3).workspace(backward_bytes).launch(TRIAD_BY_DTYPE(backward_chunked)))
TRIAD_KERNEL(linear_cross_entropy, chunked, backward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(backward_bytes).launch(TRIAD_BY_DTYPE(backward_chunked)))
TRIAD_KERNEL(linear_cross_entropy, mma, forward,
             .asynchronous().contract("stored").dtypes(triad::halves).outputs(3).workspace(forward_bytes).limits(mma()).launch(TRIAD_BY_HALF(forward_mma)))
TRIAD_KERNEL(linear_cross_entropy, mma, backward,
             .asynchronous().contract("stored").dtypes(triad::halves).outputs(3).workspace(backward_bytes).limits(mma("grad_hidden", "grad_weight"))
             .launch(TRIAD_BY_HALF(backward_mma)))
TRIAD_KERNEL(linear_cross_entropy, sm90_tma, forward,
             .asynchronous().contract("stored").dtypes(triad::halves).outputs(3).workspace(tma_bytes).limits(triad::wgmma_capability()).limits(mma())
             .limits(maps).launch(TRIAD_BY_HALF(forward_tma)))
TRIAD_KERNEL(linear_cross_entropy, sm90_tma, backward,
             .asynchronous().contract("stored").dtypes(triad::halves).outputs(3).workspace(tma_backward_bytes).limits(triad::wgmma_capability())
             .limits(mma("grad_hidden", "grad_weight")).limits(maps).launch(TRIAD_BY_HALF(backward_tma)))
TRIAD_KERNEL(linear_cross_entropy, cublas, forward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(with_library<forward_bytes<library_chunk>>)
             .limits(mma()).limits(cublas).launch(TRIAD_BY_HALF(forward_cublas)))
TRIAD_KERNEL(linear_cross_entropy, cublas, backward,
             .contract("stored").dtypes(triad::halves).outputs(3).workspace(with_library<backward_bytes<library_chunk>>)
             .limits(mma("grad_hidden", "grad_weight")).limits(cublas).launch(TRIAD_BY_HALF(backward_cublas)))
