// Package cudaerror holds the numbers of the CUDA errors that triad acts on. The runtime (cudaError_t) and
// the driver (CUresult) use the same numbers for them.
package cudaerror

// The errors that triad acts on by name.
const (
	InvalidValue         = 1   // a launch: too much dynamic shared memory; else an argument out of range
	OutOfMemory          = 2   // of the GPU
	InvalidConfiguration = 9   // a grid or a block that no GPU takes
	IllegalAddress       = 700 // a kernel used memory that is not its own
	OutOfResources       = 701 // a block needs more registers or shared memory than there are
	NotSupported         = 801 // what neither the device nor the emulator has
)

// Refused reports whether a launch function that returned this error started no kernel, because CUDA checked
// the launch and rejected it. The process stays usable. A GPU and the emulator agree on these errors for
// <<<...>>> (watched_launch.cuh).
func Refused(code int) bool {
	return code == InvalidValue || code == InvalidConfiguration || code == OutOfResources
}

// Sticky reports whether every later call in the process fails with the same error, which only a new process
// clears.
func Sticky(code int) bool {
	switch code {
	case 214, 220, IllegalAddress, 702, 709, 710, 721, 999:
		return true
	}
	return code >= 714 && code <= 719
}
