// Package programcheck carries out triad check: it builds a CUDA program, a solve() or an operator's kernels,
// runs them in several schedule orders or under the tools for a GPU, and prints the findings.
package programcheck

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"time"

	"triad/internal/catalog"

	"triad"
	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/fileversion"
	"triad/internal/machine"
	"triad/internal/panics"
	"triad/internal/report"
	"triad/internal/session"
	"triad/internal/watched"
)

// Options holds the options of check.
type Options struct {
	File                              string
	Args                              []string // of the program
	Include, Define, Deadlines, Sizes []string
	Sanitizers                        []string
	SARIF, Arch, Device, Std          string
	Debug, Explain, JSON, Watch       bool
	Verbose                           bool

	watched.Limits // of Deadlines
}

// checker checks with the workers of this machine.
type checker struct{ *machine.Workers }

// Run carries out triad check.
func Run(ctx context.Context, w *machine.Workers, o *Options) error {
	return (&checker{w}).check(ctx, o)
}

// deadlines parses the words of --limit.
func (o *Options) deadlines() error {
	o.Limits = watched.Limits{Run: time.Minute, Stall: 10 * time.Second, All: time.Minute, Counts: o.Explain}
	for _, text := range o.Deadlines {
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

func (a *checker) check(ctx context.Context, o *Options) error {
	file, args := o.File, o.Args
	if err := o.deadlines(); err != nil {
		return err
	}
	if o.Std != "" && !languages.MatchString(o.Std) {
		return console.Usage("--std %q: want c++17, c++20 or c++23", o.Std)
	}
	for _, d := range o.Define {
		if !macro.MatchString(d) {
			return console.Usage("-D %q: want NAME or NAME=VALUE, e.g. -D N=1000", d)
		}
	}
	if err := o.checkSanitizers(file); err != nil {
		return err
	}
	if o.Watch && (o.JSON || o.SARIF != "") {
		return console.Usage("check: --watch draws for people: --json and --sarif are for one check")
	}
	if o.Device != "cpu" && o.Device != "gpu" {
		return console.Usage("--device %q: want cpu or gpu", o.Device)
	}
	if o.Debug && o.Device == "gpu" {
		return console.Usage("check: --debug steps through the emulated program: leave out --device gpu")
	}
	if o.Debug {
		return a.debug(ctx, file, args, o)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a.AtOnce.Add(1)
	defer context.AfterFunc(a.Stop, cancel)()
	input := a.inputOfProgram()
	check := a.checkOnce
	if o.Watch {
		check = a.checkOnSave
	}
	return a.ended(check(ctx, file, args, input, o))
}

// ended maps an error of triad's own, and a stopped check, to the exit code that says nothing of the program.
func (a *checker) ended(err error) error {
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
func (a *checker) checkOnSave(ctx context.Context, file string, args []string, input []byte,
	o *Options,
) error {
	state := func() string { return fileversion.State(file) }
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
			return console.Printed(last)
		}
		fmt.Fprintln(a.Out, "\nWaiting for the next save; Ctrl-C ends.")
		if !a.UntilSaved(ctx, seen, state) {
			return console.Printed(last)
		}
		a.NewPage()
	}
}

// checkOnce builds the program, runs it, and prints the findings.
func (a *checker) checkOnce(ctx context.Context, file string, args []string, input []byte,
	o *Options,
) error {
	found, err := a.found(ctx, file, args, input, o)
	if err != nil {
		return err
	}
	folder := check.WorkingFolder()
	if o.SARIF != "" {
		text, err := check.SARIF(found, folder, triad.Version)
		if err == nil {
			err = os.WriteFile(o.SARIF, text, 0o644)
		}
		if err != nil {
			return console.Usage("--sarif: %v", err)
		}
	}
	if o.JSON {
		err = report.JSON(a.Out, found)
	} else {
		err = check.Write(a.Out, found, folder, o.Verbose)
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

// found checks an operator of the catalog, a file with a function to call and no main(), or a program.
func (a *checker) found(ctx context.Context, file string, args []string, input []byte, o *Options) (
	*check.Report, error,
) {
	if o.Device == "gpu" {
		return a.checkOnGPU(ctx, file, args, input, o)
	}
	if isOperator(file) {
		return a.checkOperator(ctx, file, o)
	}
	solve, err := check.ReadSolve(file, o.Sizes)
	if err != nil {
		return nil, err
	}
	source := program.Source{
		File: file, Include: o.Include, Define: o.Define, Std: o.Std, Counts: o.Explain,
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
	if o.JSON {
		printed.To = a.Err
	}
	if solve != nil {
		run = solve.Checked
	} else {
		q.Input, q.Args = input, args
	}
	if solve == nil || o.JSON {
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
	if err == nil && o.Explain {
		err = a.addRegisters(ctx, source, o, report)
	}
	return report, err
}

// buildProgram compiles the file, or returns an error that says why there is nothing to run.
func (a *checker) buildProgram(ctx context.Context, source program.Source) (program.Program, error) {
	var none program.Program
	file := source.File
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		near := "triad ops list has all"
		if operator := catalog.Nearest(file); operator != "" {
			near = "do you mean " + operator + "?"
		}
		return none, console.Usage("check: there is no file %s, and no operator of the name: %s", file, near)
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
func (a *checker) inputOfProgram() []byte {
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
