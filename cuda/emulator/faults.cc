// The fault handler. A fault on a thread of ours becomes a report, and the thread leaves its block by jumping back to the context it came from.
// A fault anywhere else belongs to whoever handled it before: Go's own nil checks keep working during a launch.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>

#include "cuemu/check.h"
#include "cuemu/faults.h"
#include "cuemu/scheduler.h"

namespace cuemu {

std::atomic<bool> watchdog_fired{false};

namespace {

const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[4];

// What locate needs, written by the handler: the pc, and stack words among which return addresses lie.
uintptr_t fault_pc;
uintptr_t fault_stack[256];
unsigned fault_words;

struct Machine {
	uintptr_t pc, sp;
	int access;
};

Machine machine_of(const ucontext_t *c) {
#if defined(__x86_64__)
	uintptr_t error = static_cast<uintptr_t>(c->uc_mcontext.gregs[REG_ERR]);
	return {static_cast<uintptr_t>(c->uc_mcontext.gregs[REG_RIP]), static_cast<uintptr_t>(c->uc_mcontext.gregs[REG_RSP]), error & 2 ? 2 : 1};
#elif defined(__aarch64__)
	return {c->uc_mcontext.pc, c->uc_mcontext.sp, 0};
#else
	(void)c;
	return {0, 0, 0};
#endif
}

void pass_on(int number, siginfo_t *info, void *context) {
	for (int i = 0; i < 4; i++) {
		if (signals[i] != number) continue;
		const struct sigaction &before = previous[i];
		if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(number, info, context);
		if (before.sa_handler == SIG_IGN) return;
		if (before.sa_handler != SIG_DFL) return before.sa_handler(number);
		signal(number, SIG_DFL);           // returning repeats the fault, now fatal
	}
}

int64_t stack_of(const Worker &w, const char *address) {
	int64_t offset = address - w.stacks;
	if (offset < 0 || offset >= static_cast<int64_t>((MAX_THREADS + 1) * STACK_STRIDE)) return -1;
	return offset / static_cast<int64_t>(STACK_STRIDE);
}

void describe_access(cuemu_report *r, const Worker &w, const char *address) {
	const char *verb = r->access == 2 ? "write to" : r->access == 1 ? "read of" : "access to";
	size_t room = sizeof r->message;
	char *text = r->message;
	r->address = reinterpret_cast<uintptr_t>(address);
	if (stack_of(w, address) >= 0) {
		snprintf(text, room, "stack overflow: a thread has %zu bytes", STACK_STRIDE - STACK_GUARD);
		return;
	}
	if (address >= w.arena - 4096 && address < w.arena + ARENA_BYTES + 4096) {
		int64_t past = address < w.arena ? address - w.arena : address - (w.arena + ARENA_BYTES);
		snprintf(r->buffer, sizeof r->buffer, "shared memory");
		r->distance = past;
		snprintf(text, room, "invalid %s address %p: %lld bytes %s shared memory", verb, static_cast<const void *>(address),
		         static_cast<long long>(past < 0 ? -past : past), past < 0 ? "before the start of" : "past the end of dynamic");
		return;
	}
	if (const Worker *peer = w.in_block ? peer_of(w, address) : nullptr) {
		const char *why = !peer->entered ? "has not started: wait at the cluster's barrier first" : peer->ended ? "has ended: it must not before its peers are done" : "does not reach so far";
		snprintf(r->buffer, sizeof r->buffer, "shared memory");
		snprintf(text, room, "invalid %s the shared memory of block %u of the cluster, which %s", verb, peer->rank, why);
		return;
	}
	int64_t past = 0;
	const Buffer *b = nearest_buffer(address, &past);
	const char *where = w.in_block ? "" : "the launch function's own code: ";
	if (!b) {
		snprintf(text, room, "%sinvalid %s address %p, near no buffer", where, verb, static_cast<const void *>(address));
		return;
	}
	snprintf(r->buffer, sizeof r->buffer, "%s", b->name);
	r->buffer_bytes = static_cast<int64_t>(b->bytes);
	r->distance = past;
	if (!w.in_block && address >= b->data && past < 0) {
		snprintf(text, room, "the launch function's own code: %s byte %lld of %s, which is device memory: on a GPU the host cannot reach it; do it in a "
		         "kernel, or copy with cudaMemcpy first", verb, static_cast<long long>(address - b->data), b->name);
		return;
	}
	snprintf(text, room, "%sinvalid %s address %p: %lld bytes %s buffer %s of %zu bytes", where, verb, static_cast<const void *>(address),
	         static_cast<long long>(past < 0 ? -past : past), past < 0 ? "before the start of" : "past the end of", b->name, b->bytes);
}

// wants_alignment says whether an instruction is a move of 16 bytes whose address must be a multiple of 16: what the compiler makes of
// CUDA's vectors of 16 bytes, float4 and double2.
bool wants_alignment(uintptr_t pc) {
#if defined(__x86_64__)
	const unsigned char *code = reinterpret_cast<const unsigned char *>(pc);
	bool operand = false;
	while (*code == 0x66 || (*code >= 0x40 && *code <= 0x4f)) operand |= *code++ == 0x66;
	if (*code == 0xc5 || *code == 0xc4) {      // VEX: vmovaps, vmovdqa
		const unsigned char what = code[*code == 0xc5 ? 2 : 3], kind = code[*code == 0xc5 ? 1 : 2] & 3;
		return what == 0x28 || what == 0x29 || ((what == 0x6f || what == 0x7f) && kind == 1);
	}
	return code[0] == 0x0f && (code[1] == 0x28 || code[1] == 0x29 || (operand && (code[1] == 0x6f || code[1] == 0x7f)));
#else
	(void)pc;
	return false;
#endif
}

// is_atomic says whether an instruction of host code reads and writes memory at once: x86's with a lock prefix and xchg, AArch64's of its
// large system extensions and its exclusive loads and stores.
bool is_atomic(uintptr_t pc) {
#if defined(__x86_64__)
	const unsigned char *code = reinterpret_cast<const unsigned char *>(pc);
	bool locks = false;
	while (*code == 0x66 || *code == 0xf0 || *code == 0xf2 || *code == 0xf3 || (*code >= 0x40 && *code <= 0x4f)) locks |= *code++ == 0xf0;
	return locks || *code == 0x86 || *code == 0x87;
#elif defined(__aarch64__)
	const uint32_t code = *reinterpret_cast<const uint32_t *>(pc);
	return (code & 0x3b200c00) == 0x38200000 || (code & 0x3fa07c00) == 0x08a07c00 || (code & 0x3fa00000) == 0x08000000;
#else
	(void)pc;
	return false;
#endif
}

// words_above keeps the words on the stack of a thread that made a fault: its return addresses are among them. They may be read although the
// fault has left the stack in a state that cannot be unwound.
void words_above(uintptr_t sp) {
	const uintptr_t *words = reinterpret_cast<const uintptr_t *>(sp & ~uintptr_t(7));
	const uintptr_t top = (sp | 4095) + 1;     // stay on the page: the next may be unmapped
	while (fault_words < 256 && reinterpret_cast<uintptr_t>(words) < top) fault_stack[fault_words++] = *words++;
}

// add_caller keeps a return address from the frame that was interrupted outwards; those of the signal's handler come first and are left out.
_Unwind_Reason_Code add_caller(_Unwind_Context *frame, void *interrupted) {
	const uintptr_t at = _Unwind_GetIP(frame);
	if (at == fault_pc) *static_cast<bool *>(interrupted) = true;
	else if (*static_cast<bool *>(interrupted)) fault_stack[fault_words++] = at;
	return fault_words < 256 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// callers unwinds the stack of a thread that the watchdog interrupted, often between two instructions of this runtime: a slot of its frame
// may still hold the return address of an earlier call, so that searching the stack's words could name a line that was left long ago.
void callers() {
	bool interrupted = false;
	_Unwind_Backtrace(add_caller, &interrupted);
}

void describe(cuemu_report *r, const Worker &w, int number, const siginfo_t *info, const Machine &m) {
	fault_pc = m.pc;
	fault_words = 0;
	if (watchdog_fired.load()) callers();
	else if (!(number == SIGSEGV && stack_of(w, static_cast<const char *>(info->si_addr)) >= 0)) words_above(m.sp);
	if (watchdog_fired.load()) {
		snprintf(r->message, sizeof r->message, "no block finished in the time that the watchdog allows");
	} else if (number == SIGFPE) {
		r->kind = CUEMU_TRAP;
		snprintf(r->message, sizeof r->message, "integer division by zero");
	} else if (number == SIGILL) {
		r->kind = CUEMU_TRAP;
		snprintf(r->message, sizeof r->message, "illegal instruction");
	} else if (number == SIGSEGV && info->si_code == SI_KERNEL && wants_alignment(m.pc)) {
		r->kind = CUEMU_TRAP;
		snprintf(r->message, sizeof r->message, "misaligned address: 16 bytes at once, as a float4 has, are read or written where the address is not a "
		                                        "multiple of 16");
	} else {
		r->access = m.access;
		describe_access(r, w, static_cast<const char *>(info->si_addr));
	}
}

// is_in_kernel: code of the program is on the stack that was interrupted.
bool is_in_kernel(void *context) {
	if (this_worker->at_home.load()) return false;
	fault_pc = machine_of(static_cast<const ucontext_t *>(context)).pc;
	fault_words = 0;
	callers();
	bool found = in_program(reinterpret_cast<const void *>(fault_pc));
	for (unsigned i = 0; i < fault_words; i++) found |= in_program(reinterpret_cast<const void *>(fault_stack[i]));
	return found;
}

// tell_wait_for_host: a launch ends before the host goes on, so that a kernel which waits for the host does so for ever here, and not on a GPU.
void tell_wait_for_host() {
	const Job &job = current_launch.job;
	const char *name = strrchr(job.file, '/');
	Finding("unfinished").message("the kernel %s, launched at %s:%d, waits for what the host writes meanwhile into memory that both reach",
	                              job.kernel ? job.kernel : "", name ? name + 1 : job.file, job.line).write();
}

// on_host: a fault of a program's host code, for `triad check`.
void on_host(int number, siginfo_t *info, void *context) {
	const Machine m = machine_of(static_cast<const ucontext_t *>(context));
	const Pc pc = program_address(m.pc, m.sp);
	if (number == SIGSEGV && host_fault(static_cast<const char *>(info->si_addr), m.access == 2, is_atomic(m.pc), pc)) return;
	Finding f("host-crash");
	if (pc) f.place("place", pc);
	f.text("access", m.access == 2 ? "write" : "read").message("%s", strsignal(number)).write();
	pass_on(number, info, context);
}

void handler(int number, siginfo_t *info, void *context) {
	Worker *w = this_worker;
	// The watchdog of `triad check` asks again: the thread may be between two blocks, or have left the kernel.
	if (checking && number == SIGBUS && watchdog_fired.load() && !(w && w->in_block && is_in_kernel(context))) return;
	if (checking && (!w || !w->in_block)) return on_host(number, info, context);
	if (!w) return pass_on(number, info, context);
	if (cuemu_report *r = open_report(watchdog_fired.load() ? CUEMU_WATCHDOG : CUEMU_OUT_OF_BOUNDS))
		describe(r, *w, number, info, machine_of(static_cast<const ucontext_t *>(context)));
	if (checking && watchdog_fired.load()) {           // the thread may hold a lock of the C library: nothing can go on
		if (watching && waits_for_host()) tell_wait_for_host();
		else report_to_finding();
		_exit(WATCHDOG_STATUS);
	}
	if (number == SIGBUS && w->at_home.load()) return;             // the watchdog's signal between two blocks of a cluster: who chooses them sees that it is over
	if (!w->in_block && !w->launcher_base) return pass_on(number, info, context);
	abandon(*w);
}

}  // namespace

void protect_begin() {
	if (CUEMU_SANITIZER) return;               // it has handlers of its own
	fault_pc = 0;
	struct sigaction action;
	memset(&action, 0, sizeof action);
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	for (int i = 0; i < 4; i++) sigaction(signals[i], &action, &previous[i]);
}

void protect_end() {
	if (CUEMU_SANITIZER) return;
	for (int i = 0; i < 4; i++) sigaction(signals[i], &previous[i], nullptr);
}

bool use_signal_stack() {
	if (CUEMU_SANITIZER) return true;
	const size_t bytes = 64 * 1024;
	void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) return false;
	stack_t stack;
	memset(&stack, 0, sizeof stack);
	stack.ss_sp = memory;
	stack.ss_size = bytes;
	return sigaltstack(&stack, nullptr) == 0;
}

// locate finds the module of the fault. A fault inside libc (a kernel's memcpy) is charged to the caller: the first word on the stack that
// lies in the library of a kernel. Return addresses point behind the call, hence the -1.
void locate(cuemu_report *r) {
	if (!fault_pc || r->line) return;
	Dl_info own, kernel, at;
	if (!dladdr(reinterpret_cast<const void *>(&protect_begin), &own)) return;
	const Job &job = current_launch.job;
	bool known = job.thread && dladdr(reinterpret_cast<const void *>(job.thread), &kernel);
	uintptr_t pc = fault_pc;
	if (!dladdr(reinterpret_cast<const void *>(pc), &at)) at.dli_fbase = nullptr;
	for (unsigned i = 0; known && at.dli_fbase != kernel.dli_fbase && i < fault_words; i++) {
		Dl_info word;
		if (!dladdr(reinterpret_cast<const void *>(fault_stack[i]), &word) || word.dli_fbase != kernel.dli_fbase) continue;
		pc = fault_stack[i] - 1;
		at = word;
	}
	if (!at.dli_fbase) return;
	snprintf(r->pc_module, sizeof r->pc_module, "%s", at.dli_fname);
	r->pc_offset = pc - reinterpret_cast<uintptr_t>(at.dli_fbase);
	fault_pc = 0;
}

}  // namespace cuemu
