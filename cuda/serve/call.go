package serve

/*
#include <stdlib.h>
#include <string.h>
#include "abi.h"
#include "include/own_words.h"

static int triad_call_accepts(const triad_kernel *k, const triad_call *c, char *why, int32_t n) {
	return k->accepts ? k->accepts(c, why, n) : TRIAD_OK;
}
static int64_t triad_call_workspace(const triad_kernel *k, const triad_call *c) {
	return k->workspace ? k->workspace(c) : 0;
}
static int triad_call_launch(const triad_kernel *k, const triad_call *c) { return k->launch(c); }
*/
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"triad/internal/backend"
	"triad/internal/cudaerror"
	"triad/internal/op"
)

// maxRank is the length of shape and stride in a triad_tensor.
const maxRank = 6

// Call is one call of a kernel, in C memory: the kernel reads it through its pointers.
type Call struct {
	kernel *kernel
	c      *C.triad_call
	in     []C.triad_tensor
	out    []C.triad_tensor
}

// Implementation returns the name of the called kernel.
func (c *Call) Implementation() string { return c.kernel.Name }

// newCall makes a call whose tensors have no memory yet; free releases it.
func newCall(k *kernel, attrs []backend.AttrRef, in, out []backend.TensorRef) *Call {
	c := &Call{kernel: k, c: (*C.triad_call)(C.calloc(1, C.sizeof_triad_own_call_t))}
	c.c.size = C.sizeof_triad_call
	c.c.n_in, c.c.n_out, c.c.n_attr = C.int32_t(len(in)), C.int32_t(len(out)), C.int32_t(len(attrs))
	c.c.in, c.in = describe(in)
	c.c.out, c.out = describe(out)
	numbers := C.calloc(C.size_t(max(len(attrs), 1)), C.sizeof_double)
	for i, a := range attrs {
		unsafe.Slice((*C.double)(numbers), len(attrs))[i] = C.double(a.Number)
	}
	c.c.attr = (*C.double)(numbers)
	return c
}

// own returns the call as the library of a user's file sees it.
func (c *Call) own() *C.triad_own_call_t { return (*C.triad_own_call_t)(unsafe.Pointer(c.c)) }

// say sets the arguments of the user's function.
func (c *Call) say(words []int64) {
	if len(words) == 0 {
		return
	}
	size := C.size_t(len(words)) * C.sizeof_int64_t
	at := C.malloc(size)
	copy(unsafe.Slice((*int64)(at), len(words)), words)
	c.c.size, c.own().words = C.sizeof_triad_own_call_t, (*C.int64_t)(at)
}

// describe converts tensors without memory to their C form.
func describe(refs []backend.TensorRef) (*C.triad_tensor, []C.triad_tensor) {
	first := (*C.triad_tensor)(C.calloc(C.size_t(max(len(refs), 1)), C.sizeof_triad_tensor))
	all := unsafe.Slice(first, len(refs))
	for i, r := range refs {
		all[i].dtype, all[i].rank = C.int32_t(r.DType.ABI()), C.int32_t(len(r.Shape))
		for d := range r.Shape {
			all[i].shape[d], all[i].stride[d] = C.int64_t(r.Shape[d]), C.int64_t(r.Stride[d])
		}
	}
	return first, all
}

func (c *Call) free() {
	C.free(unsafe.Pointer(c.c.in))
	C.free(unsafe.Pointer(c.c.out))
	C.free(unsafe.Pointer(c.c.attr))
	C.free(unsafe.Pointer(c.own().words))
	C.free(unsafe.Pointer(c.c))
}

// place sets the memory of a tensor: the device address of its first element.
func place(t *C.triad_tensor, address uintptr) {
	*(*uintptr)(unsafe.Pointer(&t.data)) = address
}

func (c *Call) setWorkspace(b Buffer) {
	*(*uintptr)(unsafe.Pointer(&c.c.workspace)) = b.Pointer
	c.c.workspace_bytes = C.int64_t(b.Bytes)
}

// shareWorkspace makes a call use the scratch memory of another: only one of them may run at a time.
func (c *Call) shareWorkspace(other *Call) {
	c.c.workspace, c.c.workspace_bytes = other.c.workspace, other.c.workspace_bytes
}

// nowhere reserves inaccessible pages, a range for each tensor.
var nowhere = sync.OnceValues(func() ([]byte, error) {
	return syscall.Mmap(-1, 0, mostHidden*hiddenBytes, syscall.PROT_NONE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
})

const (
	mostHidden  = 64
	hiddenBytes = 1 << 16
	pageBytes   = 4096
)

// hidden calls f while every tensor lies in inaccessible pages, at an address of the same alignment: a kernel
// chooses its calls by sizes, strides and alignment, and cannot look at values.
func (c *Call) hidden(f func()) error {
	pages, err := nowhere()
	if err != nil {
		return fmt.Errorf("reserve addresses: %w", err)
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(pages)))
	all := make([]*C.triad_tensor, 0, len(c.in)+len(c.out))
	for _, list := range [][]C.triad_tensor{c.in, c.out} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	addresses := make([]uintptr, len(all))
	for i, t := range all {
		if addresses[i] = uintptr(t.data); addresses[i] != 0 {
			place(t, base+uintptr(i%mostHidden)*hiddenBytes+addresses[i]%pageBytes)
		}
	}
	f()
	for i, t := range all {
		place(t, addresses[i])
	}
	return nil
}

// accepts asks the kernel whether it takes the call; why is its reason if it does not.
func (c *Call) accepts() (why string, ok bool, err error) {
	const size = 512
	reason := (*C.char)(C.calloc(1, size))
	defer C.free(unsafe.Pointer(reason))
	var answer C.int
	if err := c.hidden(func() { answer = C.triad_call_accepts(c.kernel.c, c.c, reason, size) }); err != nil ||
		answer == C.TRIAD_OK {
		return "", true, err
	}
	*(*C.char)(unsafe.Add(unsafe.Pointer(reason), size-1)) = 0
	why = strings.ToValidUTF8(C.GoString(reason), "?")
	if why == "" {
		why = "the kernel declines this call and gives no reason"
	}
	return why, false, nil
}

// workspace returns the scratch memory that the kernel asks for, in bytes.
func (c *Call) workspace() (int64, error) {
	var bytes int64
	if err := c.hidden(func() { bytes = int64(C.triad_call_workspace(c.kernel.c, c.c)) }); err != nil {
		return 0, err
	}
	if bytes < 0 || bytes > 1<<44 {
		return 0, fmt.Errorf("%s asks for a workspace of %d bytes", c.kernel.Name, bytes)
	}
	return bytes, nil
}

// Launch calls the kernel's launch function on this thread, with a stream of the device (0: the default one).
// The kernel may still run when it returns.
func (c *Call) Launch(stream uintptr) Finding {
	*(*uintptr)(unsafe.Pointer(&c.c.stream)) = stream
	return launched(c.kernel, int(C.triad_call_launch(c.kernel.c, c.c)))
}

// launched converts the result of a launch function to a finding: 0, TRIAD_UNSUPPORTED or the number of a
// CUDA error.
func launched(k *kernel, code int) Finding {
	switch {
	case code == C.TRIAD_OK:
		return Finding{}
	case code == C.TRIAD_UNSUPPORTED:
		return Finding{Status: op.StatusCrash, Message: "the launch of " + k.Name +
			" returned TRIAD_UNSUPPORTED for a call that it had accepted: what a kernel does not take, its " +
			"accepts says"}
	case code == cudaerror.OutOfMemory:
		return Finding{
			Status: op.StatusOOM, Message: "the launch returned CUDA error 2, out of memory",
			Dirty: true,
		}
	}
	return Finding{Status: op.StatusCrash, Message: fmt.Sprintf("the launch of %s returned CUDA error %d%s",
		k.Name, code, errorName(code)), Dirty: !cudaerror.Refused(code)}
}

// errorName names the CUDA errors that a launch is likely to return.
func errorName(code int) string {
	switch code {
	case cudaerror.InvalidValue:
		return ", invalid value"
	case cudaerror.InvalidConfiguration:
		return ", invalid configuration: grid, block or shared memory are out of bounds"
	case 98:
		return ", invalid device function: the library holds no code for this GPU"
	case 209:
		return ", no kernel image for this GPU"
	case cudaerror.IllegalAddress:
		return ", illegal address"
	case cudaerror.OutOfResources:
		return ", out of resources: too many registers or too much shared memory for this block"
	case 716:
		return ", misaligned address"
	case 719:
		return ", launch failure"
	}
	return ""
}
