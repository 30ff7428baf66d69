// Beside the reports that a sanitizer of the compiler writes about a program, for `triad check --sanitize`: for each the kernel, block and
// thread that ran, as a line of JSON in the file of CUEMU_REPORTS. The lines stand in the order of the reports.
#include "cuemu/check.h"

#if CUEMU_SANITIZER
#include <fcntl.h>
#include <unwind.h>

#include <cstdio>
#include <cstdlib>

#include "cuemu/fiber_hooks.h"

namespace cuemu {

namespace {

int open_reports() {
	const char *name = getenv("CUEMU_REPORTS");
	if (!name || !*name) return -1;
	const int file = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0) {
		fprintf(stderr, "cuemu: cannot write reports to %s\n", name);
		exit(3);
	}
	know_program();
	return file;
}

const int file_of_reports = open_reports();

// Callers are the offsets of a stack's frames in the program, innermost first.
struct Callers {
	char text[512];
	size_t n;
};

CUEMU_PLAIN _Unwind_Reason_Code add_caller(_Unwind_Context *frame, void *to) {
	Callers &c = *static_cast<Callers *>(to);
	const uint32_t offset = offset_in_program(reinterpret_cast<Pc>(_Unwind_GetIP(frame)));
	if (offset) c.n += static_cast<size_t>(snprintf(c.text + c.n, sizeof c.text - c.n, " %u", offset));
	return c.n + 16 < sizeof c.text ? _URC_NO_REASON : _URC_END_OF_STACK;
}

}  // namespace

}  // namespace cuemu

using namespace cuemu;

extern "C" {

// cuemu_tell_where is called while a report is made, by the thread that made the mistake.
CUEMU_API CUEMU_PLAIN void cuemu_tell_where(void) {
	if (file_of_reports < 0) return;
	Unseen books;
	Finding f("where");
	if (this_worker && this_worker->in_block)
		f.index("block_dim", blockDim.x, blockDim.y, blockDim.z).number("cluster", current_launch.cluster_size);
	f.write_to(file_of_reports);
}

// cuemu_tell_undefined is a report of UndefinedBehaviorSanitizer, whole: kind is its own word, as signed-integer-overflow.
CUEMU_API CUEMU_PLAIN void cuemu_tell_undefined(const char *kind, const char *message, const char *file, unsigned line) {
	if (file_of_reports < 0) return;
	Finding f("undefined");
	f.text("check", kind).message("%s", message);
	Callers callers = {"", 0};
	_Unwind_Backtrace(add_caller, &callers);
	f.text("stack", callers.text);
	f.place("place", file, static_cast<int>(line)).write_to(file_of_reports);
}

}  // extern "C"
#endif
