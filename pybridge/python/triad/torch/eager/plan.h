// What Python describes of a call when it is first seen: which kernels it runs, on what, and what it gives.
#ifndef TRIAD_EAGER_PLAN_H
#define TRIAD_EAGER_PLAN_H
#include <optional>
#include <string>
#include <vector>

#include <c10/core/ScalarType.h>

#include "abi.h"

namespace triad_eager {

struct Result {
	std::vector<int64_t> shape;
	at::ScalarType dtype;
	bool given;  // by this kernel; else its place stays empty
	bool rows;   // all dims but the last are the kernel's first
	int64_t of;  // backward: the input whose gradient it is
};

struct Source {
	int64_t index;  // a forward: the input. A backward: an input, behind the inputs an output; -1 - n: the gradient of output n
	bool rows;
};

struct Pass {
	const triad_kernel *kernel;
	std::string name;
	std::vector<double> attributes;
	std::vector<Source> inputs;
	std::vector<Result> results;
};

struct Plan {
	Pass forward;
	std::optional<Pass> backward;  // where an input requires a gradient
	std::vector<int64_t> kept;     // the outputs that the caller gets
};

}  // namespace triad_eager
#endif
