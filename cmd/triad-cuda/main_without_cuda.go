//go:build !cuda

// Command triad-cuda runs CUDA kernels on a GPU for triad. It is built with the tag cuda, the toolkit's
// headers and a library to link against: "make build" and "triad setup --gpu DIR" do it.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "triad-cuda was built without the tag cuda and can use no GPU: make build, or "+
		"triad setup --gpu DIR, builds it")
	os.Exit(1)
}
