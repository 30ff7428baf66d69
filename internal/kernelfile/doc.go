// Package kernelfile matches a kernel file of the user's, .cu or .py, to an operator. It finds the functions
// to judge in the facts that cfacts reads, decides which tensor, size or attribute each parameter stands for,
// proposes the launch of a lone __global__ function, and writes the CUDA or Python code (the shim) that calls
// them. The package is pure: text goes in, text comes out; it opens no file and starts no process.
//
// A line above a function (declaration_options.go) fixes what it says, and a binding can be written as such a
// line (declaration_line.go).
//
// Order of work: ParseRequest (--add), cfacts.ReadCUDA or ReadPython, Bind (function_choose.go, params_*.go,
// dtypes_match.go, launch_*.go), then CUDAShim or PythonShim.
package kernelfile
