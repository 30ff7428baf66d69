#include "register.cuh"

int nowhere_defined(const triad_call *call);

TRIAD_KERNEL(scale, unresolved, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(nowhere_defined));
