// Package sass is the verb sass.
package sass

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/opfolder"
	"triad/internal/sass"
	"triad/internal/session"
)

// verb runs triad sass.
type verb struct{ *machine.Workers }

// New returns the command triad sass; run replaces what it does, nil: it disassembles.
func New(w *machine.Workers, run func(ctx context.Context, name string) error) *cobra.Command {
	if run == nil {
		run = (&verb{w}).sass
	}
	return &cobra.Command{
		Use:   "sass OP/VARIANT",
		Short: "what nvcc made of a CUDA variant for Hopper, loop by loop; no GPU is needed",
		Long: `sass compiles an operator's kernels for sm_90a, disassembles those of one variant, and prints
for every innermost loop its instructions by role (tensor, exp, float, copy, barrier, address, branch,
spill), and how many clocks one pass keeps each pipe of a quarter of an SM busy for one warp, by the
rates of the hardware. The loop cannot take less than the largest. Where exponentials stand behind
the wait for the products that they should run beside, or products are added apart from their
multiplication, it says so.

It takes nvcc (triad setup --nvcc fetches one), and the disassembler of the toolkit or of Triton's wheel.`,
		Example: "  triad sass flash_attention/sm90_wgmma\n  triad sass fp8_gemm/sm90_wgmma",
		Args:    arguments.One("one operator and variant, OP/VARIANT, e.g. fp8_gemm/sm90_wgmma"),
		RunE:    func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), args[0]) },
	}
}

func (a *verb) sass(ctx context.Context, name string) error {
	operator, variant, ok := strings.Cut(strings.Replace(name, "/cuda/", "/", 1), "/")
	if !ok || operator == "" || variant == "" {
		return console.Usage("sass: %q: want OP/VARIANT, e.g. fp8_gemm/sm90_wgmma", name)
	}
	if _, err := opfolder.Named(operator); err != nil {
		return err
	}
	f := machine.EnvironmentFlags{Look: true}
	nvcc, err := a.FindNVCC(ctx, f, false)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	tool, err := build.FindDisassembler(nvcc, a.pythonFolder(ctx, f))
	if err != nil {
		return session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	if err != nil {
		return err
	}
	library, err := (&build.GPUBuilder{
		Sources: a.Files, Cache: filepath.Join(cache, "cuda"), Compiler: nvcc,
		Architectures: build.ShippedArchitectures,
	}).Kernels(ctx, operator)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	facts := sass.KernelsOf(library.Facts.Kernels, variant)
	if len(facts) == 0 {
		return console.Usage(
			"sass: no kernel of %s has %s in its name: there are %s",
			operator,
			strings.Join(sass.Idea(variant),
				" and "),
			strings.Join(sass.Functions(library.Facts.Kernels), ", "),
		)
	}
	var names []string
	for _, k := range facts {
		names = append(names, k.Kernel)
	}
	kernels, err := build.Disassemble(ctx, tool, library, sass.HopperCode, names)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	for _, k := range kernels {
		i := slices.IndexFunc(facts, func(f backend.KernelFact) bool { return f.Kernel == k.Name })
		if i < 0 {
			continue
		}
		if err := sass.Write(a.Out, k, sass.Facts{
			Registers: facts[i].Registers, SpillBytes: facts[i].SpillBytes,
		}); err != nil {
			return err
		}
	}
	return nil
}

// pythonFolder returns the existing Python environment, "" for none: its Triton brings a disassembler.
func (a *verb) pythonFolder(ctx context.Context, f machine.EnvironmentFlags) string {
	e, err := a.Environment(f, false)
	if err != nil {
		return ""
	}
	python, err := e.Find(ctx)
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(python.Path))
}
