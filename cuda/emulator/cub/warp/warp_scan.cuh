// Stands in for the header of this name of CUB: all of it is in cub.cuh.
#include "../cub.cuh"
