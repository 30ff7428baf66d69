// Package sass is the verb sass.
package sass

import (
	"context"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/internal/disassembly"
	"triad/internal/machine"
)

// New returns the command triad sass; run replaces what it does, nil: it disassembles.
func New(w *machine.Workers, run func(ctx context.Context, o *disassembly.Options) error) *cobra.Command {
	if run == nil {
		run = func(ctx context.Context, o *disassembly.Options) error { return disassembly.Run(ctx, w, o) }
	}
	var o disassembly.Options
	cmd := &cobra.Command{
		Use:   "sass OP/VARIANT",
		Short: "what nvcc made of a CUDA variant for Hopper, loop by loop; no GPU is needed",
		Long: `sass compiles an operator's kernels for sm_90a, disassembles those of one variant, and prints
a line for each kernel. Then it prints for every innermost loop its instructions by role (tensor, exp,
float, copy, barrier, address, branch, spill), and how many clocks one pass keeps each pipe of a
quarter of an SM busy for one warp, by the rates of the hardware. The loop cannot take less than the
largest. Where exponentials stand behind the wait for the products that they should run beside, or
products are added apart from their multiplication, it says so.

--dtype and --pass leave out the kernels whose names say another one.

It takes nvcc (triad setup --nvcc fetches one), and the disassembler of the toolkit or of Triton's wheel.`,
		Example: "  triad sass flash_attention/sm90_wgmma --dtype bf16 --pass forward\n" +
			"  triad sass fp8_gemm/sm90_wgmma",
		Args: arguments.One("one operator and variant, OP/VARIANT, e.g. fp8_gemm/sm90_wgmma"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Name = args[0]
			return run(cmd.Context(), &o)
		},
	}
	cmd.Flags().StringSliceVar(&o.DTypes, "dtype", nil, "only kernels of these dtypes, e.g. bf16")
	cmd.Flags().StringVar(&o.Pass, "pass", "both", "forward, backward or both")
	return cmd
}
