// quantize_int8: q[r,c] = clamp(round(x[r,c] / scale) + zero, -128, 127), with one scale and zero point, or one a row
//   symmetric   scale = max(max |x| / 127, 2^-126), zero = 0
//   asymmetric  scale = max(hi/255 - lo/255, 2^-126), zero = clamp(round(-lo/scale) - 128), lo = min(0, min x), hi = max(0, max x)
// Layout   x: [rows, cols], fp32, fp16, bf16; q: [rows, cols] int8; scale fp32 and zero int32: [1] or [rows], zero empty when symmetric.
// Numerics fp32; halves are rounded to even. The scale of nothing but zeros is 1.
// Limits   rows = 0 launches what gives a scale of 1; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Jacob et al. 2018, Integer-Arithmetic-Only Inference, section 2.1
// The ladder: each variant adds one idea, and says what that costs.
//   naive   two kernels: a block a scale looks for lo and hi, then a thread an element; any strides; the readable one, and the one to trust
//           first. x is read twice, and one scale for the whole tensor is one block's work
//   row     a block a row, which waits in shared memory for its scale: x is read once; per = row, rows of at most 47 KB
//   vec     16-byte loads of a row that waits in registers for its scale, and four or eight codes a store, of fewer instructions each; a row of
//           more than 16384 columns is read twice. Costs rows that are whole vectors
//   parts   per = tensor: many blocks look for lo and hi, each in a part of the tensor, and the second kernel joins what they found; whole
//           vectors too
#include "element.cuh"
#include "extent.cuh"
#include "pack.cuh"
#include "quotient.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "spec/quantize_int8.cuh"

namespace {

using triad::Extent;
using triad::Join;
using triad::to_float;

constexpr int threads = 256;
constexpr int parts = 1024; // of a tensor with one scale, at most: a block each

enum Attribute { mode, per };

// Levels turns numbers of one group into codes.
struct Levels {
	float scale;
	int zero;

	// A difference of quotients, since hi - lo may be too large for fp32.
	__device__ Levels(Extent e, bool asymmetric) : zero(0) {
		const float step = asymmetric ? e.high / 255.0f - e.low / 255.0f : fmaxf(e.high, -e.low) / 127.0f;
		scale = e.low == 0.0f && e.high == 0.0f ? 1.0f : fmaxf(step, 1.17549435e-38f); // the smallest normal number: 1/scale is finite
		if (asymmetric) zero = clamped(rintf(-e.low / scale) - 128.0f);
	}
	__device__ Levels(float scale, int zero) : scale(scale), zero(zero) {}

	__device__ int8_t operator()(float v) const { return static_cast<int8_t>(clamped(rintf(v / scale) + static_cast<float>(zero))); }

private:
	__device__ static int clamped(float v) { return static_cast<int>(fminf(fmaxf(v, -128.0f), 127.0f)); }
};

// Codes does what Levels does with fewer instructions a number, for kernels that wait for little else, where its quotient holds. The limits are
// integers, so a number is clamped before it is rounded.
struct Codes {
	triad::Quotient quotient;
	float zero, low, high;

	__device__ Codes(triad::Quotient quotient, int zero)
	    : quotient(quotient), zero(static_cast<float>(zero)), low(static_cast<float>(-128 - zero)), high(static_cast<float>(127 - zero)) {}

	__device__ int8_t operator()(float v) const { return triad::last_byte(fminf(fmaxf(quotient(v), low), high), zero); }
};

// Outputs has room for levels in the workspace, from where the second kernel of a variant reads them.
struct Outputs {
	int8_t *q;
	float *scale;
	int32_t *zero; // null where nobody wants it
	Levels *kept;
	bool asymmetric, by_row;

	explicit Outputs(const triad_call *call)
	    : q(static_cast<int8_t *>(call->out[0].data)), scale(static_cast<float *>(call->out[1].data)),
	      zero(static_cast<int32_t *>(call->out[2].data)), kept(static_cast<Levels *>(call->workspace)), asymmetric(call->attr[mode] != 0),
	      by_row(call->attr[per] != 0) {}

	__device__ void give(int64_t group, Levels levels) const {
		scale[group] = levels.scale;
		if (asymmetric && zero != nullptr) zero[group] = levels.zero;
	}
};

// ---- naive ------------------------------------------------------------------------------------------------------------------------------

// A block finds the scale of one row, or of the whole tensor.
template <class T> __global__ void quantize_int8_scale_kernel(triad::Matrix<const T> x, Outputs out, int64_t rows, int64_t cols) {
	__shared__ float lows[threads], highs[threads];
	const int64_t group = blockIdx.x, first = out.by_row ? group * cols : 0, end = out.by_row ? first + cols : rows * cols;
	Extent own = {0.0f, 0.0f};
	for (int64_t i = first + threadIdx.x; i < end; i += threads) own.take(to_float(x(i / cols, i % cols)));
	lows[threadIdx.x] = own.low, highs[threadIdx.x] = own.high;
	for (int half = threads / 2; half > 0; half /= 2) {
		__syncthreads();
		if (threadIdx.x < half) {
			lows[threadIdx.x] = fminf(lows[threadIdx.x], lows[threadIdx.x + half]);
			highs[threadIdx.x] = fmaxf(highs[threadIdx.x], highs[threadIdx.x + half]);
		}
	}
	if (threadIdx.x != 0) return;
	const Levels levels({lows[0], highs[0]}, out.asymmetric);
	out.give(group, levels);
	out.kept[group] = levels;
}

template <class T> __global__ void quantize_int8_naive_kernel(triad::Matrix<const T> x, Outputs out, int64_t rows, int64_t cols) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= rows * cols) return;
	const int64_t row = i / cols;
	const Levels levels = out.kept[out.by_row ? row : 0];
	out.q[i] = levels(to_float(x(row, i % cols)));
}

// ---- row --------------------------------------------------------------------------------------------------------------------------------

constexpr int64_t row_bytes = 47 << 10; // of the 48 KB of shared memory that every GPU gives a block, some of which is scratch

template <class T>
__global__ void __launch_bounds__(threads) quantize_int8_row_kernel(triad::Matrix<const T> x, Outputs out, int64_t rows, int cols) {
	extern __shared__ __align__(16) unsigned char memory[];
	__shared__ Extent scratch[threads / 32];
	T *row = reinterpret_cast<T *>(memory);
	for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
		Extent own = {0.0f, 0.0f};
		for (int c = threadIdx.x; c < cols; c += threads) { // a thread reads again what it wrote itself: no barrier
			row[c] = x(r, c);
			own.take(to_float(row[c]));
		}
		const Levels levels(triad::block_reduce<threads>(own, Join{}, scratch), out.asymmetric);
		if (threadIdx.x == 0) out.give(r, levels);
		for (int c = threadIdx.x; c < cols; c += threads) out.q[r * cols + c] = levels(to_float(row[c]));
	}
}

// ---- vec --------------------------------------------------------------------------------------------------------------------------------

template <class T> using Raw = triad::Pack<T, triad::vector<T>>;

template <class T, class Give> __device__ void put_codes(int8_t *to, const Raw<T> &raw, Give code_of) {
	float v[triad::vector<T>];
	triad::unpack(raw, v);
	triad::Pack<int8_t, triad::vector<T>> codes;
#pragma unroll
	for (int j = 0; j < triad::vector<T>; j++) codes.at[j] = code_of(v[j]);
	*reinterpret_cast<triad::Pack<int8_t, triad::vector<T>> *>(to) = codes;
}

// Calls use(code_of) with what makes codes of numbers: Codes, or Levels where its scale is extreme.
template <class Use> __device__ void by_scale(Levels levels, Use use) {
	const triad::Quotient quotient(levels.scale);
	if (quotient.holds()) use(Codes(quotient, levels.zero));
	else use(levels);
}

// A block shares a row and keeps all of it in registers, Items numbers a thread, as it lies in memory.
template <class T, int Threads, int Items>
__global__ void __launch_bounds__(Threads) quantize_int8_vec_kernel(const T *x, Outputs out, int64_t rows, int64_t cols) {
	constexpr int V = triad::vector<T>, Packs = Items / V;
	__shared__ Extent scratch[Threads / 32];
	const int first = static_cast<int>(threadIdx.x) * V;
	for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
		const T *const from = x + r * cols;
		Raw<T> held[Packs];
		triad::PackExtent<T> own;
#pragma unroll
		for (int p = 0; p < Packs; p++)
			if (first + p * Threads * V < cols) held[p] = triad::fetch<V>(from + first + p * Threads * V);
#pragma unroll
		for (int p = 0; p < Packs; p++)
			if (first + p * Threads * V < cols) own.take(held[p]);
		const Levels levels(triad::block_reduce<Threads>(own.all(), Join{}, scratch), out.asymmetric);
		if (threadIdx.x == 0) out.give(r, levels);
		by_scale(levels, [&](auto code_of) {
#pragma unroll
			for (int p = 0; p < Packs; p++)
				if (first + p * Threads * V < cols) put_codes<T>(out.q + r * cols + first + p * Threads * V, held[p], code_of);
		});
	}
}

// A block a row that the registers do not hold: two reads.
template <class T> __global__ void __launch_bounds__(threads) quantize_int8_long_rows_kernel(const T *x, Outputs out, int64_t rows, int64_t cols) {
	constexpr int V = triad::vector<T>;
	__shared__ Extent scratch[threads / 32];
	for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
		const T *from = x + r * cols;
		triad::PackExtent<T> own;
#pragma unroll 4
		for (int64_t p = threadIdx.x; p < cols / V; p += threads) own.take(triad::fetch<V>(from + p * V));
		const Levels levels(triad::block_reduce<threads>(own.all(), Join{}, scratch), out.asymmetric);
		if (threadIdx.x == 0) out.give(r, levels);
		by_scale(levels, [&](auto code_of) {
#pragma unroll 4
			for (int64_t p = threadIdx.x; p < cols / V; p += threads) put_codes<T>(out.q + r * cols + p * V, triad::fetch<V>(from + p * V), code_of);
		});
	}
}

// ---- parts -----------------------------------------------------------------------------------------------------------------------------

// Block b looks at every so-many-th pack.
template <class T> __global__ void __launch_bounds__(threads) quantize_int8_part_kernel(const T *x, Extent *extents, int64_t packs) {
	__shared__ Extent scratch[threads / 32];
	triad::PackExtent<T> own;
#pragma unroll 4
	for (int64_t p = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x; p < packs; p += gridDim.x * static_cast<int64_t>(threads))
		own.take(triad::fetch<triad::vector<T>>(x + p * triad::vector<T>));
	const Extent of_block = triad::block_reduce<threads>(own.all(), Join{}, scratch);
	if (threadIdx.x == 0) extents[blockIdx.x] = of_block;
}

// Every block joins all parts, which the L2 cache has: that is cheaper than one more launch.
template <class T>
__global__ void __launch_bounds__(threads) quantize_int8_parts_kernel(const T *x, const Extent *extents, int count, Outputs out, int64_t packs) {
	constexpr int V = triad::vector<T>;
	__shared__ Extent scratch[threads / 32];
	Extent own = {0.0f, 0.0f};
	for (int i = threadIdx.x; i < count; i += threads) own = Join{}(own, extents[i]);
	const Levels levels(triad::block_reduce<threads>(own, Join{}, scratch), out.asymmetric);
	if (blockIdx.x == 0 && threadIdx.x == 0) out.give(0, levels);
	by_scale(levels, [&](auto code_of) {
#pragma unroll 4
		for (int64_t p = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x; p < packs; p += gridDim.x * static_cast<int64_t>(threads))
			put_codes<T>(out.q + p * V, triad::fetch<V>(x + p * V), code_of);
	});
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

template <class T> int quantize_int8_naive(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1], groups = call->out[1].shape[0];
	const triad::Matrix<const T> x(call->in[0]);
	const Outputs out(call);
	if (groups > 0)
		quantize_int8_scale_kernel<T><<<static_cast<unsigned>(groups), threads, 0, triad::stream_of(call)>>>(x, out, rows, cols);
	if (rows > 0)
		quantize_int8_naive_kernel<T><<<triad::blocks_for(rows * cols, threads), threads, 0, triad::stream_of(call)>>>(x, out, rows, cols);
	return triad::launched();
}

template <class T> int quantize_int8_row(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows > 0)
		quantize_int8_row_kernel<T><<<triad::blocks_for(rows, 1), threads, static_cast<size_t>(cols) * sizeof(T), triad::stream_of(call)>>>(
		    triad::Matrix<const T>(call->in[0]), Outputs(call), rows, static_cast<int>(cols));
	return triad::launched();
}

template <class T> int quantize_int8_vec(const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	if (rows == 0) return TRIAD_OK;
	const auto launch = [&](auto kernel, int block) {
		kernel<<<triad::blocks_for(rows, 1), block, 0, triad::stream_of(call)>>>(static_cast<const T *>(call->in[0].data), Outputs(call), rows, cols);
		return triad::launched();
	};
	if (cols <= 128 * 8) return launch(quantize_int8_vec_kernel<T, 128, 8>, 128);
	if (cols <= 128 * 32) return launch(quantize_int8_vec_kernel<T, 128, 32>, 128);
	if (cols <= 512 * 32) return launch(quantize_int8_vec_kernel<T, 512, 32>, 512);
	return launch(quantize_int8_long_rows_kernel<T>, threads);
}

template <class T> int quantize_int8_parts(const triad_call *call) {
	const int64_t packs = triad::elements(call->in[0]) / triad::vector<T>, wanted = triad::blocks_for(packs, threads * 4);
	const unsigned blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < parts ? wanted : parts);
	const T *x = static_cast<const T *>(call->in[0].data);
	Extent *extents = static_cast<Extent *>(call->workspace);
	quantize_int8_part_kernel<T><<<blocks, threads, 0, triad::stream_of(call)>>>(x, extents, packs);
	quantize_int8_parts_kernel<T>
	    <<<blocks, threads, 0, triad::stream_of(call)>>>(x, extents, static_cast<int>(blocks), Outputs(call), packs);
	return triad::launched();
}

int64_t levels_a_group(const triad_call *call) { return call->out[1].shape[0] * static_cast<int64_t>(sizeof(Levels)); }
int64_t extents_of_parts(const triad_call *) { return parts * sizeof(Extent); }

void check_blocks(triad::Check &check, const triad_call *call) {
	const int64_t rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	check.that(rows <= INT32_MAX && rows * cols / threads < INT32_MAX, "%lld x %lld are too many blocks", static_cast<long long>(rows),
	           static_cast<long long>(cols));
}

void check_by_row(triad::Check &check, const triad_call *call) { check.that(call->attr[per] != 0, "there is one scale for the whole tensor"); }

void check_by_tensor(triad::Check &check, const triad_call *call) { check.that(call->attr[per] == 0, "every row has a scale of its own"); }

void check_row(triad::Check &check, const triad_call *call) {
	const int64_t bytes = call->in[0].shape[1] * triad::element_bytes(call->in[0].dtype);
	check.that(bytes <= row_bytes, "a row has %lld bytes, more than %lld", static_cast<long long>(bytes), static_cast<long long>(row_bytes));
}

const triad::Limit few_blocks = triad::limit("at most 2^31 - 1 blocks", check_blocks), by_row = triad::limit("per = row", check_by_row),
                   by_tensor = triad::limit("per = tensor", check_by_tensor), short_rows = triad::limit("rows of at most 47 KB", check_row);

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(quantize_int8, naive, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(few_blocks)
             .workspace(levels_a_group).launch(TRIAD_BY_DTYPE(quantize_int8_naive)))
TRIAD_KERNEL(quantize_int8, row, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(by_row, short_rows).launch(TRIAD_BY_DTYPE(quantize_int8_row)))
TRIAD_KERNEL(quantize_int8, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(by_row, triad::contiguous("x"), triad::vector_rows("x"), triad::aligned(16, "q"))
             .launch(TRIAD_BY_DTYPE(quantize_int8_vec)))
TRIAD_KERNEL(quantize_int8, parts, forward,
             .contract("fp32").dtypes(triad::floats).outputs(7).limits(by_tensor, triad::contiguous("x"), triad::vector_rows("x"), triad::aligned(16, "q"))
             .workspace(extents_of_parts).launch(TRIAD_BY_DTYPE(quantize_int8_parts)))
