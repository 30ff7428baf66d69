// Kernels without limits of their own: what they are asked about is what their specs permit.
#include "register.cuh"
#include "spec/fp8_gemm.cuh"
#include "spec/layernorm.cuh"
#include "spec/rope.cuh"

static int nothing(const triad_call *) { return TRIAD_OK; }

constexpr uint32_t fp8 = triad::bit(TRIAD_E4M3) | triad::bit(TRIAD_E5M2);

TRIAD_KERNEL(fp8_gemm, any, forward, .contract("promoted").dtypes(fp8).outputs(1).launch(nothing))
TRIAD_KERNEL(fp8_gemm, any, backward, .contract("promoted").dtypes(fp8).outputs(3).launch(nothing))
TRIAD_KERNEL(layernorm, any, forward, .contract("fp32").dtypes(triad::floats).outputs(7).launch(nothing))
TRIAD_KERNEL(layernorm, any, backward, .contract("fp32").dtypes(triad::floats).outputs(7).launch(nothing))
TRIAD_KERNEL(rope, any, forward, .contract("fp32").dtypes(triad::floats).outputs(3).launch(nothing))
TRIAD_KERNEL(rope, any, backward, .contract("fp32").dtypes(triad::floats).outputs(3).launch(nothing))
