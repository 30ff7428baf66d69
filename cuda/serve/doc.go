// Package serve is the CUDA worker: it loads kernel libraries, and runs and times their kernels for the
// driver.
//
//	serve.go       the loop of requests and replies
//	device.go      what a device is: the emulator (emulator.go), or a GPU (package cudevice)
//	library.go     the kernels that a library registers
//	call.go        one call of a kernel
//	run.go         launches of a job, on poisoned and guarded memory
//	measure*.go    timed calls of a job
//	runtime.go     the library with which calls are timed on a GPU
//	own_calls.go   what the library of a user's file reports of its calls
//	hangup.go      the worker's end when its driver has ended
//
// This is the only package with cgo of ours. headers.go makes Go build it anew when a header changes that it
// includes from another folder, such as cuda/abi.h.
package serve
