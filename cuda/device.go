package cuda

import (
	"context"

	"triad/internal/backend"
	"triad/internal/op"
)

// Device is where kernels run: the emulator, or a GPU. It is used by one goroutine, locked to its thread.
type Device interface {
	// Name is "emulator" or "gpu"; Versions says what the device is made of.
	Name() string
	Versions() map[string]string

	// Library gives the built library of a kernel file: an operator's name, or the path of a .cu. The error
	// is a *BuildError or a *backend.Unavailable where the sources or the toolchain are to blame.
	Library(ctx context.Context, file string) (Library, error)

	// Alloc gives memory with guards on both sides; name is what a guard report calls it. Free takes it back
	// and says whether a guard had changed.
	Alloc(name string, bytes int64) (Buffer, error)
	Free(b Buffer) *backend.GuardReport

	CopyIn(to Buffer, from []byte) error
	CopyOut(to []byte, from Buffer) error
	Fill(b Buffer, pattern []byte) error // repeats the pattern to the end

	// Launch runs a kernel and waits for it. order is a schedule order for the emulator, "" elsewhere; an
	// order that the device does not know is an error.
	Launch(c *Call, order string) (Finding, error)

	// Probe says whether the device still computes.
	Probe() error
}

// Unfilled is a Device that may be told not to fill what a kernel is to write, so that a tool sees reads of
// what nobody wrote.
type Unfilled interface{ Unfilled() bool }

// Arranged is a Device that may put the buffers of a launch at either end of what can be read
// (backend.Place...), and fills memory that nobody has written by the poison of the launch. Arrange comes
// before Alloc.
type Arranged interface {
	Arrange(place, poison string) error
}

// unfilled says whether outputs and workspaces are left as they were allocated.
func unfilled(d Device) bool {
	u, ok := d.(Unfilled)
	return ok && u.Unfilled()
}

// Buffer is a piece of a device's memory. Pointer is a number: it may not be followed here.
type Buffer struct {
	Name    string
	Pointer uintptr
	Bytes   int64
}

// OutOfMemory is the error of a device that has no room for a buffer.
type OutOfMemory struct{ Message string }

func (e *OutOfMemory) Error() string { return e.Message }

// DeviceLost is the error of a device that answers nothing any more in this process: only another process may
// find it working.
type DeviceLost struct{ Message string }

func (e *DeviceLost) Error() string { return e.Message }

// Finding is what a launch came to. The zero value is a plain return. Where Dirty is set the process can no
// longer be trusted.
type Finding struct {
	Status  op.Status
	Message string
	Where   *backend.Where
	Dirty   bool
}
