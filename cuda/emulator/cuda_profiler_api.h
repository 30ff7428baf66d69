// Stands in for the header of the profiler: nothing is profiled.
#pragma once
#include "cuda_runtime.h"
inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
