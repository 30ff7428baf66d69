// Command triad runs one GPU operator through CUDA, Triton and PyTorch, judges every implementation against
// an fp64 truth and records the results.
package main

import (
	"os"
	"runtime/debug"

	"triad/internal/host"
)

func main() {
	host.CollectInTime(os.Getenv, debug.SetMemoryLimit)
	os.Exit(int(newApp(os.Stdin, os.Stdout, os.Stderr).execute(os.Args[1:])))
}
