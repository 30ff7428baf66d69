//go:build cuda

// Command triad-cuda runs CUDA kernels on a GPU for triad, which starts it: requests over descriptor 3,
// tensors in the shared memory behind descriptor 4. It is the only binary that links the NVIDIA driver.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"

	"triad"
	"triad/cuda/build"
	"triad/cuda/cudevice"
	"triad/cuda/gpuworker"
	"triad/cuda/serve"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "triad-cuda: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	facts := flag.Bool("facts", false, "print which GPUs there are, as JSON")
	libraries := build.GPULibraries{Sources: triad.Files}
	flag.StringVar(&libraries.Cache, "cache", "", "folder of the libraries that are built")
	flag.StringVar(&libraries.Shipped, "kernels", "", "folder of the shipped libraries")
	flag.StringVar(&libraries.Environment, "environment", "", "a Python environment that may hold nvcc")
	watch := flag.String("under", "", "the tool of compute-sanitizer that it runs under")
	spec := flag.String("spec", "", "the spec of an operator that is not of the catalog")
	gpus := flag.Int("gpus", 1, "how many of the visible GPUs it may use: 2 for calls spread over two")
	flag.Parse()
	if *facts {
		return printFacts()
	}
	conn, memory := os.NewFile(3, "conn"), os.NewFile(4, "memory")
	if conn == nil || memory == nil || libraries.Cache == "" {
		return errors.New("triad starts it, with a socket, shared memory and --cache; --facts lists the GPUs")
	}
	runtime.LockOSThread() // the context is current on this thread alone
	device, err := cudevice.Open(&libraries, cudevice.Watch(*watch), *gpus)
	if err != nil {
		return err
	}
	return serve.Catalog(context.Background(), device, *spec, conn, memory)
}

func printFacts() error {
	all, err := cudevice.All()
	if err != nil {
		return err
	}
	f := gpuworker.Facts{
		CUDA: cudevice.Driver(), Release: cudevice.DriverRelease(),
		Sources: build.SourcesHash(triad.Files),
	}
	for _, g := range all {
		f.GPUs = append(f.GPUs, gpuworker.GPU(g))
	}
	return json.NewEncoder(os.Stdout).Encode(f)
}
