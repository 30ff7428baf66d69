package cuda

import (
	"slices"
	"testing"

	"triad/cuda/build"
	"triad/cuda/cudatest"
	"triad/internal/need"
	"triad/internal/sass"
)

// eachHopperLoop calls check with every innermost loop for sm_90a of an operator that registers a variant for
// Hopper.
func eachHopperLoop(t *testing.T, operator string, check func(kernel sass.Kernel, loop sass.Loop)) {
	t.Helper()
	nvcc := cudatest.NeedNVCC(t)
	tool, err := build.FindDisassembler(nvcc, "")
	for _, python := range need.PythonFolders(t) {
		if err != nil {
			tool, err = build.FindDisassembler(nvcc, python)
		}
	}
	if err != nil {
		need.MissingSetUp(t, err)
	}
	library, err := cudatest.GPUBuilder(nvcc).Kernels(t.Context(), operator)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range library.Facts.Kernels {
		if k.Arch == "sm_90a" {
			names = append(names, k.Kernel)
		}
	}
	kernels, err := build.Disassemble(t.Context(), tool, library, "sm_90a", names)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kernels {
		for _, l := range k.Loops() {
			check(k, l)
		}
	}
}

// TestHopperLoops: in kernels that the copy engine feeds, ptxas has not moved exponentials behind the wait
// for the product that should overlap them; scale factors of 8-bit products are multiplied and added by one
// FFMA; and no loop with products waits for memory. The fast tier reads one operator.
func TestHopperLoops(t *testing.T) {
	for _, operator := range cudatest.KernelNames(t) {
		if !cudatest.Registers(t, operator, cudatest.ForHopper) {
			continue
		}
		t.Run(operator, func(t *testing.T) {
			need.Covers(t, cudatest.HopperKey(t, operator), cudatest.GPUInputs(operator)...)
			t.Parallel()
			readsHopperLoops(t, operator)
		})
	}
}

// loopsWanted is the number of loops that must overlap exponentials with products, and of loops with 8-bit
// products: with fewer, the test does not read what it means to.
type loopsWanted struct{ exponentials, scaled int }

// hopperLoops holds the wanted loops by operator. The operator's own test file enters them.
var hopperLoops = map[string]loopsWanted{}

func readsHopperLoops(t *testing.T, operator string) {
	exponentials, scaled, products := 0, 0, 0
	eachHopperLoop(t, operator, func(k sass.Kernel, l sass.Loop) {
		if beside, behind := l.ExponentialsBehindWait(); beside+behind > 0 && k.Has("UTMALDG") {
			exponentials++
			if behind > 0 {
				t.Errorf("%s, %s, loop 0x%x: %d of %d exponentials stand behind the wait for all products",
					operator, k.Name, l.First, behind, beside+behind)
			}
		}
		if l.Has("HGMMA") || l.Has("QGMMA") || l.Has("IGMMA") {
			products++
			if waitsForMemory(l) {
				t.Errorf("%s, %s, loop 0x%x: products and a wait for memory (MEMBAR)", operator, k.Name,
					l.First)
			}
		}
		if l.Has("QGMMA") {
			scaled++
			if apart := l.ProductsAddedApart(); apart > 0 {
				t.Errorf(
					"%s, %s, loop 0x%x: %d products are multiplied and added apart",
					operator,
					k.Name,
					l.First,
					apart,
				)
			}
		}
	})
	if products == 0 {
		t.Error("no loop has products")
	}
	if want := hopperLoops[operator]; exponentials < want.exponentials || scaled < want.scaled {
		t.Errorf("%d loops with exponentials beside products and %d with 8-bit products, want %d and %d "+
			"or more", exponentials, scaled, want.exponentials, want.scaled)
	}
}

// waitsForMemory reports whether a pass of the loop waits until its writes are visible to the whole GPU. A
// fence of the block alone, as before products of values that threads stored, does not count.
func waitsForMemory(l sass.Loop) bool {
	return slices.ContainsFunc(l.Instructions, func(in sass.Instruction) bool {
		return in.Opcode == "MEMBAR.ALL.GPU" || in.Opcode == "MEMBAR.SC.GPU"
	})
}

func TestWaitsForMemory(t *testing.T) {
	t.Parallel()
	for opcode, want := range map[string]bool{
		"MEMBAR.ALL.GPU": true, "MEMBAR.SC.GPU": true, "MEMBAR.ALL.CTA": false, "SYNCS.ARRIVE.TRANS64": false,
	} {
		loop := sass.Loop{Instructions: []sass.Instruction{{Opcode: "HGMMA.64x256x16.F32"}, {Opcode: opcode}}}
		if got := waitsForMemory(loop); got != want {
			t.Errorf("%s: %v, want %v", opcode, got, want)
		}
	}
}
