package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cuda"
	"triad/internal/backend"
	"triad/internal/opfolder"
	"triad/internal/sass"
	"triad/internal/session"
)

// hopperCode is the architecture whose code sass reads: the model of the pipes is Hopper's.
const hopperCode = "sm_90a"

func (a *app) sassCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "sass OP/VARIANT",
		Short: "what nvcc made of a CUDA variant for Hopper, loop by loop; no GPU is needed",
		Long: `sass compiles an operator's kernels for sm_90a, disassembles those of one variant, and prints
for every innermost loop its instructions by role (tensor, exp, float, copy, barrier, address, branch,
spill), and how many clocks one pass keeps each pipe of a quarter of an SM busy for one warp, by the
rates of the hardware. The largest is what the loop cannot go below. Where exponentials stand behind
the wait for the products that they should run beside, or products are added apart from their
multiplication, it says so.

It takes nvcc (triad setup --nvcc fetches one), and the disassembler of the toolkit or of Triton's wheel.`,
		Example: "  triad sass flash_attention/sm90_wgmma\n  triad sass fp8_gemm/sm90_wgmma",
		Args:    console.One("one operator and variant, OP/VARIANT, e.g. fp8_gemm/sm90_wgmma"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.sass(cmd.Context(), args[0]) },
	}
}

func (a *app) sass(ctx context.Context, name string) error {
	operator, variant, ok := strings.Cut(strings.Replace(name, "/cuda/", "/", 1), "/")
	if !ok || operator == "" || variant == "" {
		return console.Usage("sass: %q: want OP/VARIANT, e.g. fp8_gemm/sm90_wgmma", name)
	}
	if _, err := opfolder.Named(operator); err != nil {
		return err
	}
	f := environmentFlags{look: true}
	nvcc, err := a.findNVCC(ctx, f, false)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	tool, err := cuda.FindDisassembler(nvcc, a.pythonFolder(ctx, f))
	if err != nil {
		return session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	if err != nil {
		return err
	}
	library, err := (&cuda.GPUBuilder{
		Sources: a.Files, Cache: filepath.Join(cache, "cuda"), Compiler: nvcc,
		Architectures: cuda.ShippedArchitectures,
	}).Kernels(ctx, operator)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	facts := kernelsOf(library.Facts.Kernels, variant)
	if len(facts) == 0 {
		return console.Usage(
			"sass: no kernel of %s has %s in its name: there are %s",
			operator,
			strings.Join(idea(variant),
				" and "),
			strings.Join(functions(library.Facts.Kernels), ", "),
		)
	}
	var names []string
	for _, k := range facts {
		names = append(names, k.Kernel)
	}
	kernels, err := cuda.Disassemble(ctx, tool, library, hopperCode, names)
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
func (a *app) pythonFolder(ctx context.Context, f environmentFlags) string {
	e, err := a.environment(f, false)
	if err != nil {
		return ""
	}
	python, err := e.Find(ctx)
	if err != nil {
		return ""
	}
	return filepath.Dir(filepath.Dir(python.Path))
}

// idea returns the words of a variant's name that the names of its kernels contain: all but the architecture.
func idea(variant string) []string {
	return slices.DeleteFunc(
		strings.Split(variant, "_"),
		func(word string) bool { return strings.HasPrefix(word, "sm") },
	)
}

var identifier = regexp.MustCompile(`\d+([A-Za-z_]\w*)`)

// functionOf returns the name of a kernel in its file from the mangled one: the last name before the
// template's arguments.
func functionOf(mangled string) string {
	rest, name := strings.TrimPrefix(strings.TrimPrefix(mangled, "_Z"), "N"), mangled
	for {
		m := identifier.FindStringIndex(rest)
		if m == nil || m[0] != 0 {
			return name
		}
		var length int
		if _, err := fmt.Sscanf(rest, "%d", &length); err != nil {
			return name
		}
		rest = strings.TrimLeft(rest, "0123456789")
		if length > len(rest) {
			return name
		}
		name, rest = rest[:length], rest[length:]
	}
}

// kernelsOf returns the kernels whose function has all words of the variant's idea in its name.
func kernelsOf(all []backend.KernelFact, variant string) []backend.KernelFact {
	var mine []backend.KernelFact
	for _, k := range all {
		words := strings.Split(functionOf(k.Kernel), "_")
		if k.Arch == hopperCode && !slices.ContainsFunc(idea(variant),
			func(word string) bool { return !slices.Contains(words, word) }) {
			mine = append(mine, k)
		}
	}
	return mine
}

// functions returns the names of the kernels, each once, sorted.
func functions(all []backend.KernelFact) []string {
	var names []string
	for _, k := range all {
		if k.Arch == hopperCode {
			names = append(names, functionOf(k.Kernel))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
