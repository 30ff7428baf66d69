// Package check is the verb check.
package check

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triad"
	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/fileversion"
	"triad/internal/panics"
	"triad/internal/report"
	"triad/internal/session"
	"triad/internal/watched"
)

// Options holds the flags of check.
type Options struct {
	file                           string
	args                           []string // of the program
	include, define, limits, sizes []string
	sanitizers                     []string
	sarif, arch, device, std       string
	debug, explain, json, watch    bool

	watched.Limits // of --limit
}

// verb runs triad check.
type verb struct{ *workers.Workers }

// New returns the command triad check; run replaces what it does, nil: it checks.
func New(w *workers.Workers, run func(context.Context, *Options) error) *cobra.Command {
	var o Options
	if run == nil {
		run = (&verb{w}).check
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
program. A file without a main() whose extern "C" solve launches the kernels is called with sizes of
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
			o.file, o.args = args[0], args[1:]
			return run(cmd.Context(), &o)
		},
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.include, "include", "I", nil, "a folder in which included files are looked for")
	f.StringArrayVarP(&o.define, "define", "D", nil, "a macro, NAME or NAME=VALUE")
	f.StringVar(&o.std, "std", "", "the language, c++17 where nothing is said, or a newer one, e.g. c++20")
	f.BoolVar(&o.explain, "explain", false, "show for each line of a kernel its requests, with the sectors "+
		"or the wavefronts that they need, and where warps diverge")
	f.StringVar(
		&o.arch,
		"arch",
		"sm_90",
		"of --explain: the card for which nvcc, if it is here, says registers "+
			"and spills",
	)
	f.BoolVar(&o.debug, "debug", false, "start gdb on the program, with commands for kernels (help cuda)")
	f.StringSliceVar(&o.sanitizers, "sanitize", nil, "run the program under these sanitizers of the "+
		"compiler too, which see mistakes of host code: address (with undefined behaviour), thread, or all")
	f.StringVar(&o.device, "device", "cpu", "cpu: the emulator; gpu: build by nvcc and run under the four "+
		"tools of compute-sanitizer")
	f.StringVar(&o.sarif, "sarif", "", "a file for the findings, as SARIF 2.1.0 for editors")
	f.BoolVar(&o.json, "json", false, "one JSON object; what the program prints goes to stderr")
	f.BoolVar(&o.watch, "watch", false, "check again when the file, or one that it includes, is saved")
	f.StringArrayVar(&o.sizes, "size", nil, "of a solve(): an int's value, NAME=NUMBER, or how many "+
		"elements a pointer has, NAME=PRODUCT of ints, e.g. N=1000, A=N*M")
	f.StringArrayVar(&o.limits, "limit", nil, "a deadline, NAME=DURATION: run (of one run, 60s), stall "+
		"(of a launch in which nothing moves on, 10s), all (orders are left out after it, 60s)")
	return cmd
}

// deadlines reads --limit.
func (o *Options) deadlines() error {
	o.Limits = watched.Limits{Run: time.Minute, Stall: 10 * time.Second, All: time.Minute, Counts: o.explain}
	for _, text := range o.limits {
		name, value, _ := strings.Cut(text, "=")
		d, err := time.ParseDuration(value)
		to := map[string]*time.Duration{"run": &o.Run, "stall": &o.Stall, "all": &o.All}[name]
		if err != nil || to == nil || d <= 0 {
			return console.Usage("--limit %q: want run=DURATION, stall=DURATION or all=DURATION, e.g. run=5m",
				text)
		}
		*to = d
	}
	return nil
}

// macro matches the argument of -D: NAME, NAME=VALUE, or a macro with parameters.
var macro = regexp.MustCompile(`(?s)^[A-Za-z_]\w*(\([^()]*\))?(=.*)?$`)

// languages matches the versions of C++ that the emulator takes, by their names for compilers.
var languages = regexp.MustCompile(`^(c|gnu)\+\+(17|1z|20|2a|23|2b)$`)

func (a *verb) check(ctx context.Context, o *Options) error {
	file, args := o.file, o.args
	if err := o.deadlines(); err != nil {
		return err
	}
	if o.std != "" && !languages.MatchString(o.std) {
		return console.Usage("--std %q: want c++17, c++20 or c++23", o.std)
	}
	for _, d := range o.define {
		if !macro.MatchString(d) {
			return console.Usage("-D %q: want NAME or NAME=VALUE, e.g. -D N=1000", d)
		}
	}
	if err := o.checkSanitizers(file); err != nil {
		return err
	}
	if o.watch && (o.json || o.sarif != "") {
		return console.Usage("check: --watch draws for people: --json and --sarif are for one check")
	}
	if o.device != "cpu" && o.device != "gpu" {
		return console.Usage("--device %q: want cpu or gpu", o.device)
	}
	if o.debug && o.device == "gpu" {
		return console.Usage("check: --debug steps through the emulated program: leave out --device gpu")
	}
	if o.debug {
		return a.debug(ctx, file, args, o)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.AtOnce.Store(true)
	defer context.AfterFunc(a.Stop, cancel)()
	input := a.inputOfProgram()
	check := a.checkOnce
	if o.watch {
		check = a.checkOnSave
	}
	return a.ended(check(ctx, file, args, input, o))
}

// ended maps an error of triad's own, and a stopped check, to the exit code that says nothing of the program.
func (a *verb) ended(err error) error {
	var f *session.Failure
	switch {
	case err == nil:
		return nil
	case a.Stop.Err() != nil && err.Error() != "":
		return session.Fail(session.ExitNothing,
			errors.New("check: stopped: nothing is known of the program"))
	case session.CodeOf(err) == session.ExitBad && !errors.As(err, &f):
		return session.Fail(session.ExitNothing, err)
	}
	return err
}

// checkOnSave checks, and checks again on every save, until ctx is cancelled.
func (a *verb) checkOnSave(ctx context.Context, file string, args []string, input []byte,
	o *Options,
) error {
	state := func() string {
		path, err := filepath.Abs(file)
		if err != nil {
			return ""
		}
		if _, err := os.Stat(path); err != nil {
			return ""
		}
		hash := sha256.New()
		fileversion.WriteContents(hash, path)
		return string(hash.Sum(nil))
	}
	for {
		seen := state()
		last := a.checkOnce(ctx, file, args, input, o)
		if ctx.Err() != nil {
			return last
		}
		if last != nil && last.Error() != "" {
			fmt.Fprintf(a.Err, "triad: %v\n", last)
		}
		if session.CodeOf(last) == session.ExitNothing && last.Error() != "" {
			return console.Said(last)
		}
		fmt.Fprintln(a.Out, "\nWaiting for the next save; Ctrl-C ends.")
		if !a.UntilSaved(ctx, seen, state) {
			return console.Said(last)
		}
		a.NewPage()
	}
}

// checkOnce builds the program, runs it, and prints the findings.
func (a *verb) checkOnce(ctx context.Context, file string, args []string, input []byte,
	o *Options,
) error {
	found, err := a.found(ctx, file, args, input, o)
	if err != nil {
		return err
	}
	folder := check.WorkingFolder()
	if o.sarif != "" {
		text, err := check.SARIF(found, folder, triad.Version)
		if err == nil {
			err = os.WriteFile(o.sarif, text, 0o644)
		}
		if err != nil {
			return console.Usage("--sarif: %v", err)
		}
	}
	if o.json {
		err = report.JSON(a.Out, found)
	} else {
		err = check.Write(a.Out, found, folder)
	}
	if err != nil {
		return err
	}
	switch {
	case len(found.Findings) > 0:
		return session.Fail(session.ExitBad, nil)
	case !found.Whole():
		return session.Fail(session.ExitNothing, nil)
	}
	return nil
}

// found checks an operator of the catalog, a file with a solve() and no main(), or a program.
func (a *verb) found(ctx context.Context, file string, args []string, input []byte, o *Options) (
	*check.Report, error,
) {
	if o.device == "gpu" {
		return a.checkOnGPU(ctx, file, args, input, o)
	}
	if isOperator(file) {
		return a.checkOperator(ctx, file, o)
	}
	solve, err := check.ReadSolve(file, o.sizes)
	if err != nil {
		return nil, err
	}
	source := program.Source{
		File: file, Include: o.include, Define: o.define, Std: o.std, Counts: o.explain,
	}
	if solve != nil {
		source.Main = solve.Main()
	}
	program, err := a.buildProgram(ctx, source)
	if err != nil {
		return nil, err
	}
	q := o.Request(program)
	if q.Sanitized, err = a.sanitizedPrograms(ctx, source, o); err != nil {
		return nil, err
	}
	run := check.Run
	printed := &check.LineEnded{To: a.Out}
	if o.json {
		printed.To = a.Err
	}
	if solve != nil {
		run = solve.Checked
	} else {
		q.Input, q.Args = input, args
	}
	if solve == nil || o.json {
		q.Output = printed
	}
	report, err := run(ctx, q)
	if err == nil {
		err = printed.End()
	}
	var unable *check.SanitizerError
	if errors.As(err, &unable) {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check --sanitize: %w", unable))
	}
	if err == nil && o.explain {
		err = a.addRegisters(ctx, source, o, report)
	}
	return report, err
}

// buildProgram compiles the file, or returns an error that says why there is nothing to run.
func (a *verb) buildProgram(ctx context.Context, source program.Source) (program.Program, error) {
	var none program.Program
	file := source.File
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return none, console.Usage("check: there is no file %s, and no operator of the name (triad ops list)",
			file)
	}
	b, err := a.ProgramBuilder(ctx)
	if err != nil {
		return none, err
	}
	built, err := program.Build(ctx, &b, source)
	var unfit *program.Error
	var mistake *build.Error
	switch {
	case errors.As(err, &unfit), errors.As(err, &mistake):
		return none, console.Usage("check: %v", err)
	case errors.Is(err, fs.ErrPermission):
		return none, console.Usage("check: %v", err)
	case err != nil:
		return none, session.ToolchainFailure(err)
	}
	if source.Sanitizer != "" { // they were printed for the program that is watched
		return built, nil
	}
	for _, n := range built.Notes {
		fmt.Fprintf(a.Err, "%s:%d: note: %s\n", file, n.Line, n.Text)
	}
	return built, nil
}

const (
	mostInput   = 64 << 20        // bytes of standard input that a program gets
	waitOnInput = 2 * time.Second // for a standard input that does not end
)

// inputOfProgram reads check's own standard input, so that every run begins with the same one. A terminal
// gives none, and a pipe that stays open gives what has arrived.
func (a *verb) inputOfProgram() []byte {
	if a.In == nil || console.IsTerminal(a.In) {
		return nil
	}
	arrived := make(chan []byte, 1024)
	panics.Go(func() {
		defer close(arrived)
		in := io.LimitReader(a.In, mostInput)
		for {
			part := make([]byte, 64<<10)
			n, err := in.Read(part)
			if n > 0 {
				arrived <- part[:n]
			}
			if err != nil {
				return
			}
		}
	}, a.Broke)
	var all []byte
	late := time.After(waitOnInput)
	for {
		select {
		case part, more := <-arrived:
			if !more {
				return all
			}
			all = append(all, part...)
		case <-late:
			fmt.Fprintln(
				a.Err,
				"triad: standard input has not ended: the program gets what has arrived (give a file: "+
					"triad check ... < FILE)",
			)
			return all
		}
	}
}
