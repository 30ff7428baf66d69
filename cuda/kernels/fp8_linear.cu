// fp8_linear: y[m,n] = Q(x) Q(w)^T      backward: grad_x[m,k] = Q(grad_y) Q(w), grad_w[n,k] = Q(grad_y)^T Q(x)
//
// Formula   Q quantises to fp8 along the dim that is summed, with the steps of quantize_fp8, and a product multiplies codes by their scales:
//             tensorwise          torchao, one scale for each tensor; e4m3, grad_y e5m2
//             rowwise             torchao, a power of two for each row, of the transpose where that is what is summed; e4m3
//             rowwise_with_gw_hp  the same, but grad_x takes w with one scale, and grad_w multiplies without Q, in fp32
//             block               deepseek, x and grad_y 1 x 128, w 128 x 128; grad_w of two that are 1 x 128; e4m3
// Layout    x [m, k], w [n, k], grad_y [m, n], y, grad_x and grad_w row-major in fp32, fp16 or bf16; scale_x, scale_w in fp32 as quantize_fp8 stores
//           them: [1], [m] and [n], or [m, ceil(k/128)] and [ceil(n/128), ceil(k/128)]. Inputs may have any strides.
// Numerics  as fp8_gemm: after every 128 of the sum what the tensor core has is scaled and added in fp32, and rounded once at the end.
// Limits    m = 0 gives zeros for grad_w.
// Source    torchao 0.18, float8_linear.py; DeepSeek-V3 2024, arXiv:2412.19437, section 3.3
//
//   naive       the naive kernels of quantize_fp8 and of fp8_gemm, one after the other
//   tiled       what reads fastest of quantize_fp8, and tiles of 64 x 64 of fp8_gemm
//   sm90_wgmma  the same, and the tensor cores of Hopper; grad_w under block: tiles unless 16 divides m
#include "arguments.cuh"
#include "capability.cuh"
#include "fp8_columns.cuh"
#include "fp8_gemm/tiled.cuh"
#include "fp8_gemm/wgmma_row_blocks.cuh"
#include "gemm/sm90_tma.cuh"
#include "plain_product.cuh"
#include "register.cuh"
#include "room.cuh"
#include "spec/fp8_linear.cuh"
#include "tile_product.cuh"

namespace {

namespace quantize = triad::quantize;

using triad::Check, triad::Limit, triad::Limits, triad::PlainProduct, triad::Product, triad::Room, triad::Strided, triad::Tiled;
using triad::block_scaling, triad::row_scaling, triad::tensor_scaling, triad::scale_block, triad::product_side, triad::product_threads, triad::vector;
using triad::blocks_for, triad::ceil_div, triad::elements, triad::launched, triad::product_tiles, triad::stream_of;

TRIAD_SPILLS(quantize_fp8_row_kernel, 36, "fp32 rows of more than 16384 numbers, for sm_90a");
TRIAD_SPILLS(quantize_fp8_tile_kernel, 24, "16-bit tiles with one scale and their transposes, for sm_80; 4 with scales of rows, for sm_90a");

// ---- kernels ----------------------------------------------------------------------------------------------------------------------------

// torchao stores what numbers were multiplied by; codes are multiplied by its inverse.
__global__ void fp8_linear_inverse_kernel(const float *scale, float *inverse, int64_t count) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
	if (i < count) inverse[i] = 1.0f / scale[i];
}

// ---- what a pass does -------------------------------------------------------------------------------------------------------------------

enum Recipe { tensorwise, rowwise, rowwise_with_gw_hp, by_block };

// Steps are the attributes of quantize_fp8 for one operand.
struct Steps {
	bool wide; // e5m2
	quantize::Per per;
	bool deepseek, powers;
};

struct Recipes {
	Steps x, w, grad, w_of_grad, x_of_grad; // of y = x w^T, of grad_x = grad w, of grad_w = grad^T x
};

Recipes recipe_of(const triad_call *call) {
	using namespace quantize;
	constexpr Steps tensor = {false, per_tensor, false, false}, wide = {true, per_tensor, false, false}, row = {false, per_row, false, true},
			one = {false, per_tensor, false, true}, block = {false, per_block, true, false}, tile = {false, per_tile, true, false};
	switch (static_cast<int>(call->attr[0])) {
	case tensorwise: return {tensor, tensor, wide, tensor, tensor};
	case rowwise: return {row, row, row, row, row};
	case rowwise_with_gw_hp: return {row, row, row, one, row};
	default: return {block, tile, block, tile, block};
	}
}

triad_tensor matrix(void *data, int32_t dtype, int64_t rows, int64_t cols) { return {data, dtype, 2, {rows, cols}, {cols, 1}}; }

triad_tensor turned(triad_tensor x) {
	std::swap(x.shape[0], x.shape[1]);
	std::swap(x.stride[0], x.stride[1]);
	return x;
}

// Operand is one orientation of a matrix, quantised: its codes, the scales that are stored, and those that codes are multiplied by.
struct Operand {
	triad_tensor codes, stored, factors;
};

// Quantised is a matrix quantised along its rows, along its columns, or both.
class Quantised {
public:
	// scales: where those of rows belong; null: in the workspace. Fast kernels make both orientations from one read where there are scales of tensors,
	// blocks or tiles, so that rows come with columns.
	Quantised(Room &room, const triad_tensor &x, Steps steps, bool rows, bool columns, void *scales, bool fast)
	    : x_(x), steps_(steps), rows_(rows || (fast && steps.per != quantize::per_row)), columns_(columns), fast_(fast),
	      of_rows(operand(room, rows_ ? x.shape[0] : 0, x.shape[1], steps, rows_, scales)),
	      of_columns(operand(room, columns ? x.shape[1] : 0, x.shape[0], steps, columns, nullptr)) {
		const triad_tensor out[4] = {of_rows.codes, of_rows.stored, of_columns.codes, of_columns.stored};
		triad_call call = {};
		call.out = out;
		const int64_t of_columns_bytes = columns ? quantize::magnitudes_of_columns(x.shape[0], x.shape[1]) : 0;
		scratch_ = room.take<uint8_t>(std::max({quantize::factors_of_groups(&call), quantize::magnitudes_of_parts(&call), of_columns_bytes}));
	}

	int launch(cudaStream_t stream) const {
		if (x_.dtype == TRIAD_F32) return launch<float>(stream);
		return x_.dtype == TRIAD_F16 ? launch<__half>(stream) : launch<__nv_bfloat16>(stream);
	}

private:
	triad_tensor x_;
	Steps steps_;
	bool rows_, columns_, fast_;
	void *scratch_;

	static Operand operand(Room &room, int64_t rows, int64_t k, Steps steps, bool wanted, void *scales) {
		const int64_t blocks = ceil_div(k, scale_block);
		triad_tensor of = {nullptr, TRIAD_F32, 1, {wanted}, {1}};
		if (steps.per == quantize::per_row) of.shape[0] = rows;
		if (steps.per == quantize::per_block) of = matrix(nullptr, TRIAD_F32, rows, blocks);
		if (steps.per == quantize::per_tile) of = matrix(nullptr, TRIAD_F32, ceil_div(rows, scale_block), blocks);
		Operand made = {matrix(room.take<uint8_t>(rows * k), steps.wide ? TRIAD_E5M2 : TRIAD_E4M3, rows, k), of, of};
		made.stored.data = scales ? scales : room.take<uint8_t>(elements(of) * 4);
		made.factors.data = steps.deepseek ? made.stored.data : room.take<uint8_t>(elements(of) * 4);
		return made;
	}

	template <class T> bool whole() const {
		const bool dense = x_.stride[1] == 1 && x_.stride[0] == x_.shape[1], vectors = x_.shape[1] % vector<T> == 0;
		return dense && vectors && reinterpret_cast<uintptr_t>(x_.data) % 16 == 0 && x_.shape[0] <= 65535 * quantize::side;
	}

	template <class T> int launch(cudaStream_t stream) const {
		const bool by_row = steps_.per == quantize::per_row && x_.shape[1] <= 32768;
		if (fast_ && whole<T>() && steps_.per != quantize::per_row) {
			const auto kernels = steps_.per == quantize::per_tensor ? quantize::launch_parts<T> : quantize::launch_tile<T>;
			if (const int status = run(kernels, x_, of_rows, of_columns, columns_, stream)) return status;
		} else {
			const auto kernels = fast_ && by_row && whole<T>() ? quantize::launch_row<T> : quantize::launch_naive<T>;
			if (rows_)
				if (const int status = run(kernels, x_, of_rows, {}, false, stream)) return status;
			if (columns_)
				if (const int status = fast_ && whole<T>() ? run(quantize::launch_columns<T>, x_, {}, of_columns, true, stream)
				                                           : run(quantize::launch_naive<T>, turned(x_), of_columns, {}, false, stream))
					return status;
		}
		invert(of_rows, stream);
		invert(of_columns, stream);
		return launched();
	}

	// run calls kernels of quantize_fp8.
	int run(int (*kernels)(const triad_call *), const triad_tensor &x, const Operand &q, const Operand &q_t, bool both, cudaStream_t stream) const {
		const triad_tensor out[4] = {q.codes, q.stored, q_t.codes, q_t.stored};
		const double attributes[5] = {static_cast<double>(steps_.wide), static_cast<double>(steps_.per), static_cast<double>(steps_.deepseek),
		                              static_cast<double>(steps_.powers), static_cast<double>(both)};
		const triad_call call = {sizeof call, 1, 4, 5, &x, out, attributes, scratch_, 0, stream};
		return kernels(&call);
	}

	void invert(const Operand &of, cudaStream_t stream) const {
		const int64_t count = elements(of.stored);
		if (steps_.deepseek || count == 0) return;
		fp8_linear_inverse_kernel<<<blocks_for(count, 256), 256, 0, stream>>>(static_cast<const float *>(of.stored.data),
		                                                                      static_cast<float *>(of.factors.data), count);
	}

public:
	const Operand of_rows, of_columns;
};

// multiply writes the product of two operands to an output.
template <class Variant> int multiply(const Operand &a, Operand b, const triad_tensor &out, quantize::Per per, cudaStream_t stream) {
	if (per == quantize::per_row && b.factors.rank == 1 && b.factors.shape[0] == 1) b.factors.shape[0] = b.codes.shape[0], b.factors.stride[0] = 0;
	const triad_tensor in[4] = {a.codes, a.factors, b.codes, b.factors};
	const double scaling[2] = {static_cast<double>(per == quantize::per_tensor ? tensor_scaling : per == quantize::per_row ? row_scaling : block_scaling), 0};
	const triad_call call = {sizeof call, 4, 1, 2, in, &out, scaling, nullptr, 0, stream};
	return triad::launch_products<Variant, false>(&call);
}

// copied_in_boxes says whether the copy engine reads columns of a matrix: neighbours in rows of whole vectors.
template <class T> bool copied_in_boxes(const triad_tensor &x) {
	const bool steps = x.stride[1] == 1 && x.stride[0] > 0 && x.stride[0] % vector<T> == 0 && x.shape[1] % vector<T> == 0;
	return steps && elements(x) > 0 && reinterpret_cast<uintptr_t>(x.data) % 16 == 0;
}

// plain writes grad^T x to grad_w: on tensor cores what the copy engine reads, 16-bit rows of vectors, where the variant has them.
template <class Variant, class T, bool Fast> int plain(const triad_call *call) {
	const triad_tensor &x = call->in[0], &grad = call->in[2], &out = call->out[1];
	if constexpr (std::is_same_v<Variant, triad::WgmmaByRows> && sizeof(T) == 2) {
		const auto across = [](const triad_tensor &t) {
			return triad::gemm::Operand<T>{static_cast<const T *>(t.data), 0, t.stride[1], t.stride[0]};
		};
		if (copied_in_boxes<T>(x) && copied_in_boxes<T>(grad)) {
			const triad::gemm::Product<T> p = {across(grad), across(x), nullptr, static_cast<T *>(out.data), 1, out.shape[0], out.shape[1], grad.shape[0], 1, 0};
			triad::hopper::PairWork work = {};
			if (const int status = triad::gemm::map_product<triad::gemm::TmaTile, false, false>(&work, p, 8)) return status;
			return triad::hopper::launch_pair<triad::gemm::TmaTile>(triad::gemm::gemm_tma<T, false, false>, work, stream_of(call), p, stores_wide(p));
		}
	}
	const auto strided = [](const triad_tensor &t) { return Strided<T>{static_cast<const T *>(t.data), t.stride[1], t.stride[0]}; };
	const PlainProduct<T> p = {strided(grad), strided(x), static_cast<T *>(out.data), out.shape[0], out.shape[1], grad.shape[0]};
	if (Fast)
		triad::plain_product_kernel<T><<<static_cast<unsigned>(product_tiles(p.rows) * product_tiles(p.cols)), product_threads, 0, stream_of(call)>>>(p);
	else
		triad::plain_product_naive_kernel<T><<<blocks_for(p.rows * p.cols, 256), 256, 0, stream_of(call)>>>(p);
	return launched();
}

template <bool Fast> struct Forward {
	Room room;
	Quantised x, w;

	explicit Forward(const triad_call *call)
	    : room(call), x(room, call->in[0], recipe_of(call).x, true, false, call->out[1].data, Fast),
	      w(room, call->in[1], recipe_of(call).w, true, false, call->out[2].data, Fast) {}
};

template <bool Fast> struct Backward {
	bool plain; // grad_w of what is not quantised
	Room room;
	Quantised grad, w, x;

	explicit Backward(const triad_call *call)
	    : plain(static_cast<int>(call->attr[0]) == rowwise_with_gw_hp), room(call),
	      grad(room, call->in[2], recipe_of(call).grad, true, !plain, nullptr, Fast),
	      w(room, call->in[1], recipe_of(call).w_of_grad, false, true, nullptr, Fast),
	      x(room, call->in[0], recipe_of(call).x_of_grad, false, !plain, nullptr, Fast) {}
};

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

template <class Variant, bool Fast> int forward(const triad_call *call) {
	const Forward<Fast> of(call);
	const cudaStream_t stream = stream_of(call);
	if (const int status = of.x.launch(stream)) return status;
	if (const int status = of.w.launch(stream)) return status;
	return multiply<Variant>(of.x.of_rows, of.w.of_rows, call->out[0], recipe_of(call).x.per, stream);
}

template <class Variant, bool Fast> int backward(const triad_call *call) {
	const Backward<Fast> of(call);
	const cudaStream_t stream = stream_of(call);
	if (const int status = of.grad.launch(stream)) return status;
	if (const int status = of.w.launch(stream)) return status;
	if (const int status = multiply<Variant>(of.grad.of_rows, of.w.of_columns, call->out[0], recipe_of(call).grad.per, stream)) return status;
	if (!call->out[1].data) return launched();
	if (!of.plain) {
		if (const int status = of.x.launch(stream)) return status;
		return multiply<Variant>(of.grad.of_columns, of.x.of_columns, call->out[1], recipe_of(call).grad.per, stream);
	}
	return triad::by_dtype<0, plain<Variant, float, Fast>, plain<Variant, __half, Fast>, plain<Variant, __nv_bfloat16, Fast>>(call);
}

template <template <bool> class Pass, bool Fast> int64_t workspace(const triad_call *call) {
	triad_call without = *call;
	without.workspace = nullptr;
	return Pass<Fast>(&without).room.used;
}

void check_blocks(Check &check, const triad_call *call) {
	for (int i = 0; i < call->n_in; i++) {
		const long long rows = call->in[i].shape[0], cols = call->in[i].shape[1];
		check.that(std::max(rows, cols) <= INT32_MAX && rows * cols / 128 < INT32_MAX, "%lld x %lld are too many blocks", rows, cols);
	}
}

const Limit few_blocks = triad::limit("at most 2^31 - 1 blocks", check_blocks);
const Limits on_hopper = {triad::wgmma_capability(), few_blocks};

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(fp8_linear, naive, forward,
             .contract("promoted").dtypes(triad::floats).outputs(7).limits(few_blocks)
             .workspace(workspace<Forward, false>).launch(forward<triad::Naive, false>))
TRIAD_KERNEL(fp8_linear, naive, backward,
             .contract("promoted").dtypes(triad::floats).outputs(3).limits(few_blocks)
             .workspace(workspace<Backward, false>).launch(backward<triad::Naive, false>))
TRIAD_KERNEL(fp8_linear, tiled, forward,
             .contract("promoted").dtypes(triad::floats).outputs(7).limits(few_blocks)
             .workspace(workspace<Forward, true>).launch(forward<triad::Tiled, true>))
TRIAD_KERNEL(fp8_linear, tiled, backward,
             .contract("promoted").dtypes(triad::floats).outputs(3).limits(few_blocks)
             .workspace(workspace<Backward, true>).launch(backward<triad::Tiled, true>))
TRIAD_KERNEL(fp8_linear, sm90_wgmma, forward,
             .asynchronous().contract("promoted").dtypes(triad::floats).outputs(7).limits(on_hopper)
             .workspace(workspace<Forward, true>).launch(forward<triad::WgmmaByRows, true>))
TRIAD_KERNEL(fp8_linear, sm90_wgmma, backward,
             .asynchronous().contract("promoted").dtypes(triad::floats).outputs(3).limits(on_hopper)
             .workspace(workspace<Backward, true>).launch(backward<triad::WgmmaByRows, true>))
