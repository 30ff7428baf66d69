#pragma once

#include <cuda_bf16.h>

using brain = __nv_bfloat16;
