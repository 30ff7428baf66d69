// Stands in for CUDA's header of this name: bfloat16, two of them, their conversions, arithmetic, comparisons and functions.
#ifndef CUEMU_CUDA_BF16_H
#define CUEMU_CUDA_BF16_H

#include "cuemu/half_type.h"

CUEMU_HALF_TYPE(__nv_bfloat16, __nv_bfloat162, bfloat16, Bfloat16, 0x7f80u)

typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __nv_bfloat162 __bfloat16s2bfloat162(__nv_bfloat16 x, __nv_bfloat16 y) { return {x, y}; }

#endif
