// The file of findings of `triad check`, and what the compiler's checks of alignment, array bounds and division report.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuemu/check.h"
#include "cuemu/faults.h"

namespace cuemu {

namespace {

int file_of_findings = -1;
char key[40];                                   // begins each line of the file: what lacks it is not the emulator's
const unsigned MOST = 200;                      // findings; a program that is wrong everywhere would fill the disk
uint64_t written[MOST];
unsigned count;

struct Segment {
	uintptr_t begin, end;
	bool code;
} segments[16];
unsigned segment_count;
uintptr_t program_base;

int read_segments(struct dl_phdr_info *info, size_t, void *) {
	program_base = info->dlpi_addr;
	for (unsigned i = 0; i < info->dlpi_phnum && segment_count < 16; i++) {
		const auto &s = info->dlpi_phdr[i];
		if (s.p_type != PT_LOAD) continue;
		const uintptr_t begin = info->dlpi_addr + s.p_vaddr;
		segments[segment_count++] = {begin, begin + s.p_memsz, (s.p_flags & PF_X) != 0};
	}
	return 1;                                      // the program comes first
}

}  // namespace

void know_program() {
	if (!segment_count) dl_iterate_phdr(read_segments, nullptr);
}

namespace {

bool set_up_checking() {
	const char *name = getenv("CUEMU_FINDINGS");
	if (!name || !*name) return false;
	file_of_findings = open(name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (file_of_findings < 0) {
		fprintf(stderr, "cuemu: cannot write findings to %s\n", name);
		exit(3);
	}
	if (char *given = getenv("CUEMU_FINDINGS_KEY")) { // the program, and /proc/self/environ, do not get it
		snprintf(key, sizeof key, "%s ", given);
		memset(given, 'x', strlen(given));
	}
	know_program();
	close_device_memory();
	protect_begin();
	return true;
}

const char *const kinds[] = {"none", "out-of-bounds", "divergence", "deadlock", "hang", "launch", "trap"};

}  // namespace

bool checking = set_up_checking();
bool watching = checking && getenv("CUEMU_WATCH") != nullptr;

uint32_t offset_in_program(Pc pc) {
	const uintptr_t at = reinterpret_cast<uintptr_t>(pc) - 1;
	return in_program(reinterpret_cast<const void *>(at)) ? static_cast<uint32_t>(at - program_base) : 0;
}

bool in_program(const void *p) {
	const uintptr_t at = reinterpret_cast<uintptr_t>(p);
	for (unsigned i = 0; i < segment_count; i++)
		if (at >= segments[i].begin && at < segments[i].end) return true;
	return false;
}

Pc program_address(uintptr_t pc, uintptr_t sp) {
	auto code = [](uintptr_t at) {
		for (unsigned i = 0; i < segment_count; i++)
			if (segments[i].code && at >= segments[i].begin && at < segments[i].end) return true;
		return false;
	};
	if (code(pc)) return reinterpret_cast<Pc>(pc + 1);
	const uintptr_t *words = reinterpret_cast<const uintptr_t *>(sp & ~uintptr_t(7));
	const uintptr_t top = (sp | 4095) + 1;         // stay on the page: the next may be unmapped
	for (; reinterpret_cast<uintptr_t>(words) < top; words++)
		if (code(*words)) return reinterpret_cast<Pc>(*words);
	return nullptr;
}

Finding::Finding(const char *kind) : n(0), same(14695981039346656037u) {
	add("%s{\"kind\":\"%s\"", key, kind);
	for (const char *p = kind; *p; p++) same = mix(same ^ static_cast<unsigned char>(*p));
	const Worker *w = this_worker;
	if (!w || !w->in_block) return;
	const Job &job = *w->job;
	text("kernel", job.kernel ? job.kernel : "");
	name("launched");
	add("{\"file\":");
	quoted(job.file);
	add(",\"line\":%d}", job.line);
	index("block", blockIdx.x, blockIdx.y, blockIdx.z);
	const uint32_t t = thread_of(*w);
	index("thread", t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
}

void Finding::add(const char *format, ...) {
	va_list args;
	va_start(args, format);
	const int more = vsnprintf(line + n, sizeof line - n - 8, format, args);
	va_end(args);
	if (more > 0) n += static_cast<size_t>(more);
	if (n > sizeof line - 16) n = sizeof line - 16;
}

void Finding::name(const char *name) { add(",\"%s\":", name); }

void Finding::quoted(const char *value) {
	add("\"");
	for (; *value && n < sizeof line - 64; value++) {
		const unsigned char c = static_cast<unsigned char>(*value);
		if (c == '"' || c == '\\') add("\\%c", c);
		else if (c < ' ') add("\\u%04x", c);
		else add("%c", c);
	}
	add("\"");
}

Finding &Finding::text(const char *key, const char *value) {
	name(key);
	quoted(value ? value : "");
	return *this;
}

Finding &Finding::number(const char *key, long long value) {
	if (strcmp(key, "other_offset") == 0) same = mix(same ^ static_cast<uint64_t>(value));
	name(key);
	add("%lld", value);
	return *this;
}

Finding &Finding::index(const char *key, unsigned x, unsigned y, unsigned z) {
	name(key);
	add("[%u,%u,%u]", x, y, z);
	return *this;
}

Finding &Finding::place(const char *key, Pc pc) {
	const uint32_t offset = offset_in_program(pc);
	same = mix(same ^ offset);
	name(key);
	add("{\"offset\":%u}", offset);
	return *this;
}

Finding &Finding::place(const char *key, const char *file, int line_number) {
	if (!file) return *this;
	same = mix(same ^ static_cast<uint64_t>(line_number));
	for (const char *p = file; *p; p++) same = mix(same ^ static_cast<unsigned char>(*p));
	name(key);
	add("{\"file\":");
	quoted(file);
	add(",\"line\":%d}", line_number);
	return *this;
}

Finding &Finding::message(const char *format, ...) {
	char said[2048];
	va_list args;
	va_start(args, format);
	vsnprintf(said, sizeof said, format, args);
	va_end(args);
	return text("message", said);
}

void Finding::write() {
	if (!checking) return;
	for (unsigned i = 0; i < count; i++)
		if (written[i] == same) return;
	if (count == MOST) return;
	written[count++] = same;
	write_to(file_of_findings);
}

void Finding::write_to(int file) {
	line[n++] = '}';
	line[n++] = '\n';
	for (size_t done = 0; done < n; ) {
		const ssize_t more = ::write(file, line + done, n - done);
		if (more <= 0) return;
		done += static_cast<size_t>(more);
	}
}

void tell_barrier_skipped(const char *file, int line) {
	static const char *reported_file;
	static int reported_line;
	if (reported_file == file && reported_line == line) return;
	reported_file = file;
	reported_line = line;
	Finding("barrier-skipped").place("place", file, line).write();
}

void report_to_finding() {
	cuemu_report r = first_report();
	locate(&r);
	bool stack = strncmp(r.message, "stack overflow", 14) == 0;
	Finding f(stack ? "stack-overflow" : kinds[r.kind]);
	if (r.kernel[0]) f.text("kernel", r.kernel);
	f.place("launched", current_launch.job.file, current_launch.job.line);
	if (r.has_place) f.index("block", r.block[0], r.block[1], r.block[2]);
	if (r.has_place == 1) f.index("thread", r.thread[0], r.thread[1], r.thread[2]);
	if (r.line) f.place("place", r.file, r.line);
	else if (r.pc_offset) f.place("place", reinterpret_cast<Pc>(program_base + r.pc_offset + 1));
	if (r.other_line) f.place("other", r.other_file, r.other_line);
	if (r.access) f.text("access", r.access == 2 ? "write" : "read");
	f.message("%s", r.message).write();
	clear_report();
}

}  // namespace cuemu

using namespace cuemu;

extern "C" void cuemu_wrong_block(const char *what, int x, int y, int z, const char *file, int line) {
	char text[256];
	snprintf(text, sizeof text, "%s is declared for blocks of %d x %d x %d threads, and this block has %u x %u x %u", what, x, y, z, blockDim.x, blockDim.y,
	         blockDim.z);
	if (checking) {
		Finding("wrong-block").place("place", file, line).message("%s", text).write();
		return;
	}
	report(CUEMU_TRAP, file, line, "%s", text);
	abandon(*this_worker);
}

#if !CUEMU_SANITIZER
// ---- the compiler's checks (-fsanitize=alignment,bounds,integer-divide-by-zero), in kernels alone
namespace {

struct SourceLocation {
	const char *file;
	uint32_t line, column;
};

struct TypeDescriptor {
	uint16_t kind, info;
	char name[1];
};

struct TypeMismatch {
	SourceLocation at;
	const TypeDescriptor *type;
	unsigned char log_alignment, check;
};

struct Assumption {
	SourceLocation at, assumed;
	const TypeDescriptor *type;
};

struct OutOfBounds {
	SourceLocation at;
	const TypeDescriptor *array, *index;
};

struct Overflow {
	SourceLocation at;
	const TypeDescriptor *type;
};

bool in_kernel() { return checking && this_worker && this_worker->in_block; }

[[noreturn]] void die() {
	set_sticky_error();
	abandon(*this_worker);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void __ubsan_handle_type_mismatch_v1(TypeMismatch *data, uintptr_t address) {
	const uintptr_t alignment = uintptr_t(1) << data->log_alignment;
	if (!checking) return refuse_misaligned(address, alignment, __builtin_return_address(0));
	if (!in_kernel() || address % alignment == 0) return;
	Finding f("misaligned");
	f.place("place", data->at.file, static_cast<int>(data->at.line));
	f.message("address ends in 0x%x, and %s lies at multiples of %u bytes", static_cast<unsigned>(address & 255), data->type->name,
	          static_cast<unsigned>(alignment)).write();
	die();
}

// Of __builtin_assume_aligned, where clang++ compiles.
void __ubsan_handle_alignment_assumption(Assumption *data, uintptr_t address, uintptr_t alignment, uintptr_t offset) {
	if (!in_kernel() || (address - offset) % alignment == 0) return;
	Finding f("misaligned");
	f.place("place", data->at.file, static_cast<int>(data->at.line));
	f.message("address ends in 0x%x, and the program says that it is a multiple of %u bytes", static_cast<unsigned>(address & 255),
	          static_cast<unsigned>(alignment)).write();
	die();
}

void __ubsan_handle_out_of_bounds(OutOfBounds *data, uintptr_t index) {
	if (!in_kernel()) return;
	Finding f("out-of-bounds");
	f.place("place", data->at.file, static_cast<int>(data->at.line)).text("memory", "array");
	f.message("index %lld of the array %s", static_cast<long long>(static_cast<int32_t>(index)), data->array->name).write();
	die();
}

void __ubsan_handle_divrem_overflow(Overflow *data, uintptr_t, uintptr_t) {
	if (!in_kernel()) return;
	Finding f("division-by-zero");
	f.place("place", data->at.file, static_cast<int>(data->at.line)).write();
	die();
}

// A failed assert in a kernel stops the launch, as on a GPU.
[[noreturn]] void __assert_fail(const char *text, const char *file, unsigned line, const char *function) noexcept {
	if (in_kernel()) {
		Finding f("assert");
		f.place("place", file, static_cast<int>(line)).message("%s", text).write();
		die();
	}
	fflush(stdout);
	fprintf(stderr, "%s:%u: %s: Assertion `%s' failed.\n", file, line, function, text);
	abort();
}

}  // extern "C"
#pragma GCC visibility pop

#endif
