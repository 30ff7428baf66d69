// The pool: OS threads that run blocks, the launch, and the protected run of a launch function. A launch is synchronous. The thread that launches
// runs blocks too; with one block it is the only one.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <chrono>
#include <mutex>
#include <new>

#include "cuemu/check.h"
#include "cuemu/faults.h"
#include "cuemu/fiber_hooks.h"
#include "cuemu/observed.h"
#include "cuemu/runtime_api.h"
#include "cuemu/scheduler.h"
#include "cuemu/idle_time.h"

namespace cuemu {

bool prepare_worker(Worker &w, bool guards) {
	if (w.stacks) return true;
	void *stacks = mmap(nullptr, (MAX_THREADS + 1) * STACK_STRIDE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stacks == MAP_FAILED) return false;
	w.stacks = static_cast<char *>(stacks);
	for (unsigned i = 0; guards && i <= MAX_THREADS; i++) mprotect(w.stacks + i * STACK_STRIDE, STACK_GUARD, PROT_NONE);
	return map_arena(w);
}

LaunchState current_launch;
Worker *workers[MAX_WORKERS];
std::atomic<unsigned> worker_count{0};

namespace {

const size_t HOST_STACK = 8u << 20;
Order order = {FORWARD, 0};
double watchdog_seconds = 30;
unsigned wanted_workers;

// Never destroyed: at exit the helpers still wait on them, and destroying a condition variable waits for its waiters.
std::mutex &mutex = *new std::mutex;
std::condition_variable &work_ready = *new std::condition_variable, &work_done = *new std::condition_variable;
std::condition_variable &request_changed = *new std::condition_variable;
uint64_t work_number;                          // helpers run blocks once for each number
unsigned helpers_running;

unsigned cores() {
	cpu_set_t set;
	if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
	return 1;
}

unsigned pool_size() {
	if (!wanted_workers) {
		const char *asked = getenv("CUEMU_WORKERS");
		wanted_workers = watching ? 1 : asked ? static_cast<unsigned>(atoi(asked)) : cores();
		if (wanted_workers < 1) wanted_workers = 1;
		if (wanted_workers > MAX_WORKERS) wanted_workers = MAX_WORKERS;
	}
	return wanted_workers;
}

}  // namespace

unsigned char fill_of_order() { return fill_of(order); }

unsigned os_threads() { return current_launch.blocks >= 2 ? worker_count.load() : 1; }

namespace {

Worker *new_worker() {
	void *memory = mmap(nullptr, sizeof(Worker), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED) return nullptr;
	Worker *w = new (memory) Worker();
	if (!prepare_worker(*w)) return nullptr;
	w->system_thread = static_cast<int>(syscall(SYS_gettid));
	this_worker = w;
	if (pthread_getcpuclockid(pthread_self(), &w->processor_clock) || !use_signal_stack()) return nullptr;
	return w;
}

CUEMU_PLAIN void run_share(Worker &w) {
	w.order = order;
	w.busy.store(true);
	run_blocks(w);
	w.busy.store(false);
}

void *helper_main(void *slot) {
	Worker *w = new_worker();
	std::unique_lock<std::mutex> lock(mutex);
	workers[reinterpret_cast<uintptr_t>(slot)] = w;
	uint64_t seen = work_number - 1;               // started for the launch that is being made
	for (;;) {
		while (seen == work_number) work_ready.wait(lock);
		seen = work_number;
		lock.unlock();
		if (w) run_share(*w);
		lock.lock();
		if (--helpers_running == 0) work_done.notify_all();
	}
}

// start_thread makes a thread on which no asynchronous signal arrives: its stack may be a fiber's.
bool start_thread(void *(*body)(void *), void *argument) {
	sigset_t all, before;
	sigfillset(&all);
	for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, fault);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_t thread;
	bool started = pthread_create(&thread, nullptr, body, argument) == 0;
	pthread_sigmask(SIG_SETMASK, &before, nullptr);
	if (started) pthread_detach(thread);
	return started;
}

// A grid with few blocks is not worth waking helpers for.
void run_grid(Worker &w) {
	unsigned helpers = 0;
	{
		std::unique_lock<std::mutex> lock(mutex);
		unsigned count = worker_count.load(), wanted = current_launch.blocks >= 2 ? pool_size() : 1;
		for (; count > 0 && count < wanted; count++)
			if (!start_thread(helper_main, reinterpret_cast<void *>(uintptr_t(count)))) break;
		worker_count.store(count);
		if (current_launch.blocks >= 2) {
			helpers = helpers_running = count - 1;
			work_number++;
		}
	}
	if (helpers) work_ready.notify_all();
	run_share(w);
	if (!helpers) return;
	std::unique_lock<std::mutex> lock(mutex);
	while (helpers_running) work_done.wait(lock);
}

// launcher: the worker of the calling thread. Outside cuemu_run (a plain program) the calling thread becomes one.
Worker *launcher() {
	if (this_worker) return this_worker;
	if (worker_count.load() != 0) return nullptr;
	Worker *w = new_worker();
	if (!w) return nullptr;
	w->is_launcher = true;
	workers[0] = w;
	worker_count.store(1);
	const char *asked = getenv("CUEMU_ORDER");
	if (asked && cuemu_set_order(asked) != 0) {
		fprintf(stderr, "cuemu: CUEMU_ORDER=%s: want forward, reverse, random:SEED or greedy:SEED\n", asked);
		exit(3);
	}
	return w;
}

// ---- the protected run

struct Request {
	int (*launch)(const void *call);
	const void *call;
	int code;
	bool threw, posted, done;
} request;
char *host_stack;
bool in_protected_run;

void host_main() {
	Worker &w = *this_worker;
	try {
		request.code = request.launch(request.call);
	} catch (...) {
		request.threw = true;
	}
	cuemu_jump(w.launcher_base);
}

void *launcher_main(void *) {
	Worker *w = new_worker();
	if (w) w->is_launcher = true;
	std::unique_lock<std::mutex> lock(mutex);
	workers[0] = w;
	for (;;) {
		while (!request.posted) request_changed.wait(lock);
		request.posted = false;
		lock.unlock();
		if (w) {
			w->in_block = false;
			w->busy.store(true);
			cuemu_switch(&w->launcher_base, new_stack(host_stack + HOST_STACK, host_main));
			w->busy.store(false);
		} else {
			report(CUEMU_LAUNCH_ERROR, nullptr, 0, "no memory for the emulator's stacks");
		}
		lock.lock();
		request.done = true;
		request_changed.notify_all();
	}
	return nullptr;
}

bool start_launcher() {
	if (worker_count.load() != 0) return true;
	void *stack = mmap(nullptr, HOST_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (stack == MAP_FAILED) return false;
	host_stack = static_cast<char *>(stack);
	mprotect(host_stack, 4096, PROT_NONE);
	worker_count.store(1);
	return start_thread(launcher_main, nullptr);
}

uint64_t progress() {
	uint64_t sum = 0;
	for (unsigned i = 0; i < worker_count.load(); i++)
		if (workers[i]) sum += workers[i]->progress.load(std::memory_order_relaxed);
	return sum + cuemu_launch_serial + steps();
}

// interrupt_workers asks the fault handler to report where it hangs and to leave the block.
void interrupt_workers() {
	for (unsigned i = worker_count.load(); i-- > 0; )
		if (workers[i] && workers[i]->busy.load() && (i == 0 || workers[i]->in_block)) syscall(SYS_tgkill, getpid(), workers[i]->system_thread, SIGBUS);
}

void stop_workers() {
	abandoned.store(true);
	interrupt_workers();
}

// await waits for the launch function, and stops it after too long without a finished block. False: it did not even stop.
bool await(std::unique_lock<std::mutex> &lock) {
	using clock = std::chrono::steady_clock;
	uint64_t seen = progress();
	clock::time_point last = clock::now();
	IdleTime idle_time;
	idle_time.moved();
	bool stopped = false;
	while (!request.done) {
		request_changed.wait_for(lock, std::chrono::milliseconds(50));
		uint64_t now = progress();
		clock::time_point here = clock::now();
		double idle = 0;
		if (now != seen && !stopped) {
			seen = now;
			idle_time.moved();
		} else {
			idle = idle_time.after(std::chrono::duration<double>(here - last).count());
		}
		last = here;
		if (!stopped && watchdog_seconds > 0 && idle >= watchdog_seconds) {
			stopped = true;
			watchdog_fired.store(true);
			stop_workers();
		} else if (stopped && idle >= watchdog_seconds + 2) {
			report(CUEMU_WATCHDOG, nullptr, 0, "no block finished for %.0f s, and the launch could not be stopped", watchdog_seconds);
			return false;
		}
	}
	return true;
}

void finish_message(cuemu_report *r) {
	char text[sizeof r->message];
	snprintf(text, sizeof text, "%s", r->message);
	size_t n = 0, room = sizeof r->message;
	auto add = [&](int written) { n = written < 0 || n + static_cast<size_t>(written) >= room ? room - 1 : n + static_cast<size_t>(written); };
	if (r->kernel[0]) add(snprintf(r->message, room, "kernel %s: ", r->kernel));
	add(snprintf(r->message + n, room - n, "%s", text));
	if (r->line) add(snprintf(r->message + n, room - n, " at %s:%d", r->file, r->line));
	if (r->has_place) add(snprintf(r->message + n, room - n, ", block (%u,%u,%u)", r->block[0], r->block[1], r->block[2]));
	if (r->has_place == 1) add(snprintf(r->message + n, room - n, ", thread (%u,%u,%u)", r->thread[0], r->thread[1], r->thread[2]));
}

}  // namespace

static const std::chrono::steady_clock::time_point program_began = std::chrono::steady_clock::now();
static double seconds_from_start() { return std::chrono::duration<double>(std::chrono::steady_clock::now() - program_began).count(); }

// end_unfinished ends the program at its limit of time in a launch whose blocks do finish: that is long work, and no mistake. The launch may end
// meanwhile, so nothing of it is read here.
static void end_unfinished() {
	Finding("unfinished").write();
	fflush(stdout);
	_exit(WATCHDOG_STATUS);
}

// watch_for_hangs starts a thread that ends the program when no block of a launch finishes for long, and at the limit of a run.
static void watch_for_hangs() {
	static bool started;
	if (started) return;
	const char *asked = getenv("CUEMU_WATCHDOG");
	if (asked && atof(asked) > 0) watchdog_seconds = atof(asked);
	started = start_thread([](void *) -> void * {
		const char *asked = getenv("CUEMU_LIMIT");
		const double limit = asked ? atof(asked) : 0;   // seconds from the program's start; 0: there is none
		uint64_t seen = 0;
		bool was_busy = false;
		IdleTime idle_time;
		idle_time.moved();
		for (double quiet = 0;; usleep(50 * 1000), quiet += 0.05) {
			const Worker *w = workers[0];
			const bool busy = w && w->busy.load();
			const uint64_t at = progress();
			double idle = 0;
			if (at != seen || busy != was_busy) idle_time.moved();
			else if (busy) idle = idle_time.after(0.05);
			was_busy = busy;
			if (at != seen) quiet = 0;
			seen = at;
			if (limit > 0 && busy && at > 0 && quiet < watchdog_seconds / 2 && seconds_from_start() > limit) end_unfinished();
			if (idle < watchdog_seconds) continue;
			watchdog_fired.store(true);
			interrupt_workers();                   // until it comes at a line of the kernel
		}
	}, nullptr);
}

// launch_ended: what went wrong in a launch is a finding, and the program goes on.
static void launch_ended() {
	settle_pending();
	if (counting) count_launch();
	if (abandoned.load()) set_sticky_error();
	if (have_report()) report_to_finding();
	abandoned.store(false);
}

// end_on_report: in a plain program a report is the end.
void end_on_report() {
	if (in_protected_run || !have_report()) return;
	cuemu_report r = first_report();
	locate(&r);
	finish_message(&r);
	fprintf(stderr, "cuemu: %s\n", r.message);
	if (r.pc_module[0]) fprintf(stderr, "cuemu: addr2line -e %s 0x%llx\n", r.pc_module, static_cast<unsigned long long>(r.pc_offset));
	fflush(stdout);
	_exit(3);
}

// refuse says why CUDA would not launch this; 0 if it would.
static cudaError_t refuse(const Job &job) {
	uint64_t threads = uint64_t(job.block.x) * job.block.y * job.block.z;
	if (threads == 0 || threads > MAX_THREADS || job.block.z > 64) return cudaErrorInvalidConfiguration;
	if (job.grid.x == 0 || job.grid.y == 0 || job.grid.z == 0) return cudaErrorInvalidConfiguration;
	if (job.grid.x > 0x7fffffffu || job.grid.y > 65535 || job.grid.z > 65535) return cudaErrorInvalidConfiguration;
	if (!may_have_shared(0, job.shared_bytes)) return cudaErrorInvalidValue;
	const uint64_t cluster = uint64_t(job.cluster.x) * job.cluster.y * job.cluster.z;
	if (cluster == 0 || cluster > cluster_allowed()) return cudaErrorInvalidClusterSize;
	if (job.grid.x % job.cluster.x || job.grid.y % job.cluster.y || job.grid.z % job.cluster.z) return cudaErrorInvalidConfiguration;
	if (job.cooperative && cluster > 1) return cudaErrorNotSupported;
	if (job.cooperative && uint64_t(job.grid.x) * job.grid.y * job.grid.z > resident_blocks(threads)) return cudaErrorCooperativeLaunchTooLarge;
	return cudaSuccess;
}

// refused_amid makes a launch that was found too large by its first threads one that did not take place.
static void refused_amid(const Job &job, cudaError error) {
	if (have_report()) return;                     // something else came first
	abandoned.store(false);
	spoil_arenas();
	if (checking) tell_refused(job, error, current_launch.static_used.load());
	set_last_error(error);
}

}  // namespace cuemu

using namespace cuemu;

extern "C" {

void cuemu_launch(const Job *job) {
	if (observing) return cuemu_observed_launch(job, nullptr, 0);
	Worker *w = launcher();
	if (!w || w->in_block) {
		fprintf(stderr, "cuemu: %s:%d: a kernel is launched from a kernel, or by two threads: not emulated\n", job->file, job->line);
		abort();
	}
	if (checking && sticky_error()) return;
	cudaError_t refused = refuse(*job);
	if (refused != cudaSuccess) {
		if (checking) tell_refused(*job, refused, 0);
		set_last_error(refused);
		return;
	}
	LaunchState &l = current_launch;
	l.job = *job;
	l.cluster_size = job->cluster.x * job->cluster.y * job->cluster.z;
	l.blocks = job->cooperative ? 1 : uint64_t(job->grid.x) * job->grid.y * job->grid.z / l.cluster_size;
	l.next.store(0);
	l.static_bytes.store(0);
	l.static_used.store(0);
	l.refused.store(cudaSuccess);
	l.chunk = l.blocks / (8 * pool_size());
	if (l.chunk < 1) l.chunk = 1;
	if (l.chunk > 256) l.chunk = 256;
	set_block_order(l, order);
	if (++cuemu_launch_serial == 0) ++cuemu_launch_serial;
	bool protect = !in_protected_run && !checking;
	if (checking) watch_for_hangs();
	if (watching) order_launch();
	if (protect) protect_begin();
	hook_launch_starts();
	{
		DeviceMemory open;
		DeviceReach busy_too;
		run_grid(*w);
		if (const int found = l.refused.load()) refused_amid(*job, static_cast<cudaError>(found));
		if (checking) launch_ended();
	}
	if (protect) protect_end();
	if (in_protected_run && abandoned.load()) cuemu_jump(w->launcher_base);
	if (checking) launch_returns();
	end_on_report();
}

CUEMU_API int cuemu_set_order(const char *text) { return parse_order(text, &order) ? 0 : -1; }

CUEMU_API void cuemu_set_workers(int n) {
	wanted_workers = n > 0 ? (static_cast<unsigned>(n) < MAX_WORKERS ? static_cast<unsigned>(n) : MAX_WORKERS) : 0;
}

CUEMU_API void cuemu_set_watchdog(double seconds) { watchdog_seconds = seconds; }

CUEMU_API int cuemu_run(int (*launch)(const void *call), const void *call, cuemu_report *out) {
	memset(out, 0, sizeof *out);
	clear_report();
	abandoned.store(false);
	watchdog_fired.store(false);
	in_protected_run = true;
	if (!start_launcher()) {
		out->kind = CUEMU_LAUNCH_ERROR;
		snprintf(out->message, sizeof out->message, "no thread for the emulator");
		return out->kind;
	}
	bool ended;
	protect_begin();
	close_device_memory();
	{
		std::unique_lock<std::mutex> lock(mutex);
		request = Request{launch, call, 0, false, true, false};
		request_changed.notify_all();
		ended = await(lock);
	}
	open_device_memory();
	if (ended) protect_end();
	set_last_error(cudaSuccess);
	if (request.threw) report(CUEMU_LAUNCH_ERROR, nullptr, 0, "the launch function threw a C++ exception");
	if (request.code > 0)
		report(CUEMU_LAUNCH_ERROR, nullptr, 0, "the launch function returned CUDA error %d: %s", request.code,
		       cudaGetErrorString(static_cast<cudaError_t>(request.code)));
	*out = first_report();
	out->code = request.code;
	if (out->kind != CUEMU_OK) {
		locate(out);
		finish_message(out);
	}
	return out->kind;
}

}  // extern "C"
