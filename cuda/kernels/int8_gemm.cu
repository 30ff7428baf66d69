// int8_gemm: c[i,j] = clamp(round(sum_k (a[i,k] - zero_a) (b[k,j] - zero_b) * scale_a scale_b / scale_c) + zero_c, -128, 127)
// Layout   a [m, k], b [k, n], c [m, n]: int8; a and b with any strides, c contiguous. A scale and a zero point for each of a, b and c.
// Numerics sums are exact in int32; the scales are applied in fp32, and halves are rounded to even.
// Limits   m = 0 launches nothing; k is at most 33025, so that 255 * 255 * k stays below 2^31.
// Source   Jacob et al. 2018, Integer-Arithmetic-Only Inference, section 2.2
// The ladder: each variant adds one idea, and says what that costs.
//   naive     a thread an element, the formula as it is written; the readable one, and the one to trust first
//   tiled     tiles of both operands in shared memory, their zero points taken off on the way in: each
//             element is read from memory once a tile. Costs: shared memory, and two barriers a step
//   dp4a      four products with one instruction, of four int8 in a word; zero points cannot be taken off first (a - zero_a has 9 bits), so the
//             sums of a's rows and b's columns are kept beside, and 4 x 4 elements a thread share them. Costs: registers
//   sm80_mma  the same sums on tensor cores, copies beside the products; see int8_gemm/sm80_mma.cuh. Costs: a newer GPU, and rows of a and b that
//             are whole vectors of 16 bytes
//   sm90_wgmma  wgmma of tiles of 256 x 128 that the copy engine brings, or of 64 x 128 where there are few; see int8_gemm/sm90_wgmma.cuh. Costs: a GPU
//             of 9.0, and the same rows
//   cublaslt  NVIDIA's library, where it is found at run time, with sums of rows and columns and the scaling apart; see int8_gemm/cublaslt.cuh
#include "capability.cuh"
#include "int8_gemm/cublaslt.cuh"
#include "int8_gemm/sm80_mma.cuh"
#include "int8_gemm/sm90_wgmma.cuh"
#include "register.cuh"
#include "rows.cuh"
#include "spec/int8_gemm.cuh"

namespace {

using Operand = triad::Matrix<const int8_t>;

using triad::int8_gemm::Quantiser;

// ---- naive ------------------------------------------------------------------------------------------------------------------------------

constexpr int threads = 256;

__global__ void int8_gemm_naive_kernel(Operand a, Operand b, int8_t *c, int64_t m, int64_t n, int k, Quantiser q) {
	const int64_t i = blockIdx.x * static_cast<int64_t>(threads) + threadIdx.x;
	if (i >= m * n) return;
	const int64_t row = i / n, col = i % n;
	int sum = 0;
	for (int x = 0; x < k; x++) sum += (a(row, x) - q.zero_a) * (b(x, col) - q.zero_b);
	c[i] = q(sum);
}

// ---- tiled ------------------------------------------------------------------------------------------------------------------------------

// A thread of 32 x 32 copies one element of each operand's tile, and adds 32 products of what the others copied. What lies outside of a
// matrix is 0 after its zero point is taken off, and adds nothing.
constexpr int tile = 32;

__global__ void __launch_bounds__(tile * tile)
    int8_gemm_tiled_kernel(Operand a, Operand b, int8_t *c, int64_t m, int64_t n, int k, Quantiser q) {
	__shared__ int16_t a_tile[tile][tile], b_tile[tile][tile]; // [row][k], [k][column]: a - zero_a needs 9 bits
	const int64_t across = (n + tile - 1) / tile;
	const int x = static_cast<int>(threadIdx.x) % tile, y = static_cast<int>(threadIdx.x) / tile;
	const int64_t row = blockIdx.x / across * tile + y, col = blockIdx.x % across * tile + x;
	int sum = 0;
	for (int k0 = 0; k0 < k; k0 += tile) {
		a_tile[y][x] = static_cast<int16_t>(row < m && k0 + x < k ? a(row, k0 + x) - q.zero_a : 0);
		b_tile[y][x] = static_cast<int16_t>(col < n && k0 + y < k ? b(k0 + y, col) - q.zero_b : 0);
		__syncthreads();
#pragma unroll
		for (int i = 0; i < tile; i++) sum += a_tile[y][i] * b_tile[i][x];
		__syncthreads();
	}
	if (row < m && col < n) c[row * n + col] = q(sum);
}

// ---- dp4a -------------------------------------------------------------------------------------------------------------------------------

constexpr int block_side = 64, side = 4; // rows and columns of c that a block computes, and a thread: 16 x 16 threads
constexpr int words = 8;                 // of four int8, along k, that a step takes
constexpr int ones = 0x01010101;         // dp4a with it adds up the four values of a word
constexpr int padded = block_side + 1;   // so that the words of a step lie in different banks

// word is the four values of an operand from k on, value i in byte i; 0 where there is none.
template <class Value> __device__ int word(int64_t k, int64_t end, Value value) {
	unsigned bytes = 0;
#pragma unroll
	for (int i = 0; i < 4; i++)
		if (k + i < end) bytes |= static_cast<unsigned>(static_cast<uint8_t>(value(k + i))) << (8 * i);
	return static_cast<int>(bytes);
}

__global__ void __launch_bounds__(threads)
    int8_gemm_dp4a_kernel(Operand a, Operand b, int8_t *c, int64_t m, int64_t n, int k, Quantiser q) {
	__shared__ int a_words[words][padded], b_words[words][padded];
	const int64_t across = (n + block_side - 1) / block_side;
	const int64_t first_row = blockIdx.x / across * block_side, first_col = blockIdx.x % across * block_side;
	const int x = static_cast<int>(threadIdx.x) % 16, y = static_cast<int>(threadIdx.x) / 16;
	int sum[side][side] = {}, sum_a[side] = {}, sum_b[side] = {};
	for (int k0 = 0; k0 < k; k0 += 4 * words) {
		for (int i = threadIdx.x; i < words * block_side; i += threads) {
			const int64_t row = first_row + i / words, col = first_col + i % block_side;
			const int a_k = i % words, b_k = i / block_side; // neighbours read a along k and b along its rows
			a_words[a_k][i / words] = word(k0 + 4 * a_k, row < m ? k : 0, [&](int64_t at) { return a(row, at); });
			b_words[b_k][i % block_side] = word(k0 + 4 * b_k, col < n ? k : 0, [&](int64_t at) { return b(at, col); });
		}
		__syncthreads();
#pragma unroll
		for (int w = 0; w < words; w++) {
			int of_a[side], of_b[side];
#pragma unroll
			for (int i = 0; i < side; i++) {
				of_a[i] = a_words[w][y + 16 * i], of_b[i] = b_words[w][x + 16 * i];
				sum_a[i] = __dp4a(of_a[i], ones, sum_a[i]), sum_b[i] = __dp4a(of_b[i], ones, sum_b[i]);
			}
#pragma unroll
			for (int i = 0; i < side; i++)
#pragma unroll
				for (int j = 0; j < side; j++) sum[i][j] = __dp4a(of_a[i], of_b[j], sum[i][j]);
		}
		__syncthreads();
	}
	for (int i = 0; i < side; i++)
		for (int j = 0; j < side; j++) {
			const int64_t row = first_row + y + 16 * i, col = first_col + x + 16 * j;
			if (row >= m || col >= n) continue;
			c[row * n + col] = q.of_sums(sum[i][j], sum_a[i], sum_b[j], k);
		}
}

// ---- launchers --------------------------------------------------------------------------------------------------------------------------

using Kernel = void (*)(Operand, Operand, int8_t *, int64_t, int64_t, int, Quantiser);

int launch(const triad_call *call, Kernel kernel, int64_t blocks, int block_threads) {
	const triad_tensor &a = call->in[0], &c = call->out[0];
	if (blocks == 0) return TRIAD_OK;
	kernel<<<static_cast<unsigned>(blocks), block_threads, 0, triad::stream_of(call)>>>(
	    Operand(a), Operand(call->in[1]), static_cast<int8_t *>(c.data), c.shape[0], c.shape[1], static_cast<int>(a.shape[1]), Quantiser(call));
	return triad::launched();
}

// tiles is how many blocks of rows x rows elements c has.
int64_t tiles(const triad_call *call, int64_t rows) {
	const int64_t *size = call->out[0].shape;
	return (size[0] + rows - 1) / rows * ((size[1] + rows - 1) / rows);
}

int int8_gemm_naive(const triad_call *call) {
	return launch(call, int8_gemm_naive_kernel, triad::blocks_for(call->out[0].shape[0] * call->out[0].shape[1], threads), threads);
}

int int8_gemm_tiled(const triad_call *call) { return launch(call, int8_gemm_tiled_kernel, tiles(call, tile), tile * tile); }

int int8_gemm_dp4a(const triad_call *call) { return launch(call, int8_gemm_dp4a_kernel, tiles(call, block_side), threads); }

void check_blocks(triad::Check &check, const triad_call *call) {
	const int64_t *size = call->out[0].shape;
	check.that((size[0] + tile - 1) / tile * ((size[1] + tile - 1) / tile) <= INT32_MAX && size[0] * size[1] / threads < INT32_MAX,
	           "%lld x %lld are too many blocks", static_cast<long long>(size[0]), static_cast<long long>(size[1]));
}

const triad::Limit few_blocks = triad::limit("at most 2^31 - 1 blocks", check_blocks);

const triad::Limit cublaslt_limit = triad::limit("a GPU, cuBLASLt, sizes and strides that it multiplies", triad::int8_gemm::check_cublaslt);

} // namespace

// ---- registration -----------------------------------------------------------------------------------------------------------------------

TRIAD_KERNEL(int8_gemm, naive, forward,
             .contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).limits(few_blocks).launch(int8_gemm_naive))
TRIAD_KERNEL(int8_gemm, tiled, forward,
             .contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).limits(few_blocks).launch(int8_gemm_tiled))
TRIAD_KERNEL(int8_gemm, dp4a, forward,
             .contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).limits(few_blocks).launch(int8_gemm_dp4a))
TRIAD_KERNEL(int8_gemm, sm80_mma, forward,
             .asynchronous().contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).launch(triad::int8_gemm::sm80_mma)
             .limits(triad::capability("mma", 80, true), few_blocks, triad::vector_rows("a", "b"), triad::aligned(4, "c")))
TRIAD_KERNEL(int8_gemm, sm90_wgmma, forward,
             .asynchronous().contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).launch(triad::int8_gemm::sm90_wgmma)
             .limits(triad::int8_gemm::wgmma_limits()))
TRIAD_KERNEL(int8_gemm, cublaslt, forward,
             .contract("fp32").dtypes(triad::bit(TRIAD_I8)).outputs(1).limits(few_blocks, cublaslt_limit)
             .workspace(triad::int8_gemm::cublaslt_workspace).launch(triad::int8_gemm::cublaslt))
