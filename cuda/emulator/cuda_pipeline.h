// Stands in for CUDA's header of this name.
#include "cuda/pipeline"
#include "cuda_pipeline_primitives.h"
