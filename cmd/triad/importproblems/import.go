// Package importproblems is the verb import: it makes operators of published problems.
package importproblems

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"triad/cmd/triad/flags"
	"triad/internal/console"
	"triad/internal/describer"
	"triad/internal/harmless"
	"triad/internal/machine"
	"triad/internal/problem"
	"triad/internal/record"
	"triad/internal/session"
	"triad/pybridge"
)

// Options holds the flags of import.
type Options struct {
	machine.EnvironmentFlags
	into      string
	list      bool
	audit     bool
	limit     int64
	json      bool
	noSandbox bool
}

// verb is import with what it needs of this machine.
type verb struct{ *machine.Workers }

// New returns the command triad import; run replaces what it does with the problems that it found, nil: it
// lists, audits or imports them.
func New(w *machine.Workers, run func(context.Context, []problem.Problem, *Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = (&verb{w}).run
	}
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
  triad import --list KernelBench
  triad import --audit KernelBench/KernelBench/level1`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, path := "", args[0]
			if len(args) == 2 {
				format, path = args[0], args[1]
			}
			if len(args) == 1 && problem.IsFormat(path) {
				return console.Usage("import %s: name the file or folder of the problems", path)
			}
			if err := o.check(path, cmd.Flags().Changed("limit")); err != nil {
				return err
			}
			found, err := problem.List(path, format)
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return session.Fail(session.ExitNothing, fmt.Errorf("import %s: there is no problem of a "+
					"format that triad imports: %s", path, strings.Join(problem.Formats(), ", ")))
			}
			return run(cmd.Context(), found, &o)
		},
	}
	flags.Environment(cmd, &o.EnvironmentFlags)
	cmd.Flags().StringVar(&o.into, "into", ".", "the folder that the operators' folders are made in")
	cmd.Flags().BoolVar(&o.list, "list", false, "list the problems, and import none")
	cmd.Flags().BoolVar(&o.audit, "audit", false,
		"print what each problem's own check is worth, and import none; the same command goes on "+
			"after a stop")
	cmd.Flags().Int64Var(&o.limit, "limit", 1<<20,
		"with --audit: cut a problem's own sizes until its tensors have at most so many elements together")
	cmd.Flags().BoolVar(&o.json, "json", false, "with --audit: one JSON object a line (docs/json.md)")
	cmd.Flags().BoolVar(&o.noSandbox, "no-sandbox", false,
		"trust the problems, and run their references without a sandbox")
	return cmd
}

// run lists, audits or imports problems, as the flags ask.
func (a *verb) run(ctx context.Context, found []problem.Problem, o *Options) error {
	if o.list {
		return a.listProblems(found)
	}
	processes, err := describer.On(ctx, a.Workers, o.EnvironmentFlags, o.noSandbox)
	if err != nil {
		return err
	}
	defer processes.Close()
	if o.audit {
		return a.auditProblems(found, o, processes.Describe)
	}
	return a.importProblems(found, o, processes.Describe)
}

// check refuses flags that do not go together.
func (o *Options) check(path string, limited bool) error {
	if !o.audit && (o.json || limited) || o.audit && o.list {
		return console.Usage("import %s: --limit and --json go with --audit, and --list goes without", path)
	}
	if o.limit < 1 {
		return console.Usage("import %s: --limit %d: want at least one element", path, o.limit)
	}
	return nil
}

// listProblems prints a line for each problem.
func (a *verb) listProblems(found []problem.Problem) error {
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, p := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\n", p.Operator, p.Format, harmless.Line(p.Path))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print the problems: %w", err)
	}
	return nil
}

// importProblems imports problems. One that cannot be imported does not stop the others.
func (a *verb) importProblems(found []problem.Problem, o *Options, describe problem.Describe) error {
	imported := 0
	err := problem.ImportAll(a.Stop, found, o.into, describe,
		func(p problem.Problem, became problem.Outcome) error {
			if u := (*problem.StartError)(nil); errors.As(became.Err, &u) {
				return session.ToolchainFailure(u.Unwrap())
			}
			if became.Err != nil && a.Stop.Err() == nil {
				fmt.Fprintf(a.Err, "triad: %s is not imported: %s.\n", harmless.Line(p.Path),
					harmless.Line(became.Err.Error()))
			}
			if became.Err != nil {
				return nil
			}
			imported++
			return a.printImported(became.Done)
		})
	switch {
	case a.Stop.Err() != nil:
		return session.Fail(session.ExitNothing, fmt.Errorf("stopped after %d of %d problems: the same "+
			"command goes on", imported, len(found)))
	case err != nil:
		return err
	case imported == 0:
		return session.Fail(session.ExitNothing, errors.New("nothing was imported"))
	case len(found) > 1:
		fmt.Fprintf(a.Out, "\n%d of %d problems are imported.\n", imported, len(found))
	}
	return nil
}

// auditProblems prints a row for each problem.
func (a *verb) auditProblems(found []problem.Problem, o *Options, describe problem.Describe) error {
	cache, err := a.CacheDir()
	if err != nil {
		return err
	}
	version, err := pybridge.ProblemVersion(a.Files, cache)
	if err != nil {
		return err
	}
	audit := problem.Audit{
		Describe: describe, Elements: o.limit, Version: version,
		Folder: filepath.Join(cache, "audit"),
	}
	table := problem.NewTable(a.Out, o.json, found)
	err = audit.All(a.Stop, found, table.Row)
	if u := (*problem.StartError)(nil); errors.As(err, &u) {
		return session.ToolchainFailure(u.Unwrap())
	}
	if a.Stop.Err() != nil {
		return session.Fail(session.ExitNothing, errors.New("stopped: the same command goes on"))
	}
	if err != nil {
		return err
	}
	judged, err := table.End()
	if err == nil && judged == 0 {
		err = session.Fail(session.ExitNothing, errors.New("no problem could be judged"))
	}
	return err
}

// printImported prints the outcome of an import. A stranger chose the names of files and the notes: each is
// one line.
func (a *verb) printImported(done *problem.Imported) error {
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
