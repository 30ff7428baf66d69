// Package build compiles kernel files into libraries and keeps them in a cache. nvcc compiles a .cu for a
// GPU; after package rewrite, a plain C++ compiler compiles the same .cu for the emulator in cuda/emulator.
//
// What a kernel library exports is cuda/abi.h. Sources come as an fs.FS, laid out as in the repository; a
// user's file comes from disk, with what it includes.
//
//	sources.go               a kernel file with all that it includes
//	spec_header.go           the header that an operator's spec becomes
//	flags.go                 flags that a kernel file asks for
//	build.go                 libraries for the emulator, by g++ or clang++
//	asynchronous_variants.go a file with asynchronous variants becomes two libraries
//	precompiled_header.go    the headers of users' files, compiled once
//	executable.go            programs, for package program
//	nvcc.go                  libraries for a GPU
//	shipped.go               libraries for a GPU that were built in advance
//	cache.go                 the cache of all these
//	library_file.go          a library that a worker in a sandbox passes to the driver
//	compiler.go              compilers, and the errors that they print
package build
