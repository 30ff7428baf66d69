// Package program builds programs for triad check: a user's CUDA files with a main(), or a kernel file with a
// main() of ours. For the emulator every access is reported to it; a program is also built for a GPU, with a
// sanitizer of the compiler, for a debugger, or to observe what its main() launches.
//
// Packages build and rewrite do the work. This one knows which files and flags make a program, and which
// parts of CUDA the emulator lacks.
package program
