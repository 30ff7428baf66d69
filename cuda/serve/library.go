package serve

/*
#cgo CFLAGS: -I${SRCDIR}/..
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include "abi.h"

typedef int (*triad_list)(int32_t, const triad_kernel *const **, int32_t *);

static int triad_call_list(void *f, const triad_kernel *const **list, int32_t *n) {
	return ((triad_list)f)(TRIAD_ABI, list, n);
}
static const triad_kernel *triad_nth(const triad_kernel *const *list, int32_t i) { return list[i]; }
static uint32_t triad_smallest_kernel(void) { return offsetof(triad_kernel, launch) + sizeof(void *); }
static uint32_t triad_kernel_with_devices(void) { return offsetof(triad_kernel, devices) + sizeof(int32_t); }
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"unsafe"

	"triad/internal/backend"
	"triad/internal/op"
)

// ownFamily begins the variant of a kernel that a user added; such a kernel's whole name is its variant.
const ownFamily = "mine/"

// kernel is one registration of a loaded library.
type kernel struct {
	c *C.triad_kernel
	backend.Implementation
	dtypeBits, outputBits uint32
	devices               int       // that a call is spread over
	own                   *OwnCalls // of a user's file on a GPU
}

// gives reports whether the kernel writes the output at an index.
func (k *kernel) gives(output int) bool { return output < 32 && k.outputBits>>output&1 == 1 }

// open loads a library. Later libraries see its symbols only if it is shared. Libraries stay loaded: a CUDA
// library that is closed leaves its threads and its handlers behind.
func open(path string, shared bool) (unsafe.Pointer, error) {
	runtime.LockOSThread() // dlerror belongs to the thread
	defer runtime.UnlockOSThread()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	mode := C.int(C.RTLD_NOW | C.RTLD_LOCAL)
	if shared {
		mode = C.RTLD_NOW | C.RTLD_GLOBAL
	}
	handle := C.dlopen(name, mode)
	if handle == nil {
		return nil, fmt.Errorf("load library %s: %s", filepath.Base(path), C.GoString(C.dlerror()))
	}
	return handle, nil
}

// symbol finds a function of a loaded library.
func symbol(handle unsafe.Pointer, name string) (unsafe.Pointer, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := C.CString(name)
	defer C.free(unsafe.Pointer(c))
	f := C.dlsym(handle, c)
	if f == nil {
		return nil, fmt.Errorf("find %s: %s", name, C.GoString(C.dlerror()))
	}
	return f, nil
}

// kernels lists what a loaded library registers. spec finds the operator that a registration names.
func kernels(handle unsafe.Pointer, spec func(string) (*op.Spec, error)) ([]*kernel, error) {
	f, err := symbol(handle, "triad_kernels")
	if err != nil {
		return nil, fmt.Errorf("%w; the file needs #include \"register.cuh\"", err)
	}
	var list **C.triad_kernel
	var n C.int32_t
	if status := C.triad_call_list(f, (***C.triad_kernel)(unsafe.Pointer(&list)), &n); status != C.TRIAD_OK {
		return nil, fmt.Errorf("list kernels: the library does not speak version %d of the kernel interface",
			C.TRIAD_ABI)
	}
	if n < 1 {
		return nil, fmt.Errorf("list kernels: none is registered; a kernel file registers each of its " +
			"variants with TRIAD_KERNEL(op, variant, pass, ...)")
	}
	var all []*kernel
	for i := C.int32_t(0); i < n; i++ {
		k, err := readKernel(C.triad_nth(list, i), spec)
		if err != nil {
			return nil, fmt.Errorf("registration %d of %d: %w", i+1, n, err)
		}
		k.own = ownCallsOf(handle)
		all = append(all, k)
	}
	return all, nil
}

// readKernel checks one registration and converts it.
func readKernel(c *C.triad_kernel, specOf func(string) (*op.Spec, error)) (*kernel, error) {
	switch {
	case c == nil || c.size < C.triad_smallest_kernel():
		return nil, fmt.Errorf("the entry is shorter than triad_kernel of abi.h")
	case c.op == nil || c.variant == nil || c.pass == nil:
		return nil, fmt.Errorf("operator, variant or pass is not given")
	}
	k := &kernel{c: c, dtypeBits: uint32(c.dtypes), outputBits: uint32(c.outputs), devices: 1}
	if c.size >= C.triad_kernel_with_devices() {
		k.devices = max(1, int(c.devices))
	}
	if k.devices > 2 {
		return nil, fmt.Errorf("it is spread over %d devices, at most 2 are possible", k.devices)
	}
	k.Op, k.Name = C.GoString(c.op), C.GoString(c.variant)
	if !strings.HasPrefix(k.Name, ownFamily) {
		k.Name = "cuda/" + k.Name
	}
	if err := k.Pass.UnmarshalText([]byte(C.GoString(c.pass))); err != nil {
		return nil, fmt.Errorf("%s %s: %w", k.Op, k.Name, err)
	}
	if c.launch == nil || c.contract == nil {
		return nil, fmt.Errorf("%s %s %s: has no launch or names no contract", k.Op, k.Name, k.Pass)
	}
	spec, err := specOf(k.Op)
	if err != nil {
		return nil, fmt.Errorf("%s %s %s: %w", k.Op, k.Name, k.Pass, err)
	}
	k.Contract, k.Constraint = C.GoString(c.contract), text(c.constraint)
	if c.forward != nil {
		k.Forward = "cuda/" + C.GoString(c.forward)
	}
	outputs := outputNames(spec, k.Pass)
	k.Outputs, k.Nondeterministic = named(outputs, k.outputBits), named(outputs, uint32(c.nondeterministic))
	for _, dtype := range spec.PassDTypes(k.Pass) {
		if main, known := mainDType(spec, k.Pass, dtype); !known || k.dtypeBits>>main.ABI()&1 == 1 {
			k.DTypes = append(k.DTypes, dtype)
		}
	}
	if len(k.Outputs) == 0 || len(k.DTypes) == 0 {
		return nil, fmt.Errorf("%s %s %s: gives none of the outputs %v, or takes none of the dtypes %v", k.Op,
			k.Name, k.Pass, outputs, spec.PassDTypes(k.Pass))
	}
	return k, nil
}

func text(c *C.char) string {
	if c == nil {
		return ""
	}
	return C.GoString(c)
}

// named returns the names whose bits are set.
func named(names []string, bits uint32) []string {
	var out []string
	for i, name := range names {
		if i < 32 && bits>>i&1 == 1 {
			out = append(out, name)
		}
	}
	return out
}

// outputNames lists the outputs of a pass in the order of the spec.
func outputNames(spec *op.Spec, pass op.Pass) []string {
	if pass == op.Backward {
		if spec.Backward == nil {
			return nil
		}
		return spec.Backward.Outputs
	}
	var names []string
	for _, t := range spec.OutputSpecs {
		names = append(names, t.Name)
	}
	return names
}
