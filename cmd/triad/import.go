package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/internal/confine"
	"triad/internal/harmless"
	"triad/internal/problem"
	"triad/internal/record"
	"triad/internal/session"
	"triad/internal/subprocess"
	"triad/internal/worker"
	"triad/pybridge"
)

// longestDescription limits the process that describes one problem.
const longestDescription = 90 * time.Second

// importOptions holds the flags of import.
type importOptions struct {
	workers.EnvironmentFlags
	into      string
	list      bool
	noSandbox bool
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import [FORMAT] PATH",
		Short: "make an operator of a published problem",
		Long: `import makes the folder of an operator of each published problem in PATH, a file or a folder:
its truth is the problem's reference, run in fp64 with a bound of the error of every operation, and it is
judged at the problem's sizes and at others. triad compare FOLDER --add FILE then judges a submission, called
as the format says.
FORMAT is one of: ` + strings.Join(problem.Formats(), ", ") + `. Without it, the file says what it is.

References run in a sandbox, since a stranger wrote them.`,
		Example: `  triad import kernelbench KernelBench/level1/19_ReLU.py
  triad compare ./kernelbench_level1_19_relu --add my_relu.py
  triad import --list KernelBench`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, path := "", args[0]
			if len(args) == 2 {
				format, path = args[0], args[1]
			}
			if len(args) == 1 && problem.IsFormat(path) {
				return console.Usage("import %s: name the file or folder of the problems", path)
			}
			found, err := problem.List(path, format)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return session.Fail(session.ExitNothing, fmt.Errorf("import %s: there is no problem of a "+
					"format that triad imports: %s", path, strings.Join(problem.Formats(), ", ")))
			}
			if o.list {
				return a.listProblems(found)
			}
			return a.importProblems(cmd.Context(), found, &o)
		},
	}
	o.Add(cmd)
	cmd.Flags().StringVar(&o.into, "into", ".", "the folder that the operators' folders are made in")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the problems, and import none")
	cmd.Flags().BoolVar(&o.noSandbox, "no-sandbox", false,
		"trust the problems, and run their references without a sandbox")
	return cmd
}

// listProblems prints a line for each problem.
func (a *app) listProblems(found []problem.Problem) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, p := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Operator, p.Format, harmless.Line(p.Path))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the problems: %w", err)
	}
	return nil
}

// importProblems imports problems one after the other. One that cannot be imported does not stop the others.
func (a *app) importProblems(ctx context.Context, found []problem.Problem, o *importOptions) error {
	describe, err := a.describer(ctx, o)
	if err != nil {
		return err
	}
	imported := 0
	for _, p := range found {
		if a.Stop.Err() != nil {
			return session.Fail(session.ExitNothing, fmt.Errorf("stopped after %d of %d problems: the same "+
				"command goes on", imported, len(found)))
		}
		done, err := problem.Import(ctx, p, o.into, describe)
		if u := (*toolchainError)(nil); errors.As(err, &u) {
			return u.error
		}
		if err != nil {
			fmt.Fprintf(a.Err, "triad: %s is not imported: %s.\n", harmless.Line(p.Path),
				harmless.Line(err.Error()))
			continue
		}
		imported++
		if err := a.tellImported(done); err != nil {
			return err
		}
	}
	if imported == 0 {
		return session.Fail(session.ExitNothing, errors.New("nothing was imported"))
	}
	if len(found) > 1 {
		fmt.Fprintf(a.Out, "\n%d of %d problems are imported.\n", imported, len(found))
	}
	return nil
}

// toolchainError is an error that every problem would meet.
type toolchainError struct{ error }

// describer returns what runs the process that describes a problem.
func (a *app) describer(ctx context.Context, o *importOptions) (problem.Describe, error) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.Environment(o.EnvironmentFlags, false)
	if err != nil {
		return nil, err
	}
	var confine confine.Confining
	if !o.noSandbox {
		if confine, err = a.Confine(ctx, nil, ""); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, p problem.Problem) ([]byte, error) {
		path, err := filepath.Abs(p.Path)
		if err != nil {
			return nil, err
		}
		adapter := &worker.Adapter{Command: pybridge.ProblemCommand(environment, cache, p.Format, path)}
		if confine != nil {
			confine(adapter, false, []string{path})
		}
		c, err := adapter.Command(ctx)
		if err != nil {
			return nil, &toolchainError{session.ToolchainFailure(err)}
		}
		text, err := subprocess.Run(ctx, subprocess.Command{
			Path: c.Path, Args: c.Args, Env: c.Env, Most: c.Most, Boxed: c.Boxed,
			Deadline: longestDescription, MostOutput: problem.MostDescription,
		})
		var failed *exec.ExitError
		var exceeded *subprocess.Exceeded
		switch {
		case errors.Is(err, subprocess.ErrDeadline):
			return nil, fmt.Errorf("running it took more than %v", longestDescription)
		case errors.As(err, &exceeded):
			return nil, fmt.Errorf("running it was stopped: %s", exceeded.Why)
		case errors.As(err, &failed):
			return nil, fmt.Errorf("the process that ran it ended with %v", failed.ProcessState)
		}
		return []byte(text), err
	}, nil
}

// tellImported prints what became of a problem. A stranger chose the names of files and what is said of them:
// each is one line.
func (a *app) tellImported(done *problem.Imported) error {
	folder := done.Folder
	if !filepath.IsAbs(folder) && !strings.HasPrefix(folder, "..") {
		folder = "." + string(filepath.Separator) + folder
	}
	path, shown := harmless.Line(done.Path), harmless.Line(folder)
	if done.Already {
		_, err := fmt.Fprintf(a.Out, "%s: %s is there already, of this file\n", path, shown)
		return err
	}
	fmt.Fprintf(a.Out, "%s: imported into %s\n", path, shown)
	for _, note := range done.Notes {
		fmt.Fprintf(a.Out, "  %s\n", harmless.Line(note))
	}
	_, err := fmt.Fprintf(a.Out, "  triad compare %s --add SUBMISSION.py judges a submission\n",
		harmless.Line(record.ShellQuote(folder)))
	return err
}
