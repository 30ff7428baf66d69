// Stands in for CUDA's header of this name: half, two of them, their conversions, arithmetic, comparisons and functions.
#ifndef CUEMU_CUDA_FP16_H
#define CUEMU_CUDA_FP16_H

#include "cuemu/half_type.h"

CUEMU_HALF_TYPE(__half, __half2, half, Half, 0x7c00u)

typedef __half half;
typedef __half2 half2;
typedef __half __nv_half;

#endif
