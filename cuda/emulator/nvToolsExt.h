// The older place of the header of the profiler's marks.
#pragma once
#include "nvtx3/nvToolsExt.h"
