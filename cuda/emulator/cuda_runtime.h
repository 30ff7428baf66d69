// Stands in for CUDA's header of this name when a .cu is compiled for the CPU. nvcc never sees this folder.
#ifndef CUEMU_CUDA_RUNTIME_H
#define CUEMU_CUDA_RUNTIME_H

#include <cassert>
#include <cstdio>

#include "cuemu/keywords.h"
#include "cuemu/vector_types.h"
#include "cuemu/execution.h"
#include "cuemu/warp.h"
#include "cuemu/atomics.h"
#include "cuemu/device_functions.h"
#include "cuemu/runtime_api.h"
#include "cuemu/program_api.h"
#include "cuemu/ptx.h"

#endif
