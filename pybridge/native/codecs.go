package native

import (
	"runtime/debug"
	"unsafe"

	"triad/internal/op"
	"triad/internal/tensor"
)

// maxElements is the largest array that a codec takes: 2^40 bytes of fp64 are beyond every machine, and below
// it no size overflows.
const maxElements = 1 << 37

// Decode turns n elements of a dtype at address from into fp64 numbers at address to, each exact (except
// int64 beyond 2^53). The arrays are the caller's: contiguous, little endian, alive until the call returns.
func Decode(dtype string, from, to uintptr, n int) (err error) {
	defer guard("Decode", &err)()
	enter("Decode")
	// an address that is not the caller's is an error, not the end of the process
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	d, err := arrays(dtype, from, to, n)
	if err != nil || n == 0 {
		return err
	}
	tensor.DecodeInto(unsafe.Slice((*float64)(address(to)), n), d, unsafe.Slice((*byte)(address(from)),
		int64(n)*d.Size()))
	return nil
}

// Encode rounds n fp64 numbers at address from once, to nearest even, to elements of a dtype at address to.
func Encode(dtype string, from, to uintptr, n int) (err error) {
	defer guard("Encode", &err)()
	enter("Encode")
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	d, err := arrays(dtype, from, to, n)
	if err != nil || n == 0 {
		return err
	}
	tensor.EncodeInto(unsafe.Slice((*byte)(address(to)), int64(n)*d.Size()), d,
		unsafe.Slice((*float64)(address(from)), n))
	return nil
}

// arrays parses a dtype and refuses addresses that cannot be two arrays of n elements.
func arrays(dtype string, from, to uintptr, n int) (op.DType, error) {
	d, err := op.ParseDType(dtype)
	if err != nil {
		return d, usagef("%v", err)
	}
	if n < 0 || n > maxElements || n > 0 && (from == 0 || to == 0) {
		return d, usagef("%s: %d elements from address %#x to %#x: want 0 to 2^37 elements at addresses "+
			"that are not 0", dtype, n, from, to)
	}
	return d, nil
}

// address converts an address from Python into a pointer. It points outside Go's heap.
func address(a uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&a)) }
