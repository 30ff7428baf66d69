package serve

import (
	"context"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
)

// Device runs kernels: the emulator, or a GPU. It belongs to one goroutine, locked to its thread.
type Device interface {
	// Name is "emulator" or "gpu"; Versions lists the versions of its parts.
	Name() string
	Versions() map[string]string

	// Library returns the built library of a kernel file: an operator's name, or the path of a .cu. The error
	// is a *build.Error or a *backend.Unavailable if the sources or the toolchain are to blame.
	Library(ctx context.Context, file string) (build.Library, error)

	// Alloc allocates memory with guards on both sides; a guard report uses name. Free releases it and
	// returns a report if a guard changed.
	Alloc(name string, bytes int64) (Buffer, error)
	Free(b Buffer) *backend.GuardReport

	CopyIn(to Buffer, from []byte) error
	CopyOut(to []byte, from Buffer) error
	Fill(b Buffer, pattern []byte) error // repeats the pattern to the end

	// Launch runs a kernel and waits for it. order is a schedule order for the emulator, "" elsewhere; an
	// order that the device does not know is an error.
	Launch(c *Call, order string) (Finding, error)

	// Probe returns an error if the device no longer computes.
	Probe() error
}

// Unfilled is a Device that can leave outputs and workspaces unfilled, so that a tool sees reads of
// uninitialised memory.
type Unfilled interface{ Unfilled() bool }

// Arranged is a Device that can put the buffers of a launch at either end of the readable memory
// (backend.Place...), and fills uninitialised memory by the poison of the launch. Arrange comes before Alloc.
type Arranged interface {
	Arrange(place, poison string) error
}

// Spread is a Device that may hold two, for calls of which half of each tensor lies on either. A Device that
// is none takes such calls all the same: the emulator has one memory for both.
type Spread interface {
	// Spread returns how many devices a call may be spread over, and why it is not two, as the end of a
	// sentence.
	Spread() (devices int, why string)
	// AllocSpread is Alloc of memory that lies on the second device from border on, or a little further.
	AllocSpread(name string, bytes, border int64) (Buffer, error)
}

// unfilled reports whether the device leaves outputs and workspaces as they were allocated.
func unfilled(d Device) bool {
	u, ok := d.(Unfilled)
	return ok && u.Unfilled()
}

// Buffer is a piece of a device's memory. Pointer is a number: this process must not dereference it.
type Buffer struct {
	Name    string
	Pointer uintptr
	Bytes   int64
}

// OutOfMemory is the error of a device that has no room for a buffer.
type OutOfMemory struct{ Message string }

func (e *OutOfMemory) Error() string { return e.Message }

// DeviceLost is the error of a device that no longer responds in this process: only another process may find
// it working.
type DeviceLost struct{ Message string }

func (e *DeviceLost) Error() string { return e.Message }

// Finding is the outcome of a launch. The zero value is an ordinary return. With Dirty the process can no
// longer be trusted.
type Finding struct {
	Status  op.Status
	Message string
	Where   *backend.Where
	Dirty   bool
}
