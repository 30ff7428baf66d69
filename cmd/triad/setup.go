package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/panics"
	"triad/internal/session"
	"triad/pybridge"
)

// environmentFlags holds the flags of every verb that may need Python.
type environmentFlags struct {
	yes, offline bool
	look         bool // only find what is here; make nothing, and say how it is made
}

func (f *environmentFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "make the private Python environment without asking")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "never fetch anything")
}

// environment returns the Python environment of this user.
func (a *app) environment(f environmentFlags, gpu bool) (*pybridge.Environment, error) {
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	return &pybridge.Environment{
		Files: a.Files, DataDir: data, Offline: f.offline, Look: f.look, GPU: gpu, Log: a.Screen,
		Getenv:  a.Getenv,
		Consent: a.consent(f.yes), Space: a.space, Interruptible: a.AtFirstInterrupt,
	}, nil
}

// consent asks on a terminal, until the first Ctrl-C. Elsewhere nobody can answer: it prints what will be
// done, and consents.
func (a *app) consent(yes bool) func(context.Context, string) bool {
	return func(ctx context.Context, question string) bool {
		if yes || !console.IsTerminal(a.In) {
			fmt.Fprint(a.Screen, question)
			return true
		}
		answer := a.Screen.Ask(question+"Go ahead? [Y/n] ", func() string {
			answered := make(chan string, 1)
			panics.Go(func() { // it goes on reading after Ctrl-C, but takes nothing that others read
				line, err := bufio.NewReader(a.In).ReadString('\n')
				if err != nil {
					line = "no"
				}
				answered <- line
			}, a.Broke)
			select {
			case line := <-answered:
				return line
			case <-ctx.Done():
				return "no"
			}
		})
		answer = strings.ToLower(strings.TrimSpace(answer))
		return answer == "" || answer == "y" || answer == "yes"
	}
}

// setupOptions holds the flags of setup.
type setupOptions struct {
	environmentFlags
	remove, nvcc, peers bool
	gpu, wheels         string // folders, "" for none
	kernels             []string
}

func (a *app) setupCommand() *cobra.Command {
	var o setupOptions
	cmd := &cobra.Command{
		Use:   "setup",
		Short: "prepare the Python environment now, or remove it",
		Long: `setup makes the private Python environment with torch and Triton that compare makes on first
use, unless an interpreter that fits is found: TRIAD_PYTHON, the active environment, or python3.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.setUp(cmd.Context(), &o) },
	}
	o.add(cmd)
	cmd.Flags().BoolVar(&o.nvcc, "nvcc", false,
		"fetch NVIDIA's CUDA compiler as well: for a GPU, and for the tests")
	cmd.Flags().BoolVar(&o.peers, "peers", false, "install Liger-Kernel, quack-kernels and flash-attn-4 as "+
		"well, beside the interpreter: rows to compare with on a GPU")
	cmd.Flags().StringVar(&o.wheels, "wheels", "", "take the peers from this folder of wheels, without a "+
		"network (pip download --no-deps -r requirements-peers.txt -d FOLDER)")
	cmd.Flags().StringVar(&o.gpu, "gpu", "", "build what a GPU machine without Go and nvcc needs beside "+
		"triad into this folder: "+gpuworker.Binary+" and the kernel libraries")
	cmd.Flags().StringSliceVar(&o.kernels, "kernels", nil, "with --gpu, the kernel libraries of these "+
		"operators alone")
	cmd.Flags().BoolVar(&o.remove, "remove", false, "delete the private Python environments")
	return cmd
}

// check rejects combinations of flags, and unknown operators.
func (o *setupOptions) check() error {
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
func (a *app) setUp(ctx context.Context, o *setupOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	e, err := a.environment(o.environmentFlags, false)
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
		return a.buildForGPU(a.Stop, o.environmentFlags, o.gpu, o.kernels)
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
	if o.peers || o.wheels != "" {
		path, err := e.Peers(ctx, i, o.wheels)
		if err != nil {
			return session.Fail(session.ExitNothing, err)
		}
		fmt.Fprintf(a.Out, "peers at %s\n", path)
	}
	if i.Outside {
		fmt.Fprintln(a.Out,
			"its versions are outside the range that triad is tested with; results are recorded with them")
	}
	return nil
}
