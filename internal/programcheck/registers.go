package programcheck

import (
	"context"
	"errors"
	"fmt"

	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/machine"
)

// addRegisters compiles the program with nvcc, if there is one, and adds what each kernel needs of a card. A
// program that nvcc rejects, or a machine without nvcc, is only a note: the counts stand by themselves.
func (a *checker) addRegisters(ctx context.Context, source program.Source, o *Options,
	found *check.Report,
) error {
	if _, err := program.OccupancyOn(o.Arch, 32, 0, 0); err != nil {
		return console.Usage("check: --arch %s: %v", o.Arch, program.ErrArchitecture)
	}
	nvcc, err := a.FindNVCC(ctx, machine.EnvironmentFlags{Look: true}, false)
	if err != nil {
		found.Notes = append(found.Notes, "Registers are not shown: there is no nvcc (triad setup --nvcc "+
			"fetches one).")
		return nil
	}
	facts, err := program.Registers(ctx, &build.GPUBuilder{
		Sources: a.Files, Compiler: nvcc, Architectures: []string{o.Arch},
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
			check.AddNeeds(c, facts, o.Arch)
		}
	}
	return nil
}
