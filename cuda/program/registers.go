package program

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/scratch"
)

// Registers compiles the files of a program for the first of b's architectures, and returns ptxas's figures
// for each kernel. A file that nvcc refuses gives a *build.Error.
func Registers(ctx context.Context, b *build.GPUBuilder, p Source) ([]backend.KernelFact, error) {
	file, err := filepath.Abs(p.File)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", p.File, err)
	}
	units, err := unitsOf(file)
	if err != nil {
		return nil, err
	}
	temporary, err := scratch.Make("registers")
	if err != nil {
		return nil, fmt.Errorf("make a folder for nvcc: %w", err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	flags := []string{"-O3", "-arch=" + b.Architectures[0], "-Xptxas", "-v", "-cubin"}
	for _, i := range p.Include {
		at, err := filepath.Abs(i)
		if err != nil {
			return nil, fmt.Errorf("resolve %s: %w", i, err)
		}
		flags = append(flags, "-I"+at)
	}
	flags = append(flags, p.macros()...)
	var all []backend.KernelFact
	for i, unit := range units {
		if !strings.HasSuffix(unit, ".cu") {
			continue
		}
		cubin := filepath.Join(folder, fmt.Sprintf("%d.cubin", i))
		log, err := b.Compile(ctx, folder, unit, append(flags[:len(flags):len(flags)], unit, "-o", cubin))
		if err != nil {
			return nil, err
		}
		all = append(all, build.PtxasFacts(log)...)
	}
	return all, nil
}

// multiprocessor holds the limits of a multiprocessor of one compute capability.
type multiprocessor struct {
	warps, blocks, sharedBytes int
}

// multiprocessors holds the limits by architecture, from the table of compute capabilities in NVIDIA's
// programming guide. All have 65,536 registers, allocated to a warp in units of 256.
var multiprocessors = map[string]multiprocessor{
	"sm_75": {32, 16, 64 << 10}, "sm_80": {64, 32, 164 << 10}, "sm_86": {48, 16, 100 << 10},
	"sm_87": {48, 16, 164 << 10}, "sm_89": {48, 24, 100 << 10}, "sm_90": {64, 32, 228 << 10},
	"sm_100": {64, 32, 228 << 10}, "sm_120": {48, 24, 100 << 10},
}

// ErrArchitecture is the error of an architecture whose multiprocessors are not known.
var ErrArchitecture = errors.New("want sm_75, sm_80, sm_86, sm_87, sm_89, sm_90, sm_100 or sm_120")

// Occupancy is the share of a multiprocessor that a kernel occupies.
type Occupancy struct {
	Warps, Of int    // resident, of at most
	Limit     string // what limits the blocks: "warps", "blocks", "registers" or "shared memory"
}

// OccupancyOn returns how many warps of a kernel one multiprocessor of an architecture holds at once, in
// blocks of so many threads with so much shared memory. A letter behind the architecture's number does not
// matter.
func OccupancyOn(arch string, threads, registers, sharedBytes int) (Occupancy, error) {
	m, known := multiprocessors[strings.TrimRight(arch, "af")]
	if !known || threads < 1 {
		return Occupancy{}, fmt.Errorf(
			"occupancy on %s in blocks of %d threads: %w",
			arch,
			threads,
			ErrArchitecture,
		)
	}
	warps := (threads + 31) / 32
	o := Occupancy{Of: m.warps, Limit: "warps"}
	blocks := m.warps / warps
	least := func(most int, limit string) {
		if most < blocks {
			blocks, o.Limit = most, limit
		}
	}
	least(m.blocks, "blocks")
	if registers > 0 {
		ofWarp := (registers*32 + 255) / 256 * 256
		least((65536/ofWarp)/4*4/warps, "registers") // warps come in fours, one a quarter
	}
	reserved := 0
	if arch != "sm_75" {
		reserved = 1 << 10 // of each block, the system's
	}
	if all := (sharedBytes + reserved + 127) / 128 * 128; all > 0 {
		least(m.sharedBytes/all, "shared memory")
	}
	o.Warps = blocks * warps
	return o, nil
}
