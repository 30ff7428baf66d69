// Package shim writes the code that calls a function of a user's file: CUDAShim in C++, PythonShim in Python.
// Words returns what a CUDA shim is given for one call, so one library serves every interpretation.
package shim
