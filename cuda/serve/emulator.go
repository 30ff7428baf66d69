package serve

/*
#include <stdlib.h>
#include "abi.h"
#include "emulator/host.h"

// The emulator's functions, found at run time: the library is built on first use.
typedef struct {
	int (*set_order)(const char *);
	void *(*alloc)(const char *, size_t, size_t);
	int (*free)(void *);
	void (*fill)(void *, size_t, const void *, size_t);
	void (*copy)(void *, const void *, size_t);
	int64_t (*check)(const void *, int64_t *, int64_t *);
	int (*run)(int (*)(const void *), const void *, cuemu_report *);
	void (*set_watchdog)(double);
	void (*arrange)(int, int);
} emulator_api;

static void emulator_arrange(const emulator_api *e, int place, int fill) { e->arrange(place, fill); }

static void emulator_set_watchdog(const emulator_api *e, double seconds) { e->set_watchdog(seconds); }

static int emulator_set_order(const emulator_api *e, const char *order) { return e->set_order(order); }
static uintptr_t emulator_alloc(const emulator_api *e, const char *name, size_t bytes) {
	return (uintptr_t)e->alloc(name, bytes, 0);
}
static int emulator_free(const emulator_api *e, uintptr_t data) { return e->free((void *)data); }
static void emulator_fill(const emulator_api *e, uintptr_t data, size_t bytes, const void *pattern,
                          size_t n) {
	e->fill((void *)data, bytes, pattern, n);
}
static void emulator_copy_in(const emulator_api *e, uintptr_t to, const void *from, size_t bytes) {
	e->copy((void *)to, from, bytes);
}
static void emulator_copy_out(const emulator_api *e, void *to, uintptr_t from, size_t bytes) {
	e->copy(to, (const void *)from, bytes);
}
static int64_t emulator_check(const emulator_api *e, uintptr_t data, int64_t *before, int64_t *after) {
	return e->check((const void *)data, before, after);
}

static int emulator_run(const emulator_api *e, const triad_kernel *k, const triad_call *call,
                        cuemu_report *report) {
	return e->run((int (*)(const void *))k->launch, call, report);
}
static int emulator_add(const void *numbers) {
	int *n = (int *)numbers;
	n[2] = n[0] + n[1];
	return 0;
}
static int emulator_probe(const emulator_api *e) {
	int n[3] = {20, 22, 0};
	cuemu_report report;
	return e->run(emulator_add, n, &report) == CUEMU_OK && n[2] == 42;
}
*/
import "C"

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unsafe"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/cudaerror"
	"triad/internal/op"
	"triad/internal/tensor"
)

// emulator runs kernels on the CPU, in guarded memory and in any schedule order. Its library is built with
// the first kernel.
type emulator struct {
	builder build.Builder
	api     *C.emulator_api // nil until the library is loaded; never freed
	stall   time.Duration
}

// defaultStall is the default limit of a launch in which no block finishes.
const defaultStall = 30 * time.Second

// Stalling limits how long a launch in an emulator may continue without a block that finishes.
func Stalling(emulated Device, after time.Duration) Device {
	if e, is := emulated.(*emulator); is && after > 0 {
		e.stall = after
	}
	return emulated
}

// NewEmulator makes the device that runs kernels without a GPU. sources are laid out like the repository;
// libraries go into the folder cache.
func NewEmulator(sources fs.FS, cache string) Device {
	return &emulator{builder: build.Builder{Sources: sources, Cache: cache}, stall: defaultStall}
}

func (e *emulator) Name() string { return "emulator" }

func (e *emulator) Versions() map[string]string {
	versions := map[string]string{}
	if e.compiler(context.Background()) == nil {
		versions["compiler"] = e.builder.Compiler.Version
	}
	if version, err := e.builder.EmulatorVersion(); err == nil {
		versions["emulator"] = version
	}
	return versions
}

// compiler finds the compiler, once.
func (e *emulator) compiler(ctx context.Context) (err error) {
	if e.builder.Compiler.Path == "" {
		e.builder.Compiler, err = build.FindHostCompiler(ctx)
	}
	return err
}

func (e *emulator) Library(ctx context.Context, file string) (build.Library, error) {
	if err := e.start(ctx); err != nil {
		return build.Library{}, err
	}
	return e.builder.Kernels(ctx, file)
}

// start builds and loads the emulator, once.
func (e *emulator) start(ctx context.Context) error {
	if e.api != nil {
		return nil
	}
	if err := e.compiler(ctx); err != nil {
		return err
	}
	library, err := e.builder.Emulator(ctx)
	if err != nil {
		return fmt.Errorf("build the emulator: %w", err)
	}
	handle, err := open(library.Path, true)
	if err != nil {
		return err
	}
	api := (*C.emulator_api)(C.calloc(1, C.sizeof_emulator_api))
	for _, f := range []struct {
		name string
		slot unsafe.Pointer
	}{
		{"cuemu_set_order", unsafe.Pointer(&api.set_order)},
		{"cuemu_alloc", unsafe.Pointer(&api.alloc)},
		{"cuemu_free", unsafe.Pointer(&api.free)},
		{"cuemu_fill", unsafe.Pointer(&api.fill)},
		{"cuemu_copy", unsafe.Pointer(&api.copy)},
		{"cuemu_check", unsafe.Pointer(&api.check)},
		{"cuemu_run", unsafe.Pointer(&api.run)},
		{"cuemu_set_watchdog", unsafe.Pointer(&api.set_watchdog)},
		{"cuemu_arrange", unsafe.Pointer(&api.arrange)},
	} {
		address, err := symbol(handle, f.name)
		if err != nil {
			C.free(unsafe.Pointer(api))
			return fmt.Errorf("open the emulator: %w", err)
		}
		*(*unsafe.Pointer)(f.slot) = address
	}
	// Kernel libraries find the emulator among the global symbols: another emulator there would run them, and
	// this one's settings would have no effect.
	if global, err := symbol(nil, "cuemu_run"); err != nil ||
		*(*unsafe.Pointer)(unsafe.Pointer(&api.run)) != global {
		C.free(unsafe.Pointer(api))
		return fmt.Errorf("open the emulator: this process has loaded another build of it (%v)", err)
	}
	e.api = api
	C.emulator_set_watchdog(api, C.double(e.stall.Seconds()))
	return nil
}

// places maps places to the constants of host.h.
var places = map[string]C.int{
	backend.PlaceEnd: C.CUEMU_AT_END, backend.PlaceBegin: C.CUEMU_AT_BEGIN,
	backend.PlaceExactEnd: C.CUEMU_EXACT_END, backend.PlaceExactBegin: C.CUEMU_EXACT_BEGIN,
}

// memoryFills gives the bytes of uninitialised memory by the poison of a launch: NaN, which fmaxf drops, and
// large numbers of either sign.
var memoryFills = map[string]C.int{"a": 0xFF, "b": 0x7B, tensor.Ordinary: 0xFB}

func (e *emulator) Arrange(place, poison string) error {
	at, known := places[place]
	if !known {
		return fmt.Errorf("place %q of a launch's buffers: the emulator does not know it", place)
	}
	C.emulator_arrange(e.api, at, memoryFills[poison])
	return nil
}

func (e *emulator) Alloc(name string, bytes int64) (Buffer, error) {
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	address := uintptr(C.emulator_alloc(e.api, c, C.size_t(bytes)))
	if address == 0 {
		return Buffer{}, &OutOfMemory{fmt.Sprintf("no memory for %s, %d bytes", name, bytes)}
	}
	return Buffer{name, address, bytes}, nil
}

func (e *emulator) Free(b Buffer) *backend.GuardReport {
	var before, after C.int64_t
	changed := C.emulator_check(e.api, C.uintptr_t(b.Pointer), &before, &after)
	C.emulator_free(e.api, C.uintptr_t(b.Pointer))
	switch {
	case changed == 0:
		return nil
	case after > 0:
		return &backend.GuardReport{Buffer: b.Name, Bytes: int64(after) - 1, Count: int64(changed)}
	}
	return &backend.GuardReport{Buffer: b.Name, Bytes: -int64(before), Count: int64(changed)}
}

func (e *emulator) CopyIn(to Buffer, from []byte) error {
	if len(from) > 0 {
		C.emulator_copy_in(e.api, C.uintptr_t(to.Pointer), unsafe.Pointer(&from[0]), C.size_t(len(from)))
	}
	return nil
}

func (e *emulator) CopyOut(to []byte, from Buffer) error {
	if len(to) > 0 {
		C.emulator_copy_out(e.api, unsafe.Pointer(&to[0]), C.uintptr_t(from.Pointer), C.size_t(len(to)))
	}
	return nil
}

func (e *emulator) Fill(b Buffer, pattern []byte) error {
	if b.Bytes > 0 && len(pattern) > 0 {
		C.emulator_fill(e.api, C.uintptr_t(b.Pointer), C.size_t(b.Bytes), unsafe.Pointer(&pattern[0]),
			C.size_t(len(pattern)))
	}
	return nil
}

func (e *emulator) Launch(c *Call, order string) (Finding, error) {
	if order == "" {
		order = "forward"
	}
	name := C.CString(order)
	defer C.free(unsafe.Pointer(name))
	if C.emulator_set_order(e.api, name) != 0 {
		return Finding{}, fmt.Errorf("schedule order %q: want forward, reverse, random:SEED or greedy:SEED",
			order)
	}
	report := (*C.cuemu_report)(C.calloc(1, C.sizeof_cuemu_report))
	defer C.free(unsafe.Pointer(report))
	kind := C.emulator_run(e.api, c.kernel.c, c.c, report)
	if kind == C.CUEMU_OK { // with a code if the launch function declined
		return launched(c.kernel, int(report.code)), nil
	}
	f := found(c.kernel, report)
	if f.Status == op.StatusHang { // the emulator knows no flags
		f.Message = strings.Replace(f.Message, "no block finished in the time that the watchdog allows",
			fmt.Sprintf("no block finished for %v (--limit stall=... changes this)", e.stall), 1)
	}
	return f, nil
}

func (e *emulator) Probe() error {
	if e.api != nil && C.emulator_probe(e.api) == 0 {
		return fmt.Errorf("probe the emulator: a plain call did not return")
	}
	return nil
}

// found converts a report of the emulator to a Finding.
func found(k *kernel, r *C.cuemu_report) Finding {
	f := Finding{Status: op.StatusCrash, Message: C.GoString(&r.message[0]), Where: whereIs(r), Dirty: true}
	switch r.kind {
	case C.CUEMU_OUT_OF_BOUNDS:
		f.Status = op.StatusOutOfBounds
	case C.CUEMU_DIVERGENT:
		f.Status = op.StatusDivergent
	case C.CUEMU_DEADLOCK:
		f.Status = op.StatusDeadlock
	case C.CUEMU_WATCHDOG:
		f.Status = op.StatusHang
	case C.CUEMU_LAUNCH_ERROR:
		if int(r.code) == cudaerror.OutOfMemory { // as on a GPU
			return launched(k, int(r.code))
		}
		f.Dirty = r.code <= 0 || !cudaerror.Refused(int(r.code)) // without a code the launch was aborted
		if f.Message == "" {
			f.Message = launched(k, int(r.code)).Message
		}
	}
	return f
}

// whereIs returns the place that a report names; nil if it names none.
func whereIs(r *C.cuemu_report) *backend.Where {
	w := backend.Where{Kernel: C.GoString(&r.kernel[0]), File: C.GoString(&r.file[0]), Line: int(r.line)}
	if r.has_place != 0 { // 1: block and thread, 2: the block alone
		w.Block = &[3]int{int(r.block[0]), int(r.block[1]), int(r.block[2])}
	}
	if r.has_place == 1 {
		w.Thread = &[3]int{int(r.thread[0]), int(r.thread[1]), int(r.thread[2])}
	}
	if module := C.GoString(&r.pc_module[0]); w.Line == 0 && module != "" {
		w.File, w.Line = build.LineOfAddress(module, uint64(r.pc_offset))
	}
	if w == (backend.Where{}) {
		return nil
	}
	return &w
}
