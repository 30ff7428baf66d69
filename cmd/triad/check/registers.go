package check

import (
	"context"
	"errors"
	"fmt"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/check"
)

// addRegisters compiles the program with nvcc, if there is one, and adds what each kernel needs of a card. A
// program that nvcc rejects, or a machine without nvcc, is only a note: the counts stand by themselves.
func (a *verb) addRegisters(ctx context.Context, source program.Source, o *Options,
	found *check.Report,
) error {
	if _, err := program.OccupancyOn(o.arch, 32, 0, 0); err != nil {
		return console.Usage("check: --arch %s: %v", o.arch, program.ErrArchitecture)
	}
	nvcc, err := a.FindNVCC(ctx, workers.EnvironmentFlags{Look: true}, false)
	if err != nil {
		found.Notes = append(found.Notes, "Registers are not shown: there is no nvcc (triad setup --nvcc "+
			"fetches one).")
		return nil
	}
	facts, err := program.Registers(ctx, &build.GPUBuilder{
		Sources: a.Files, Compiler: nvcc, Architectures: []string{o.arch},
	}, source)
	var mistake *build.Error
	if errors.As(err, &mistake) {
		found.Notes = append(found.Notes, fmt.Sprintf("Registers are not shown: nvcc says %v.", mistake))
		return nil
	}
	if err != nil {
		return err
	}
	for i := range found.Counts {
		if c := &found.Counts[i]; c.Place == nil {
			check.AddNeeds(c, facts, o.arch)
		}
	}
	return nil
}
