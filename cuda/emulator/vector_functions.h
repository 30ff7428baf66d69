// Stands in for CUDA's header of this name: all of it is in cuda_runtime.h.
#include "cuda_runtime.h"
