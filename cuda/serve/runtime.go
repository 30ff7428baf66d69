package serve

/*
#include <stdlib.h>
#include "runtime/runtime.h"

typedef struct {
	int32_t (*version)(void);
	int (*open)(triad_timer **, void **, int32_t);
	void (*close)(triad_timer *);
	int (*begin)(triad_timer *);
	int (*end)(triad_timer *, int32_t, int64_t *, int64_t *);
	int (*settle)(triad_timer *, int64_t);
	int (*replay)(triad_timer *, int32_t, float *);
	int (*start)(triad_timer *);
	int (*stop)(triad_timer *, float *);
	int (*ceiling)(int32_t, void *, const void *, int64_t, void *);
	int (*differing)(const void *, const void *, int64_t, int64_t *);
	int (*physics)(triad_physics *);
	int (*kernels)(const triad_timer *, triad_kernel_fact *, int32_t, int32_t *);
	int (*watch)(triad_timer *, triad_own_calls_t *);
	int (*plain_cache)(triad_timer *);
	int (*spread)(triad_timer *);
	int (*clocks)(const triad_timer *, float *, float *);
	int (*spread_can)(int32_t *);
	int (*spread_map)(int64_t, int64_t, uint64_t *);
	int (*spread_unmap)(uint64_t, int64_t);
} triad_runtime;

static int32_t triad_rt_version(triad_runtime *r) { return r->version(); }
static int triad_rt_open(triad_runtime *r, triad_timer **t, void **stream, int32_t own) {
	return r->open(t, stream, own);
}
static void triad_rt_close(triad_runtime *r, triad_timer *t) { r->close(t); }
static int triad_rt_begin(triad_runtime *r, triad_timer *t) { return r->begin(t); }
static int triad_rt_end(triad_runtime *r, triad_timer *t, int32_t keep, int64_t *nodes,
                        int64_t *kernels) {
	return r->end(t, keep, nodes, kernels);
}
static int triad_rt_watch(triad_runtime *r, triad_timer *t, triad_own_calls_t *calls) {
	return r->watch(t, calls);
}
static int triad_rt_plain_cache(triad_runtime *r, triad_timer *t) { return r->plain_cache(t); }
static int triad_rt_spread(triad_runtime *r, triad_timer *t) { return r->spread(t); }
static int triad_rt_clocks(triad_runtime *r, triad_timer *t, float *first, float *second) {
	return r->clocks(t, first, second);
}
static int triad_rt_spread_can(triad_runtime *r, int32_t *can) { return r->spread_can(can); }
static int triad_rt_spread_map(triad_runtime *r, int64_t first, int64_t second, uint64_t *at) {
	return r->spread_map(first, second, at);
}
static int triad_rt_spread_unmap(triad_runtime *r, uint64_t at, int64_t bytes) {
	return r->spread_unmap(at, bytes);
}
static int triad_rt_settle(triad_runtime *r, triad_timer *t, int64_t ns) { return r->settle(t, ns); }
static int triad_rt_replay(triad_runtime *r, triad_timer *t, int32_t n, float *ms) {
	return r->replay(t, n, ms);
}
static int triad_rt_start(triad_runtime *r, triad_timer *t) { return r->start(t); }
static int triad_rt_stop(triad_runtime *r, triad_timer *t, float *ms) { return r->stop(t, ms); }
// Addresses of a device are numbers here: Go's pointers never are.
static int triad_rt_ceiling(triad_runtime *r, int32_t ceiling, uintptr_t to, uintptr_t from, int64_t bytes,
                          uintptr_t stream) {
	return r->ceiling(ceiling, (void *)to, (const void *)from, bytes, (void *)stream);
}
static int triad_rt_differing(triad_runtime *r, uintptr_t a, uintptr_t b, int64_t bytes, int64_t *n) {
	return r->differing((const void *)a, (const void *)b, bytes, n);
}
static int triad_rt_physics(triad_runtime *r, triad_physics *p) { return r->physics(p); }
static int triad_rt_kernels(triad_runtime *r, triad_timer *t, triad_kernel_fact *out, int32_t most,
                            int32_t *n) {
	return r->kernels(t, out, most, n);
}
*/
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"triad/internal/backend"
	"triad/internal/cudaerror"
)

// Clocked is a device whose launches can be timed. The emulator is not one: its times mean nothing.
type Clocked interface {
	Device
	// Clock returns the device's clock. The error is that of Library.
	Clock(library string) (Clock, error)
	// Copy copies a buffer to the start of another, on the device.
	Copy(to, from Buffer) error
}

// Clock times calls on a device. It belongs to the thread of its device.
type Clock interface {
	Physics() (backend.DevicePhysics, error)
	// Open makes a timer. What it times is launched on its stream. own has the calls of a user's file, nil
	// for none.
	Open(own *OwnCalls) (Timer, error)
	// Ceiling queues work that only moves bytes.
	Ceiling(name string, to, from Buffer, stream uintptr) error
	// Differing counts the bytes that differ between two buffers of one length.
	Differing(a, b Buffer) (int64, error)
}

// Timer holds a graph of calls and replays it. Times are ns.
type Timer interface {
	Stream() uintptr
	// Launch queues a call on the timer's stream.
	Launch(c *Call) Finding
	Begin() error
	// End returns the numbers of captured nodes and of kernels among them, -1 if unknown.
	End(keep bool) (nodes, kernels int64, err error)
	// Kernels returns the kernels of the graph, each once.
	Kernels() ([]backend.LaunchFact, error)
	Settle(ns int64) error
	Replay(n int) ([]float64, error)
	Start() error
	Stop() (float64, error)
	// WatchKernels makes Start and Stop time only the kernels of a user's file, one by one.
	WatchKernels() error
	// Spread makes Replay time calls on two devices by the clocks of both: a sample is the longer time.
	// Clocks returns the total of the last replays by each clock.
	Spread() error
	Clocks() (first, second float64)
	// PlainCache makes no line of the L2 cache persist.
	PlainCache() error
	Close()
}

// Mapper maps memory that lies on the first two GPUs, in whole pages of 2 MiB.
type Mapper interface {
	// Can reports whether both map memory and reach each other's.
	Can() (bool, error)
	// Map returns a range of addresses, the first bytes of whose memory are the first GPU's.
	Map(first, second int64) (uintptr, error)
	Unmap(at uintptr, bytes int64) error
}

// OpenMapper loads the runtime library from a file, for its memory on two GPUs.
func OpenMapper(path string) (Mapper, error) {
	clock, err := OpenRuntime(path)
	if err != nil {
		return nil, err
	}
	return clock.(*runtimeLibrary), nil
}

func (r *runtimeLibrary) Can() (bool, error) {
	var can C.int32_t
	err := runtimeError("ask whether two GPUs reach each other's memory", C.triad_rt_spread_can(r.c, &can))
	return can != 0, err
}

func (r *runtimeLibrary) Map(first, second int64) (uintptr, error) {
	var at C.uint64_t
	err := runtimeError("map memory on two GPUs", C.triad_rt_spread_map(r.c, C.int64_t(first),
		C.int64_t(second), &at))
	return uintptr(at), err
}

func (r *runtimeLibrary) Unmap(at uintptr, bytes int64) error {
	return runtimeError("give memory on two GPUs back", C.triad_rt_spread_unmap(r.c, C.uint64_t(at),
		C.int64_t(bytes)))
}

// runtimeLibrary implements Clock with the runtime library of a GPU.
type runtimeLibrary struct{ c *C.triad_runtime }

// OpenRuntime loads the runtime library from a file.
func OpenRuntime(path string) (Clock, error) {
	handle, err := open(path, false)
	if err != nil {
		return nil, err
	}
	r := &runtimeLibrary{(*C.triad_runtime)(C.calloc(1, C.sizeof_triad_runtime))}
	names := []string{
		"triad_runtime_version", "triad_timer_open", "triad_timer_close", "triad_timer_begin",
		"triad_timer_end", "triad_timer_settle",
		"triad_timer_replay", "triad_timer_start", "triad_timer_stop", "triad_ceiling", "triad_differing",
		"triad_physics_of", "triad_timer_kernels", "triad_timer_watch", "triad_timer_plain_cache",
		"triad_timer_spread", "triad_timer_clocks", "triad_spread_can", "triad_spread_map",
		"triad_spread_unmap",
	}
	table := unsafe.Slice((*unsafe.Pointer)(unsafe.Pointer(r.c)), len(names))
	for i, name := range names {
		if table[i], err = symbol(handle, name); err != nil {
			return nil, fmt.Errorf("use the runtime library %s: %w", path, err)
		}
	}
	if v := C.triad_rt_version(r.c); v != C.TRIAD_RUNTIME {
		return nil, fmt.Errorf("use the runtime library %s: it speaks version %d, want %d", path, v,
			C.TRIAD_RUNTIME)
	}
	return r, nil
}

// runtimeError converts a result of the runtime library. After some errors nothing works any more in this
// process.
func runtimeError(doing string, code C.int) error {
	switch n := int(code); {
	case n == 0:
		return nil
	case n == cudaerror.OutOfMemory:
		return &OutOfMemory{Message: doing + ": CUDA error 2, out of memory"}
	case cudaerror.Sticky(n):
		return &DeviceLost{Message: fmt.Sprintf("%s: CUDA error %d%s", doing, n, errorName(n))}
	default:
		return fmt.Errorf("%s: CUDA error %d%s", doing, n, errorName(n))
	}
}

func (r *runtimeLibrary) Physics() (backend.DevicePhysics, error) {
	var p C.triad_physics
	err := runtimeError("ask the GPU for its widths", C.triad_rt_physics(r.c, &p))
	return backend.DevicePhysics{
		L2Bytes: int64(p.l2_bytes), Multiprocessors: int(p.multiprocessors),
		BytesPerSecond: float64(p.bytes_per_second),
		ClockMHz:       float64(p.clock_mhz), Major: int(p.major), Minor: int(p.minor),
	}, err
}

// ceilingNumbers maps ceilings to the constants of runtime.h.
var ceilingNumbers = map[string]C.int32_t{
	backend.CeilingMemcpy: C.TRIAD_CEILING_MEMCPY, backend.CeilingCopy: C.TRIAD_CEILING_COPY,
	backend.CeilingRead: C.TRIAD_CEILING_READ, backend.CeilingWrite: C.TRIAD_CEILING_WRITE,
}

func (r *runtimeLibrary) Ceiling(name string, to, from Buffer, stream uintptr) error {
	return runtimeError("ceiling "+name, C.triad_rt_ceiling(r.c, ceilingNumbers[name],
		C.uintptr_t(to.Pointer),
		C.uintptr_t(from.Pointer), C.int64_t(to.Bytes), C.uintptr_t(stream)))
}

func (r *runtimeLibrary) Differing(a, b Buffer) (int64, error) {
	var n C.int64_t
	err := runtimeError("compare two buffers", C.triad_rt_differing(r.c, C.uintptr_t(a.Pointer),
		C.uintptr_t(b.Pointer), C.int64_t(min(a.Bytes, b.Bytes)), &n))
	return int64(n), err
}

func (r *runtimeLibrary) Open(own *OwnCalls) (Timer, error) {
	t := &timer{library: r, own: own}
	var stream unsafe.Pointer
	var flag C.int32_t
	if own != nil {
		flag = 1
	}
	err := runtimeError("open a timer", C.triad_rt_open(r.c, &t.c, &stream, flag))
	t.stream = uintptr(stream)
	return t, err
}

// timer is a triad_timer.
type timer struct {
	library *runtimeLibrary
	c       *C.triad_timer
	stream  uintptr
	own     *OwnCalls
}

func (t *timer) Stream() uintptr { return t.stream }

func (t *timer) Launch(c *Call) Finding { return c.Launch(t.stream) }

func (t *timer) Begin() error {
	return runtimeError("begin a capture", C.triad_rt_begin(t.library.c, t.c))
}

func (t *timer) End(keep bool) (int64, int64, error) {
	var nodes, kernels C.int64_t
	flag := C.int32_t(0)
	if keep {
		flag = 1
	}
	err := runtimeError("end a capture", C.triad_rt_end(t.library.c, t.c, flag, &nodes, &kernels))
	return int64(nodes), int64(kernels), err
}

// mostKernels limits how many different kernels of a call are reported.
const mostKernels = 8

func (t *timer) Kernels() ([]backend.LaunchFact, error) {
	facts := make([]C.triad_kernel_fact, mostKernels)
	var n C.int32_t
	if err := runtimeError("ask about the kernels of a graph", C.triad_rt_kernels(t.library.c, t.c, &facts[0],
		mostKernels, &n)); err != nil {
		return nil, err
	}
	var all []backend.LaunchFact
	for _, f := range facts[:n] {
		l := backend.LaunchFact{
			Kernel: C.GoString(&f.name[0]), Registers: int(f.registers), SharedBytes: int(f.shared_bytes),
			DynamicSharedBytes: int(f.dynamic_shared_bytes), LocalBytes: int(f.local_bytes),
			BlocksPerMultiprocessor: int(f.blocks_per_multiprocessor),
		}
		threads := 1
		for i := range 3 {
			l.Grid[i], l.Block[i] = int(f.grid[i]), int(f.block[i])
			threads *= l.Block[i]
		}
		if f.threads_per_multiprocessor > 0 {
			l.Occupancy = float64(l.BlocksPerMultiprocessor*threads) / float64(f.threads_per_multiprocessor)
		}
		all = append(all, l)
	}
	return all, nil
}

func (t *timer) Settle(ns int64) error {
	return runtimeError("replay", C.triad_rt_settle(t.library.c, t.c, C.int64_t(ns)))
}

func (t *timer) Replay(n int) ([]float64, error) {
	if n < 1 {
		return nil, nil
	}
	ms := make([]C.float, n)
	if err := runtimeError("replay", C.triad_rt_replay(t.library.c, t.c, C.int32_t(n), &ms[0])); err != nil {
		return nil, err
	}
	ns := make([]float64, n)
	for i := range ns {
		ns[i] = float64(ms[i]) * 1e6
	}
	return ns, nil
}

func (t *timer) Start() error {
	return runtimeError("start a timer", C.triad_rt_start(t.library.c, t.c))
}

func (t *timer) Stop() (float64, error) {
	var ms C.float
	err := runtimeError("stop a timer", C.triad_rt_stop(t.library.c, t.c, &ms))
	return float64(ms) * 1e6, err
}

func (t *timer) WatchKernels() error {
	if t.own == nil {
		return errors.New("time kernels one by one: only those of a user's file can be")
	}
	return runtimeError("time kernels one by one", C.triad_rt_watch(t.library.c, t.c, t.own.c))
}

func (t *timer) Spread() error {
	return runtimeError("time by two clocks", C.triad_rt_spread(t.library.c, t.c))
}

func (t *timer) Clocks() (first, second float64) {
	var ms [2]C.float
	C.triad_rt_clocks(t.library.c, t.c, &ms[0], &ms[1])
	return float64(ms[0]) * 1e6, float64(ms[1]) * 1e6
}

func (t *timer) PlainCache() error {
	return runtimeError("reset the persisting lines of the L2 cache",
		C.triad_rt_plain_cache(t.library.c, t.c))
}

func (t *timer) Close() {
	if t.c != nil {
		C.triad_rt_close(t.library.c, t.c)
		t.c = nil
	}
}
