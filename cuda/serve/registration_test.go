package serve

import (
	"fmt"
	"io/fs"
	"regexp"
	"testing"

	"triad"
	"triad/cuda/cudatest"
	"triad/internal/need"
)

// TestEveryKernelFileRegisters loads every library: each variant declares its operator, pass, contract and
// outputs. The fast tier loads one of each family.
func TestEveryKernelFileRegisters(t *testing.T) {
	cudatest.NeedCompiler(t)
	device := NewEmulator(triad.Files, testCache)
	for _, kernel := range cudatest.KernelsBySize(t) {
		t.Run(kernel, func(t *testing.T) {
			cudatest.CoversLibrary(t, kernel)
			s := &server{device: device, specs: catalogSpec}
			_, all, err := s.open(t.Context(), kernel)
			if err != nil {
				t.Fatal(err)
			}
			spec, err := catalogSpec(kernel)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			for _, k := range all {
				for _, dtype := range k.DTypes {
					key := fmt.Sprintf("%s %s %s", k.Name, k.Pass, dtype)
					if seen[key] {
						t.Errorf("%s is registered twice", key)
					}
					seen[key] = true
					if !spec.Permits(dtype, k.Contract) {
						t.Errorf("%s declares the contract %s, which the spec does not permit",
							key, k.Contract)
					}
				}
			}
		})
	}
}

// TestHopperKernelsAreEmulated: the emulator has every variant for Hopper that a kernel file registers, so
// that compare judges it without a GPU. The fast tier checks one operator.
func TestHopperKernelsAreEmulated(t *testing.T) {
	registration := regexp.MustCompile(`TRIAD_KERNEL\((\w+), (sm90_\w+), (\w+),`)
	count := 0
	for _, operator := range cudatest.KernelsBySize(t) {
		text, err := fs.ReadFile(triad.Files, "cuda/kernels/"+operator+".cu")
		if err != nil {
			t.Fatal(err)
		}
		found := registration.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			continue
		}
		count += len(found)
		t.Run(operator, func(t *testing.T) {
			key := ""
			if operator == clusterOperator {
				key = "a variant for Hopper"
			}
			need.Covers(t, key, cudatest.KernelInputs(operator)...)
			cudatest.NeedCompiler(t)
			s := &server{device: NewEmulator(triad.Files, testCache), specs: catalogSpec}
			_, kernels, err := s.open(t.Context(), operator)
			if err != nil {
				t.Fatal(err)
			}
			emulated := map[string]bool{}
			for _, k := range kernels {
				emulated[fmt.Sprintf("%s %s", k.Name, k.Pass)] = true
			}
			for _, m := range found {
				if name := "cuda/" + m[2] + " " + m[3]; !emulated[name] {
					t.Errorf("%s: %s is not in the emulator", operator, name)
				}
			}
		})
	}
	if count < 7 {
		t.Errorf("%d registrations for Hopper were found", count)
	}
}
