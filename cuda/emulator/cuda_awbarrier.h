// Stands in for CUDA's header of this name.
#include "cuda/barrier"
