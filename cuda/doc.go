// Package cuda is a folder of packages. It holds no code of its own, and its tests are those of the emulator
// and of the device code.
//
// What a GPU runs, or the emulator in its place:
//
//	kernels    the kernels of each operator: OP.cu, and a folder OP for its parts
//	include    headers that the kernels share
//	runtime    the library that times calls and moves bytes on a GPU
//	emulator   runs kernels on the CPU and finds their bugs
//	abi.h      what a kernel library exports
//	compat     a cuda.h that declares older functions, which gorgonia.org/cu calls
//
// What the driver and its worker do with it:
//
//	rewrite    turns CUDA into C++ for the emulator
//	build      compiles kernel files into libraries, and keeps them in a cache
//	program    builds programs with a main(), which check runs
//	serve      loads libraries, runs and times their kernels: the worker
//	cudevice   the device that is a GPU, in triad-cuda
//	gpuworker  finds triad-cuda, and NVIDIA's sanitizer and profiler
//	telemetry  reads clocks and temperatures of a GPU
//	cudatest   helpers for tests
package cuda
