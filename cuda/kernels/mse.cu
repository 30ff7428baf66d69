// mse: y = ((x[0]-t[0])^2 + (x[1]-t[1])^2 + ... + (x[n-1]-t[n-1])^2) / n
// Layout   x, t: [n], contiguous; y: [1]; fp32, fp16, bf16; everything in fp32.
// Limits   n is at least 1; a call outside a variant's own limit answers UNSUPPORTED.
// Source   Gauss 1821, Theoria combinationis observationum erroribus minimis obnoxiae
// The forwards are the ladder of total.cuh, which explains each step; the term is below.
//   atomic  the threads' sums of squares are added to one number in memory, in the order in which they
//           arrive. Costs: they queue up at one address, and last bits that differ from run to run
//   tree    each block adds up in shared memory, a second launch adds up the blocks and divides: the same
//           bits in every run. Costs: a barrier for each step
//   warp    as tree, but a warp adds up by shuffles. Two barriers in place of eight. Costs: every lane of a
//           warp has to reach the shuffles
//   vec     as warp, with 16-byte loads, four of them a thread before the first use. Costs: registers for
//           what is under way
#include "total.cuh"
#include "spec/mse.cuh"

namespace {

// Square is the term: (x[i] - t[i])^2; the total is divided by n.
struct Square {
	static constexpr int inputs = 2;
	__device__ float operator()(const float (&in)[2]) const { return (in[0] - in[1]) * (in[0] - in[1]); }
	__device__ static float result(float total, float n) { return total / n; }
};

// ---- launchers ---------------------------------------------------------------------------------------------

template <class T> int mse_fwd_atomic(const triad_call *call) { return triad::total_atomic<T, Square>(call); }
template <class T> int mse_fwd_tree(const triad_call *call) { return triad::total_tree<T, Square>(call); }
template <class T> int mse_fwd_warp(const triad_call *call) { return triad::total_warp<T, Square>(call); }
template <class T> int mse_fwd_vec(const triad_call *call) { return triad::total_vec<T, Square>(call); }

} // namespace

// ---- registration ------------------------------------------------------------------------------------------

TRIAD_KERNEL(mse, atomic, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).nondeterministic(1).workspace(triad::one_sum)
             .limits(triad::contiguous()).launch(TRIAD_BY_DTYPE(mse_fwd_atomic)))
TRIAD_KERNEL(mse, tree, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(mse_fwd_tree)))
TRIAD_KERNEL(mse, warp, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block).limits(triad::contiguous())
             .launch(TRIAD_BY_DTYPE(mse_fwd_warp)))
TRIAD_KERNEL(mse, vec, forward,
             .contract("fp32").dtypes(triad::floats).outputs(1).workspace(triad::sum_a_block)
             .limits(triad::contiguous(), triad::aligned(16, "x", "t")).launch(TRIAD_BY_DTYPE(mse_fwd_vec)))
