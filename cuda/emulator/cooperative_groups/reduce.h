// Stands in for CUDA's header of this name: all of it is in cooperative_groups.h.
#include "cooperative_groups.h"
