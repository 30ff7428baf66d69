// A kernel for each kind of limit, and two with mistakes.
#include "capability.cuh"
#include "register.cuh"
#include "spec/softmax.cuh"

namespace {

int nothing(const triad_call *) { return TRIAD_OK; }

int first_row_only(const triad_call *call, char *why, int32_t why_bytes) {
	return triad::Check(why, why_bytes).that(call->in[0].shape[0] == 1, "more than one row").status();
}

void even(triad::Check &check, const triad_call *call) { check.that(call->in[0].shape[0] % 2 == 0, "the number of rows is odd"); }


} // namespace

#define LIMITED(variant, ...) TRIAD_KERNEL(softmax, variant, forward, .contract("fp32").dtypes(triad::floats).outputs(1).launch(nothing) __VA_ARGS__)

LIMITED(contiguous, .limits(triad::contiguous("x")))
LIMITED(all_contiguous, .limits(triad::contiguous()))
LIMITED(columns, .limits(triad::contiguous_columns()))
LIMITED(aligned, .limits(triad::aligned(16, "x", "y")))
LIMITED(stepped, .limits(triad::stepped(8)))
LIMITED(vectors, .limits(triad::vector_rows("x")))
LIMITED(most, .limits(triad::at_most("cols", 1024)))
LIMITED(least, .limits(triad::at_least("cols", 3)))
LIMITED(multiple, .limits(triad::multiple_of("rows", 4)))
LIMITED(several, .limits(triad::contiguous_columns(), triad::at_most("cols", 1024)))
LIMITED(own, .limits(triad::limit("an even number of rows", even)))
LIMITED(capable, .limits(triad::capability("this test", 99, true)))
LIMITED(by_function, .accepts(first_row_only).constraint("one row"))
LIMITED(unknown_tensor, .limits(triad::contiguous("z")))
LIMITED(unknown_size, .limits(triad::at_most("columns", 5)))

// Whoever registers without TRIAD_KERNEL has `accepts` alone.
static const triad::Registered plain(
    triad::Registration("softmax", "plain", "forward").contract("fp32").dtypes(triad::floats).outputs(1).accepts(first_row_only).launch(nothing));

// There is no spec of another operator here.
TRIAD_KERNEL(silu, no_spec, forward, .contract("fp32").dtypes(triad::floats).outputs(1).limits(triad::contiguous()).launch(nothing))
