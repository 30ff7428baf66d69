// Package disassembly carries out triad sass: it compiles an operator's kernels for Hopper, disassembles
// those of one variant, and prints what package sass reads in them.
package disassembly

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/sass"
	"triad/internal/session"
)

// Options selects the kernels to disassemble.
type Options struct {
	Name   string   // OP/VARIANT
	DTypes []string // of kernels that name one; none: all
	Pass   string   // forward, backward, or both
}

// Run prints the kernels of a variant.
func Run(ctx context.Context, w *machine.Workers, o *Options) error {
	operator, variant, ok := strings.Cut(strings.Replace(o.Name, "/cuda/", "/", 1), "/")
	if !ok || operator == "" || variant == "" {
		return console.Usage("sass: %q: want OP/VARIANT, e.g. fp8_gemm/sm90_wgmma", o.Name)
	}
	if _, err := opfolder.Named(operator); err != nil {
		return err
	}
	wanted := sass.Wanted{Variant: variant, Pass: o.Pass}
	for _, typed := range o.DTypes {
		wanted.DTypes = append(wanted.DTypes, op.DTypeNamed(typed))
	}
	if !slices.Contains([]string{"forward", "backward", "both"}, o.Pass) {
		return console.Usage("--pass %q: want forward, backward or both", o.Pass)
	}
	f := machine.EnvironmentFlags{Look: true}
	nvcc, err := w.FindNVCC(ctx, f, false)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	tool, err := build.FindDisassembler(nvcc, pythonFolder(ctx, w, f))
	if err != nil {
		return session.ToolchainFailure(err)
	}
	cache, err := w.CacheDir()
	if err != nil {
		return err
	}
	library, err := (&build.GPUBuilder{
		Sources: w.Files, Cache: filepath.Join(cache, "cuda"), Compiler: nvcc,
		Architectures: build.ShippedArchitectures,
	}).Kernels(ctx, operator)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	chosen, err := wanted.Choose(library.Facts.Kernels)
	if err != nil {
		return console.Usage("sass: %s: %w", operator, err)
	}
	var names []string
	for _, k := range chosen {
		names = append(names, k.Kernel)
	}
	kernels, err := build.Disassemble(ctx, tool, library, sass.HopperCode, names)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	return sass.Write(w.Out, listed(kernels, chosen))
}

// listed joins the code of kernels with ptxas's figures.
func listed(kernels []sass.Kernel, facts []backend.KernelFact) []sass.Listed {
	var all []sass.Listed
	for _, k := range kernels {
		i := slices.IndexFunc(facts, func(f backend.KernelFact) bool { return f.Kernel == k.Name })
		if i >= 0 {
			all = append(all, sass.Listed{
				Kernel: k, Registers: facts[i].Registers, SpillBytes: facts[i].SpillBytes,
			})
		}
	}
	return all
}

// pythonFolder returns the existing Python environment, "" for none: its Triton brings a disassembler.
func pythonFolder(ctx context.Context, w *machine.Workers, f machine.EnvironmentFlags) string {
	e, err := w.Environment(f, false)
	if err != nil {
		return ""
	}
	python, err := e.Find(ctx)
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(python.Path))
}
