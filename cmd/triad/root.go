package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"triad"
	"triad/cmd/triad/diary"
	"triad/cmd/triad/learn"
	"triad/internal/backend"
	"triad/internal/harmless"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/worker"
	"triad/pybridge"
)

// usage returns an error of the command line.
func usage(format string, a ...any) error { return session.UsageError(format, a...) }

// app holds what every verb needs: streams, embedded files, folders.
type app struct {
	in       io.Reader
	out, err io.Writer
	files    fs.FS
	getenv   func(string) string
	lookup   func(string) (string, bool)      // tells an empty variable from an unset one
	passed   []string                         // environment variables that workers get besides the usual ones
	space    func(dir string) (uint64, error) // the free bytes of a file system; nil: asked of the system
	// driverHere reports whether an NVIDIA driver is installed, beside returns the folder of triad's own
	// binary.
	driverHere func() bool
	beside     func() string
	telemetry  func(pci, visible string) card
	// rest waits between timed calls; nil: real time passes
	rest    func(ctx context.Context, d time.Duration)
	reserve *worker.Reserve  // of a watch; nil elsewhere
	parent  *pybridge.Parent // forks the workers of added Python files
	pending *worker.Pending  // Ctrl-C prints them
	// around replaces the backends of a run in tests; nil: they are unchanged.
	around func([]backend.Backend) []backend.Backend
	fault  *fault
	// Of a part of a run on other machines or GPUs, else empty: the session that it records under, a function
	// that gets the results, the folder with the files of the driver's machine, and a function that takes a
	// case of the plan for the part
	partOf    string
	partRan   func(run.Result)
	partRoot  string
	partClaim func(key string) (bool, error)
	halt      func() // cancels ctx
	// stop is cancelled by the first interrupt: finish the current case. ctx is cancelled by the second.
	stop  context.Context
	began time.Time

	atOnce *atomic.Bool // the verb ends at the first interrupt: it has nothing to finish
	// inDatabase is the end of printed commands that read what was recorded: " --db FILE" if a flag names it
	inDatabase string
	screen     *session.Screen // draws progress and asks questions on err
}

// newApp returns triad as users run it.
func newApp(in io.Reader, out, errOut io.Writer) *app {
	return &app{
		fault: &fault{}, halt: func() {}, pending: &worker.Pending{}, began: time.Now(), in: in,
		out:   harmless.NewWriter(out, isTerminal(out)),
		err:   harmless.NewWriter(errOut, isTerminal(errOut)),
		files: triad.Files, getenv: os.Getenv, lookup: os.LookupEnv,
		parent: &pybridge.Parent{}, driverHere: nvidiaDriver, beside: ownFolder, telemetry: nvml,
		screen: session.NewScreen(errOut, isTerminal(errOut)), stop: context.Background(),
		atOnce: &atomic.Bool{},
	}
}

// execute runs one command line and returns its exit code.
func (a *app) execute(args []string) session.ExitCode {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.halt = cancel
	defer a.parent.Close()
	defer a.flush()
	stop, cancelStop := context.WithCancel(ctx)
	defer cancelStop()
	a.stop = stop
	a.atOnce.Store(false)
	defer a.catchInterrupts(cancelStop, cancel)()

	root, begun := a.root(), false
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		begun = true
		if db := cmd.Flags().Lookup("db"); db != nil && db.Value.String() != "" {
			a.inDatabase = " --db " + record.ShellQuote(db.Value.String())
		}
		return namedDatabase(cmd)
	}
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	code, err := session.Command(a.guarded(func() error { return root.ExecuteContext(ctx) }), begun,
		ctx.Err() != nil)
	if e := panics.In(err); e != nil {
		a.tellInternal(e)
	} else if err != nil && err.Error() != "" {
		fmt.Fprintf(a.err, "triad: %v\n", err)
		if code == session.ExitUsage && strings.HasPrefix(err.Error(), "unknown ") &&
			!strings.Contains(err.Error(), "\n") {
			fmt.Fprintln(a.err, "Run 'triad --help' for the verbs, 'triad VERB --help' for the flags of one.")
		}
	}
	return code
}

// namedDatabase rejects an empty --db, as of an unset variable: it would mean the user's own database.
func namedDatabase(cmd *cobra.Command) error {
	if db := cmd.Flags().Lookup("db"); db != nil && db.Changed && db.Value.String() == "" {
		return usage("--db is empty: name a file, or leave the flag out")
	}
	return nil
}

// flush writes what a stream still holds of an incomplete text.
func (a *app) flush() {
	for _, stream := range []io.Writer{a.out, a.err} {
		if w, ok := stream.(*harmless.Writer); ok {
			_ = w.Flush() // the reader may be gone
		}
	}
}

// catchInterrupts makes the first Ctrl-C finish the current case and the second stop at once.
func (a *app) catchInterrupts(first, second func()) (undo func()) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	done := make(chan struct{})
	panics.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-signals:
				if n == 0 {
					waited := a.pending.String()
					if waited != "" {
						waited = " (" + waited + ")"
					}
					if a.atOnce.Load() {
						fmt.Fprintln(a.screen, "triad: stopping")
					} else {
						fmt.Fprintf(a.screen,
							"triad: finishing what is running%s; interrupt again to stop at once\n", waited)
					}
					first()
				} else {
					signal.Stop(signals) // a third one ends triad at once: the database survives it
					second()
				}
			case <-done:
				return
			}
		}
	}, a.broke)
	return func() { signal.Stop(signals); close(done) }
}

// atFirstInterrupt makes the first Ctrl-C end what runs until the returned function is called: there is
// nothing in it to finish.
func (a *app) atFirstInterrupt(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	before := a.atOnce.Swap(true)
	undo := context.AfterFunc(a.stop, cancel)
	return ctx, func() {
		undo()
		cancel()
		a.atOnce.Store(before)
	}
}

func (a *app) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "triad",
		Short: "know whether a GPU kernel is right",
		Long: `triad runs one GPU operator through hand-written CUDA, Triton and PyTorch, judges every
implementation against an fp64 truth, and records everything in SQLite. Where there is no GPU the CUDA
kernels run in an emulator that is a stricter judge than a GPU, and Triton runs in its interpreter.

  triad compare softmax                 every implementation of softmax, judged and recorded
  triad compare softmax --add mine.cu   is my kernel right? judged beside ours, by the same rules
  triad ops list                        which operators there are
  triad results list                    what was recorded
  triad doctor                          what was found on this machine, what is missing, how to get it`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if version {
				return a.printVersion(cmd.Context())
			}
			if len(args) > 0 {
				return usage("unknown verb %q: want %s", args[0], strings.Join(verbs(cmd), ", "))
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "print the version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %w (%s --help lists the flags)", cmd.Name(), err, cmd.CommandPath())
	})
	root.AddCommand(a.versionCommand(), a.workerCommand(), a.setupCommand(), a.doctorCommand(),
		a.compareCommand(), a.checkCommand(), a.gradcheckCommand(), a.watchCommand(), a.newCommand(),
		a.importCommand(), a.partCommand(), a.benchCommand(), a.opsCommand(), a.resultsCommand(),
		a.sassCommand(), a.serveCommand())
	root.AddCommand(learn.New(learn.Environment{Out: a.out, Style: a.style, Open: a.readStore}))
	root.AddCommand(diary.New(diary.Environment{Out: a.out, Style: a.style, Open: a.readStore}))
	return root
}

// one requires exactly one argument; what describes it.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage("%s: want %s", strings.TrimPrefix(cmd.CommandPath(), "triad "), what)
		}
		return nil
	}
}

func verbs(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// dataDir returns the folder of results and the private Python environment, cacheDir that of built libraries.
func (a *app) dataDir() (string, error) { return a.folder("XDG_DATA_HOME", ".local/share") }

func (a *app) cacheDir() (string, error) { return a.folder("XDG_CACHE_HOME", ".cache") }

func (a *app) folder(variable, underHome string) (string, error) {
	base := a.getenv(variable)
	if !filepath.IsAbs(base) { // the XDG specification: a relative path is to be ignored
		home := a.getenv("HOME")
		if home == "" {
			return "", session.Fail(session.ExitNothing, fmt.Errorf("neither %s nor HOME is set: set one, "+
				"so that triad knows where to keep its files", variable))
		}
		if !filepath.IsAbs(home) {
			return "", session.Fail(session.ExitNothing, fmt.Errorf("HOME is %q, no absolute path: set it "+
				"to one, so that triad knows where to keep its files", home))
		}
		base = filepath.Join(home, underHome)
	}
	return filepath.Join(base, "triad"), nil
}

// raw returns the stream that writes its input unchanged, for what triad itself draws, moves and annotates.
func raw(stream io.Writer) io.Writer {
	if w, ok := stream.(*harmless.Writer); ok {
		return w.Unwrap()
	}
	return stream
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	if w, ok := stream.(io.Writer); ok {
		stream = raw(w)
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
