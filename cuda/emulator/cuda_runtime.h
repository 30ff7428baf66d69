// Stands in for CUDA's header of this name when a .cu is compiled for the CPU. nvcc never sees this folder.
#ifndef CUEMU_CUDA_RUNTIME_H
#define CUEMU_CUDA_RUNTIME_H

#include "cuemu/names_aside.h"

// By these, which nvcc and CUDA's own headers define, a program knows that it is CUDA and that the runtime API is there.
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 8
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12080
#define __CUDA_RUNTIME_H__
#define __DRIVER_TYPES_H__

// what nvcc includes before the first line of a file
#include <cassert>
#include <cctype>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

#include "cuemu/keywords.h"
#include "cuemu/vector_types.h"
#include "cuemu/execution.h"
#include "cuemu/warp.h"
#include "cuemu/atomics.h"
#include "cuemu/device_functions.h"
#include "cuemu/directed_rounding.h"
#include "cuemu/special_functions.h"
#include "cuemu/runtime_api.h"
#include "cuemu/program_api.h"
#include "cuemu/device_api.h"
#include "cuemu/ptx.h"
#include "cuemu/ptx_arithmetic.h"
#include "cuemu/ptx_memory.h"

#include "cuemu/names_back.h"
#include "math_constants.h"   // as nvcc does

#endif
