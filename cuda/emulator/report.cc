// The report of a launch: the first thing that went wrong, with its place.
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "cuemu/scheduler.h"

namespace cuemu {

namespace {
cuemu_report the_report;
std::atomic<bool> taken{false};
}  // namespace

void clear_report() {
	memset(&the_report, 0, sizeof the_report);
	taken.store(false);
}

bool have_report() { return taken.load(); }

const cuemu_report &first_report() { return the_report; }

cuemu_report *open_report(int kind) {
	if (taken.exchange(true)) return nullptr;
	the_report.kind = kind;
	fill_place(&the_report);
	return &the_report;
}

void add_other_place(const char *file, int line) {
	snprintf(the_report.other_file, sizeof the_report.other_file, "%s", file ? file : "");
	the_report.other_line = line;
}

// fill_place writes down the kernel, and the block and thread that the calling OS thread runs.
void fill_place(cuemu_report *r) {
	const Worker *w = this_worker;
	if (!w || !w->in_block) return;
	const Job &job = *w->job;
	snprintf(r->kernel, sizeof r->kernel, "%s", job.kernel ? job.kernel : "");
	r->has_place = 1;
	r->block[0] = blockIdx.x, r->block[1] = blockIdx.y, r->block[2] = blockIdx.z;
	r->thread[0] = threadIdx.x, r->thread[1] = threadIdx.y, r->thread[2] = threadIdx.z;
}

bool report(int kind, const char *file, int line, const char *format, ...) {
	cuemu_report *r = open_report(kind);
	if (!r) return false;
	snprintf(r->file, sizeof r->file, "%s", file ? file : "");
	r->line = line;
	va_list args;
	va_start(args, format);
	vsnprintf(r->message, sizeof r->message, format, args);
	va_end(args);
	return true;
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_not_global(const char *file, int line) {
	report(CUEMU_TRAP, file, line, "a load or store with a cache hint (__ldg, __ldcs, __stcs ...) was given an address in shared memory: it is an "
	                               "instruction for global memory alone, and a GPU stops there; read and write shared memory by *p");
	abandon(*this_worker);
}

void cuemu_trap(const char *file, int line) {
	report(CUEMU_TRAP, file, line, "the kernel called __trap");
	abandon(*this_worker);
}

}  // extern "C"
