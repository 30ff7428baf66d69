// quantize_fp8: q[r,c] = fp8(x[r,c] * factor), with the scale of the tensor, of each row, of 1 x 128 blocks or of 128 x 128 tiles, and the same
// of the transpose of x from the same read
//
// Formula   amax = max |x| of a group, NaN where there is one; most = 448 (e4m3), 57344 (e5m2). torchao: factor = scale = fp32(most / max(amax,
//           1e-12)) with the quotient in fp64; with powers the power of two at or below it. deepseek, in fp32: a = max(amax, 1e-4), scale = a / most,
//           factor = most / a; with powers scale is the power of two at or above it, and factor = 1 / scale. The product x * factor is rounded to
//           fp32, and then to fp8, halves to even; beyond most it is most.
// Layout    x [rows, cols] with any strides; q [rows, cols], scale [1], [rows], [rows, ceil(cols/128)] or [ceil(rows/128), ceil(cols/128)] fp32,
//           q_t [cols, rows] and scale_t, without elements where both is off; contiguous. fp32, fp16, bf16.
// Source    torchao 0.18, float8_utils.py; DeepSeek-V3 2024, arXiv:2412.19437, section 3.3; DeepGEMM's per_token_cast_to_fp8
//
//   naive   a block looks for amax of a group, a thread then makes one code; for each orientation anew
//   row     per = row: a row waits in registers for its scale, 16-byte loads, 4 or 8 codes a store; rows of at most 32768 columns
//   tile    per = block or tile: a block holds 128 x 128 numbers in registers, and in shared memory for the transpose, whose columns are rows there
//   parts   per = tensor: many blocks look for amax, each in a part of the tensor; then tiles are written, which the L2 cache may still have
#include "fp8_quantize.cuh"
#include "rows.cuh"
#include "spec/quantize_fp8.cuh"

namespace {

using namespace triad::quantize;

TRIAD_SPILLS(quantize_fp8_row_kernel, 36, "fp32 rows of more than 16384 numbers, for sm_90a");
TRIAD_SPILLS(quantize_fp8_tile_kernel, 24, "16-bit tiles with one scale and their transposes, for sm_80; 4 with scales of rows, for sm_90a");

void check_blocks(triad::Check &check, const triad_call *call) {
	const long long rows = call->in[0].shape[0], cols = call->in[0].shape[1];
	check.that(rows <= INT32_MAX && rows * cols / side < INT32_MAX, "%lld x %lld are too many blocks", rows, cols);
}

void check_by_row(triad::Check &check, const triad_call *call) {
	check.that(call->attr[per] == per_row && call->attr[both] == 0, "it gives a scale to each row, and no transpose");
}

void check_by_tensor(triad::Check &check, const triad_call *call) { check.that(call->attr[per] == per_tensor, "it gives one scale to the tensor"); }

void check_by_tile(triad::Check &check, const triad_call *call) { check.that(call->attr[per] >= per_block, "it gives scales to blocks or tiles"); }

const triad::Limit few_blocks = triad::limit("at most 2^31 - 1 blocks", check_blocks), few_tiles = triad::at_most("rows", 65535 * side),
                   by_row = triad::limit("per = row, both = 0", check_by_row), by_tensor = triad::limit("per = tensor", check_by_tensor),
                   by_tile = triad::limit("per = block or tile", check_by_tile);
const triad::Limits whole_rows = {triad::contiguous("x"), triad::vector_rows("x"), triad::aligned(16, "q", "q_t")};

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(quantize_fp8, naive, forward,
             .contract("exact").dtypes(triad::floats).outputs(15).limits(few_blocks)
             .workspace(factors_of_groups).launch(TRIAD_BY_DTYPE(launch_naive)))
TRIAD_KERNEL(quantize_fp8, row, forward,
             .contract("exact").dtypes(triad::floats).outputs(15).limits(by_row, triad::at_most("cols", 32768)).limits(whole_rows)
             .launch(TRIAD_BY_DTYPE(launch_row)))
TRIAD_KERNEL(quantize_fp8, tile, forward,
             .contract("exact").dtypes(triad::floats).outputs(15).limits(by_tile, few_tiles).limits(whole_rows)
             .launch(TRIAD_BY_DTYPE(launch_tile)))
TRIAD_KERNEL(quantize_fp8, parts, forward,
             .contract("exact").dtypes(triad::floats).outputs(15).limits(by_tensor, few_tiles).limits(whole_rows)
             .workspace(magnitudes_of_parts).launch(TRIAD_BY_DTYPE(launch_parts)))
