package standing

import (
	"context"
	"fmt"
	"path/filepath"

	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/machine"
)

// architecture is that of the published times.
const architecture = "sm_90"

// needs lists the resources of a multiprocessor that each kernel of a file needs, if an nvcc is here that
// compiles the file.
func (p Place) needs(ctx context.Context, w *machine.Workers) []string {
	nvcc, err := w.FindNVCC(ctx, machine.EnvironmentFlags{Look: true}, false)
	if err != nil {
		return nil
	}
	facts, err := program.Registers(ctx, &build.GPUBuilder{
		Sources: w.Files, Compiler: nvcc, Architectures: []string{architecture},
	}, program.Source{File: p.file.Path, Include: []string{filepath.Dir(p.file.Path)}})
	if err != nil {
		return nil // nvcc takes other flags, or refuses what the emulator takes: the counts stand
	}
	var lines []string
	for _, c := range p.counts {
		if c.Place != nil {
			continue
		}
		if check.AddNeeds(&c, facts, architecture); c.Registers > 0 {
			lines = append(lines, fmt.Sprintf("  %s needs %d registers a thread, %d bytes are spilled; a "+
				"multiprocessor of %s holds %d of %d warps, limited by %s.", c.Kernel, c.Registers,
				c.SpillBytes, architecture, c.Warps, c.WarpsOf, c.WarpsLimit))
		}
	}
	return lines
}
