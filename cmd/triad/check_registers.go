package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/cuda"
	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/sass"
)

// addRegisters compiles the program with nvcc, if there is one, and adds what each kernel needs of a card. A
// program that nvcc rejects, or a machine without nvcc, is only a note: the counts stand by themselves.
func (a *app) addRegisters(ctx context.Context, source cuda.ProgramSource, o *checkOptions,
	found *check.Report,
) error {
	if _, err := cuda.OccupancyOn(o.arch, 32, 0, 0); err != nil {
		return console.Usage("check: --arch %s: %v", o.arch, cuda.ErrArchitecture)
	}
	nvcc, err := a.FindNVCC(ctx, workers.EnvironmentFlags{Look: true}, false)
	if err != nil {
		found.Notes = append(found.Notes, "Registers are not shown: there is no nvcc (triad setup --nvcc "+
			"fetches one).")
		return nil
	}
	facts, err := (&cuda.GPUBuilder{
		Sources: a.Files, Compiler: nvcc, Architectures: []string{o.arch},
	}).Registers(ctx, source)
	var mistake *cuda.BuildError
	if errors.As(err, &mistake) {
		found.Notes = append(found.Notes, fmt.Sprintf("Registers are not shown: nvcc says %v.", mistake))
		return nil
	}
	if err != nil {
		return err
	}
	for i := range found.Counts {
		if c := &found.Counts[i]; c.Place == nil {
			addNeeds(c, facts, o.arch)
		}
	}
	return nil
}

// addNeeds adds the needs of the instantiation of a kernel with the most registers.
func addNeeds(c *check.Counts, facts []backend.KernelFact, arch string) {
	name, _, _ := strings.Cut(c.Kernel, "<")
	name = strings.Trim(name[strings.LastIndexByte(name, ':')+1:], "()& ")
	for _, f := range facts {
		if sass.FunctionOf(f.Kernel) != name || f.Registers <= c.Registers {
			continue
		}
		fill, err := cuda.OccupancyOn(arch, int(c.Threads), f.Registers, int(c.SharedBytes))
		if err != nil {
			continue // a launch without threads
		}
		c.Arch, c.Registers, c.SpillBytes = arch, f.Registers, f.SpillBytes
		c.Warps, c.WarpsOf, c.WarpsLimit = fill.Warps, fill.Of, fill.Limit
	}
}
