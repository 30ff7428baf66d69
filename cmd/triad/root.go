package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cmd/triad/arguments"
	"triad/cmd/triad/bench"
	"triad/cmd/triad/check"
	"triad/cmd/triad/compare"
	"triad/cmd/triad/completion"
	"triad/cmd/triad/diary"
	"triad/cmd/triad/doctor"
	"triad/cmd/triad/flags"
	"triad/cmd/triad/gradcheck"
	"triad/cmd/triad/importproblems"
	"triad/cmd/triad/judge"
	"triad/cmd/triad/learn"
	"triad/cmd/triad/newop"
	"triad/cmd/triad/ops"
	"triad/cmd/triad/part"
	"triad/cmd/triad/results"
	"triad/cmd/triad/sass"
	"triad/cmd/triad/serve"
	"triad/cmd/triad/setup"
	"triad/cmd/triad/version"
	"triad/cmd/triad/watch"
	"triad/cmd/triad/worker"
	"triad/internal/console"
	"triad/internal/look"
	"triad/internal/machine"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/runsetup"
	"triad/internal/session"
)

// app is triad with its verbs.
type app struct{ *runsetup.Setup }

// newApp returns triad as users run it.
func newApp(in io.Reader, out, errOut io.Writer) *app {
	return &app{runsetup.New(machine.New(console.New(in, out, errOut)))}
}

// execute runs one command line and returns its exit code.
func (a *app) execute(args []string) session.ExitCode {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.Halt = cancel
	defer a.Parent.Close()
	defer a.Flush()
	stop, cancelStop := context.WithCancel(ctx)
	defer cancelStop()
	a.Stop = stop
	a.AtOnce.Store(0)
	defer a.catchInterrupts(cancelStop, cancel)()

	root, begun := a.root(), false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		if db := cmd.Flags().Lookup("db"); db != nil && db.Value.String() != "" {
			a.InDatabase = " --db " + record.ShellQuote(db.Value.String())
		}
		return namedDatabase(cmd)
	}
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	code, err := session.Command(a.Guarded(func() error { return root.ExecuteContext(ctx) }), begun,
		ctx.Err() != nil)
	if e := panics.In(err); e != nil {
		a.PrintInternal(e)
	} else if err != nil && err.Error() != "" {
		fmt.Fprintf(a.Err, "triad: %v\n", err)
		if code == session.ExitUsage && strings.HasPrefix(err.Error(), "unknown ") &&
			!strings.Contains(err.Error(), "\n") {
			fmt.Fprintln(a.Err, "Run 'triad --help' for the verbs, 'triad VERB --help' for the flags of one.")
		}
	}
	return code
}

// namedDatabase rejects an empty --db, as of an unset variable: it would mean the user's own database.
func namedDatabase(cmd *cobra.Command) error {
	if db := cmd.Flags().Lookup("db"); db != nil && db.Changed && db.Value.String() == "" {
		return console.Usage("--db is empty: name a file, or leave the flag out")
	}
	return nil
}

func (a *app) root() *cobra.Command {
	var printVersion bool
	compared := compare.New(a.Setup)
	looks := look.New(a.Setup)
	root := &cobra.Command{
		Use:   "triad [FILE|FOLDER]...",
		Short: "know whether a GPU kernel is right",
		Long: `With triad one GPU operator runs through hand-written CUDA, Triton and PyTorch; every
implementation is judged against an fp64 truth, and everything is recorded in SQLite. Where there is no
GPU the CUDA kernels run in an emulator that is a stricter judge than a GPU, and Triton runs in its
interpreter.

  triad day3/                           what is wrong with each kernel in a file or a folder
  triad compare softmax                 every implementation of softmax, judged and recorded
  triad compare softmax --add mine.cu   is my kernel right? judged next to ours, by the same rules
  triad ops list                        which operators there are
  triad results list                    what was recorded
  triad doctor                          what was found on this machine, what is missing, how to get it`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if printVersion || len(args) == 0 && looks.Verbose {
				return version.Print(cmd.Context(), a.Out)
			}
			if slices.ContainsFunc(args, look.Names) {
				return looks.At(cmd.Context(), args)
			}
			if len(args) > 0 {
				return arguments.UnknownVerb(cmd, args[0])
			}
			if looks.Once || looks.Page || cmd.Flags().Changed("db") {
				return console.Usage("--once, --page and --db are flags of files: name a file or a folder")
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&printVersion, "version", false, "print the version")
	flags.Look(root, &looks.Options)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return console.Usage("%s: %w (%s --help lists the flags)", cmd.Name(), err, cmd.CommandPath())
	})
	root.AddCommand(version.New(a.Console), worker.Command(a.Console), setup.New(a.Workers, nil),
		doctor.New(a.Workers, nil),
		compared.Command(nil), check.New(a.Workers, nil), gradcheck.New(a.Setup, compared.Judge),
		watch.New(a.Setup, compared.Judge),
		newop.New(a.Console, nil), importproblems.New(a.Workers, nil), part.New(a.Setup, a.root),
		bench.New(a.Setup, compared.PrintCompare, nil),
		ops.New(a.Console, a.Declarations), results.New(a.Console), sass.New(a.Workers, nil),
		serve.New(a.Console, nil), judge.New(a.Setup, nil),
		learn.New(learn.Environment{Out: a.Out, Style: a.Style, Open: a.ReadStore}),
		diary.New(diary.Environment{Out: a.Out, Style: a.Style, Open: a.ReadStore}))
	flags.SetHelp(a.Console, root)
	groupVerbs(root)
	completion.Add(root, a.Console)
	return root
}

// groupVerbs puts the verbs under headings.
func groupVerbs(root *cobra.Command) {
	for _, g := range []struct{ title, verbs string }{
		{"Is it right, and how fast?", "compare gradcheck check watch bench sass"},
		{"What was recorded:", "results serve diary"},
		{"Operators and exercises:", "ops new import judge learn"},
		{"This machine:", "doctor setup version completion help"},
	} {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title})
		for verb := range strings.FieldsSeq(g.verbs) {
			switch cmd, _, err := root.Find([]string{verb}); {
			case verb == "help":
				root.SetHelpCommandGroupID(g.title)
			case verb == "completion":
				root.SetCompletionCommandGroupID(g.title)
			case err == nil:
				cmd.GroupID = g.title
			}
		}
	}
}
