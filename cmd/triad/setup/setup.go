// Package setup is the verb setup.
package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/session"
	"triad/pybridge"
)

// Options holds the flags of setup.
type Options struct {
	machine.EnvironmentFlags
	remove, nvcc, peers, cutile bool
	gpu, wheels                 string // folders, "" for none
	kernels                     []string
}

// verb runs triad setup.
type verb struct{ *machine.Workers }

// New returns the command triad setup; run replaces what it does, nil: it makes the environment.
func New(w *machine.Workers, run func(context.Context, *Options) error) *cobra.Command {
	if run == nil {
		run = (&verb{w}).setUp
	}
	var o Options
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "prepare the Python environment now, or remove it",
		Long: `setup makes the private Python environment with torch and Triton that compare makes on first
use, unless an interpreter that fits is found: TRIAD_PYTHON, the active environment, or python3.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), &o) },
	}
	flags.Environment(cmd, &o.EnvironmentFlags)
	cmd.Flags().BoolVar(&o.nvcc, "nvcc", false,
		"fetch NVIDIA's CUDA compiler as well: for a GPU, and for the tests")
	cmd.Flags().BoolVar(&o.peers, "peers", false, "install Liger-Kernel, quack-kernels, flash-attn-4, "+
		"torchao and fla-core as well, next to the interpreter: rows to compare with on a GPU")
	cmd.Flags().BoolVar(&o.cutile, "cutile", false, "install cuTile, NVIDIA's tile language, and its "+
		"compiler as well: the rows cutile/... on a GPU, with a driver of 580 or newer")
	cmd.Flags().StringVar(&o.wheels, "wheels", "", "take the peers, with --cutile alone cuTile, from this "+
		"folder of wheels, without a network (pip download --no-deps -r requirements-peers.txt -d FOLDER)")
	cmd.Flags().StringVar(&o.gpu, "gpu", "", "build what a GPU machine without Go and nvcc needs besides "+
		"triad into this folder: "+gpuworker.Binary+" and the kernel libraries")
	cmd.Flags().StringSliceVar(&o.kernels, "kernels", nil, "with --gpu, the kernel libraries of these "+
		"operators alone")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "delete the private Python environments")
	return cmd
}

// check rejects combinations of flags, and unknown operators.
func (o *Options) check() error {
	if o.remove && (o.nvcc || o.gpu != "") || o.nvcc && o.gpu != "" {
		return console.Usage(
			"--remove, --nvcc and --gpu exclude each other: --gpu takes an nvcc that is there, or " +
				"fetches one")
	}
	if len(o.kernels) > 0 && o.gpu == "" {
		return console.Usage("--kernels says which libraries --gpu FOLDER builds: name the folder")
	}
	for _, name := range o.kernels {
		if _, err := catalog.Get(name); err != nil {
			return err
		}
	}
	return nil
}

// setUp makes the environment, and what else the flags request, or removes it.
func (a *verb) setUp(ctx context.Context, o *Options) error {
	if err := o.check(); err != nil {
		return err
	}
	e, err := a.Environment(o.EnvironmentFlags, false)
	if err != nil {
		return err
	}
	if o.remove {
		freed, err := e.Remove(ctx)
		if err != nil {
			return session.Fail(session.ExitBad, err)
		}
		fmt.Fprintf(a.Out, "removed the private Python environments: %.1f GB freed\n", float64(freed)/1e9)
		return nil
	}
	if o.gpu != "" {
		// There is nothing to finish after Ctrl-C.
		return a.buildForGPU(a.Stop, o.EnvironmentFlags, o.gpu, o.kernels)
	}
	i, err := e.Ensure(ctx)
	var missing *backend.Unavailable
	switch {
	case errors.As(err, &missing):
		return session.Fail(session.ExitNothing, err)
	case err != nil:
		return session.Fail(session.ExitBad, err)
	}
	if i.Torch == "" || i.Triton == "" { // named by TRIAD_PYTHON: it is used as it is
		return session.Fail(session.ExitNothing, fmt.Errorf("%s at %s has not both torch and triton: "+
			"install them there, or unset TRIAD_PYTHON and run triad setup", i.Source, i.Path))
	}
	fmt.Fprintf(a.Out, "Python %s at %s (%s): torch %s, triton %s, numpy %s\n", i.Version, i.Path, i.Source,
		i.Torch, i.Triton, i.NumPy)
	if o.nvcc {
		path, err := e.NVCC(ctx, true)
		if err != nil {
			return session.Fail(session.ExitNothing, err)
		}
		fmt.Fprintf(a.Out, "nvcc at %s\n", path)
	}
	if err := a.addBeside(ctx, e, i, o); err != nil {
		return err
	}
	if i.Outside {
		fmt.Fprintln(a.Out,
			"its versions are outside the range that triad is tested with; results are recorded with them")
	}
	return nil
}

// addBeside installs what the flags ask for beside the interpreter.
func (a *verb) addBeside(ctx context.Context, e *pybridge.Environment, i pybridge.Interpreter,
	o *Options,
) error {
	if o.cutile {
		path, err := e.Cutile(ctx, i, o.wheels)
		if err != nil {
			return session.Fail(session.ExitNothing, err)
		}
		fmt.Fprintf(a.Out, "cuTile at %s\n", path)
	}
	if o.peers || o.wheels != "" && !o.cutile {
		path, err := e.Peers(ctx, i, o.wheels)
		if err != nil {
			return session.Fail(session.ExitNothing, err)
		}
		fmt.Fprintf(a.Out, "peers at %s\n", path)
	}
	return nil
}
