// Package check is the verb check.
package check

import (
	"context"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/programcheck"
)

// New returns the command triad check; run replaces what it does, nil: it checks.
func New(w *machine.Workers, run func(context.Context, *programcheck.Options) error) *cobra.Command {
	var o programcheck.Options
	if run == nil {
		run = func(ctx context.Context, o *programcheck.Options) error { return programcheck.Run(ctx, w, o) }
	}
	cmd := &cobra.Command{
		Use:   "check FILE.cu|FOLDER|OPERATOR [-- ARGUMENTS]",
		Short: "find the mistakes of a CUDA program that a GPU hides; no GPU is needed",
		Long: `check compiles an ordinary CUDA program, one with a main(), for the emulator, and runs it in
several schedule orders with every access of its kernels watched. It finds races with both lines,
accesses out of bounds, reads of memory that nobody wrote, barriers that not all threads reach,
deadlocks, misaligned accesses, host and device pointers mixed up, memory used before it was waited
for, launches that a GPU refuses, and leaks. Each finding says where, what it means, and how to
fix it.

The program gets what stands behind --, and check's standard input. Of a folder all .cu files are one
program. The function that launches the kernels of a file without a main() is called with sizes of
--size, or with several. An operator's name checks every CUDA kernel that triad has for it.`,
		Example: "  triad check reduce.cu\n" +
			"  triad check -I include -D N=1000 sort.cu -- 4096 < numbers.txt\n" +
			"  triad check solve.cu --size N=1000 --size M=20 --size A=N*M\n  triad check softmax",
		Args: func(cmd *cobra.Command, args []string) error {
			if n := cmd.ArgsLenAtDash(); len(args) == 0 || n == 0 || n < 0 && len(args) > 1 || n > 1 {
				return console.Usage("check: want one CUDA file, folder or operator; the program's own " +
					"arguments stand behind --")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.File, o.Args = args[0], args[1:]
			return run(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Include, "include", "I", nil, "a folder in which included files are looked for")
	f.StringArrayVarP(&o.Define, "define", "D", nil, "a macro, NAME or NAME=VALUE")
	f.StringVar(&o.Std, "std", "", "the language, c++17 where nothing is said, or a newer one, e.g. c++20")
	f.BoolVar(&o.Explain, "explain", false, "show for each line of a kernel its requests, with the sectors "+
		"or the wavefronts that they need, and where warps diverge")
	f.StringVar(&o.Arch, "arch", "sm_90", "of --explain: the card for which nvcc, if it is here, says "+
		"registers and spills")
	f.BoolVarP(&o.Verbose, "verbose", "v", false, "with --explain: every line, of many kernels too")
	f.BoolVar(&o.Debug, "debug", false, "start gdb on the program, with commands for kernels (help cuda)")
	f.StringSliceVar(&o.Sanitizers, "sanitize", nil, "run the program under these sanitizers of the "+
		"compiler too, which see mistakes of host code: address (with undefined behaviour), thread, or all")
	f.StringVar(&o.Device, "device", "cpu", "cpu: the emulator; gpu: build by nvcc and run under the four "+
		"tools of compute-sanitizer")
	f.StringVar(&o.SARIF, "sarif", "", "a file for the findings, as SARIF 2.1.0 for editors")
	f.BoolVar(&o.JSON, "json", false, "one JSON object; what the program prints goes to stderr")
	f.BoolVar(&o.Watch, "watch", false, "check again when the file, or one that it includes, is saved")
	f.StringArrayVar(&o.Sizes, "size", nil, "of a solve(): an int's value, NAME=NUMBER, or how many "+
		"elements a pointer has, NAME=PRODUCT of ints, e.g. N=1000, A=N*M")
	f.StringArrayVar(&o.Deadlines, "limit", nil, "a deadline, NAME=DURATION: run (of one run, 60s), stall "+
		"(of a launch in which nothing moves on, 10s), all (orders are left out after it, 60s)")
	return cmd
}
