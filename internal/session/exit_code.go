package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/hosttrouble"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
	"triad/results"
)

// ExitCode is triad's exit code. Every rule about it is in this file.
type ExitCode int

// The exit codes; docs/architecture.md has the table of what counts as what.
const (
	ExitGood  ExitCode = 0 // at least one PASS or WARN and nothing bad
	ExitBad   ExitCode = 1 // something is wrong, crashed or hung
	ExitUsage ExitCode = 2 // invalid usage
	// nothing could run, nothing ended PASS or WARN, or what was asked for is not here
	ExitNothing ExitCode = 3
)

// Failure is an error with the exit code it means. Without Err everything was said already.
type Failure struct {
	Code ExitCode
	Err  error
}

// Error is the text of Err, "" without one.
func (f *Failure) Error() string {
	if f.Err == nil {
		return ""
	}
	return f.Err.Error()
}

// Unwrap gives Err.
func (f *Failure) Unwrap() error { return f.Err }

// Fail is an error that ends triad with an exit code.
func Fail(code ExitCode, err error) error { return &Failure{code, err} }

// UsageError is an error of the command line; it ends triad with ExitUsage.
func UsageError(format string, a ...any) error { return Fail(ExitUsage, fmt.Errorf(format, a...)) }

// CodeOf is the exit code that the error of a run or of a verb means. An internal error says nothing of what
// is judged.
func CodeOf(err error) ExitCode {
	var u *op.UsageError
	var f *Failure
	var missing *backend.Unavailable
	switch {
	case err == nil:
		return ExitGood
	case panics.In(err) != nil:
		return ExitNothing
	case errors.As(err, &u):
		return ExitUsage
	case errors.As(err, &f):
		return f.Code
	case errors.As(err, &missing), hosttrouble.Of(err) != nil: // nothing was judged for want of it
		return ExitNothing
	case errors.Is(err, results.ErrReadOnly), errors.Is(err, results.ErrNewer): // a file that cannot be used
		return ExitUsage
	}
	return ExitBad
}

// Command returns the exit code of a command line that ended with err, and the error to print. begun reports
// whether a verb was reached: before that, an error is one of the command line. stopped reports whether triad
// was told to end.
func Command(err error, begun, stopped bool) (ExitCode, error) {
	var missing *backend.Unavailable
	var u *op.UsageError
	var f *Failure
	switch {
	case panics.In(err) != nil || errors.As(err, &u):
	case stopped && errors.As(err, &missing): // a search that was stopped does not know what is missing
		return ExitNothing, errors.New("stopped before anything was run")
	case err != nil && !begun && !errors.As(err, &f):
		return ExitUsage, err
	}
	return CodeOf(err), err
}

// Ending describes the end of a run: its exit code, the sentence behind the code where the table alone does
// not explain it, and the error that broke the run off.
type Ending struct {
	Code   ExitCode
	Reason string
	Err    error
}

// Rules decide the exit code together with the result of a run.
type Rules struct {
	Strict bool // known faults of libraries are bad
	Added  bool // files were named with --add: something of each has to be judged
}

// EndingOf is the ending of a run that found result and returned err; refused are the files that were not
// understood.
func EndingOf(result run.Result, refused []error, err error, rules Rules) Ending {
	end := Ending{Err: err, Code: verdictOf(result)}
	if end.Code == ExitGood && rules.Added && leftOut(result, "") != "" {
		end.Code = ExitNothing // other rows prove nothing of a file that was added
	}
	switch code := CodeOf(err); {
	case panics.In(err) != nil, code == ExitUsage: // neither says anything of what is judged
		end.Code, end.Reason = code, sentence(err)
		return end
	}
	known := func(r record.Record) bool { return r.Status == op.StatusKnown }
	if rules.Strict && end.Code != ExitBad && slices.ContainsFunc(result.Records, known) {
		end.Code, end.Reason = ExitBad, "With --strict KNOWN counts as bad."
		return end
	}
	switch {
	case end.Code == ExitBad:
	case err == nil && !Proven(result.Steps):
		end.Code = ExitBad
	case err != nil:
		end.Code, end.Err = brokenOff(err)
	case len(refused) > 0: // what is wrong is said first, and what was not understood after it
		end.Code = ExitUsage
	}
	end.Reason = reason(result, refused, end)
	return end
}

// Tool is the result of a run under a tool of compute-sanitizer.
type Tool struct {
	Clean   bool // the tool watched every kernel to its end and reported nothing
	Found   bool // the tool reported something, or a record is bad
	Stopped bool // the run was stopped before its plan was done
}

// EndingUnderTool is the ending of a run under a tool that returned err. What is not proven clean is bad,
// except where the run was stopped.
func EndingUnderTool(t Tool, err error) Ending {
	switch {
	case err != nil:
		code, err := brokenOff(err)
		return Ending{Code: code, Reason: sentence(err), Err: err}
	case t.Clean:
		return Ending{Code: ExitGood}
	case t.Stopped && !t.Found:
		return Ending{Code: ExitNothing}
	}
	return Ending{Code: ExitBad}
}

// Several is the error of a verb that ran several things side by side: something bad counts most, then the
// first that is not good.
func Several(endings []Ending) error {
	worst := ExitGood
	for _, end := range endings {
		if end.Code == ExitBad || worst == ExitGood {
			worst = end.Code
		}
	}
	return Ending{Code: worst}.Failure(nil)
}

// brokenOff gives the exit code of an error that broke a run off, and the error to print.
func brokenOff(err error) (ExitCode, error) {
	var missing *backend.Unavailable
	if panics.In(err) == nil && errors.As(err, &missing) {
		// such as what the truth of a user's operator needs
		return ExitNothing, missing
	}
	return CodeOf(err), err
}

// Usage reports whether the run was refused because of its command line: it then has no table.
func (e Ending) Usage() bool { return e.Err != nil && e.Code == ExitUsage }

// Failure is the error of a verb that ended so; after is what failed when the run was over.
func (e Ending) Failure(after error) error {
	switch err := errors.Join(e.Err, after); {
	case e.Usage():
		return Fail(ExitUsage, err)
	case after != nil && (panics.In(err) != nil || e.Code != ExitBad && hosttrouble.Of(after) != nil):
		return Fail(ExitNothing, err)
	case after != nil:
		return Fail(ExitBad, err)
	case e.Code != ExitGood:
		return Fail(e.Code, e.Err)
	}
	return nil
}

// verdictOf is the exit code of a result: see the table of statuses.
func verdictOf(result run.Result) ExitCode {
	good, bad := false, false
	open := notUnderstood(result)
	for _, r := range result.Records {
		switch r.Status.Weight() {
		case op.Good: // being right here and there proves nothing of a function that was guessed at
			good = good || !slices.ContainsFunc(open, func(o record.Record) bool { return o.Impl == r.Impl })
		case op.Neutral:
		default:
			bad = true
		}
		for _, t := range r.Timings {
			bad = bad || t.Status.Weight() == op.Bad
		}
	}
	switch {
	case bad:
		return ExitBad
	case !good || len(result.Unavailable) > 0 || result.Interrupted: // what a stopped run left may be wrong
		return ExitNothing
	default:
		return ExitGood
	}
}

// leftOut names the first added file of which nothing was judged, or nothing of a pass, with why; "" where
// there is none.
func leftOut(result run.Result, pass string) string {
	judged, why := map[string]bool{}, ""
	of := func(r record.Record) bool {
		return r.Backend == ownFamily && (pass == "" || r.Case.Pass.String() == pass)
	}
	for _, r := range result.Records {
		switch r.Status {
		case op.StatusUnsupported, op.StatusMissing, op.StatusSkipped, op.StatusUnavailable, op.StatusEmptyOK,
			op.StatusNoPower, op.StatusInterrupted:
		default:
			judged[r.Impl] = judged[r.Impl] || of(r)
		}
	}
	for _, r := range result.Records {
		if of(r) && !judged[r.Impl] && why == "" {
			what := r.Impl
			if pass != "" {
				what = "The " + pass + " of " + what
			}
			why = strings.TrimSuffix(what+" was not judged: "+cmp.Or(r.Message, r.Status.String()), ".") + "."
		}
	}
	return why
}

// ownFamily is the first part of the names of added files.
const ownFamily = "mine"

// notUnderstood are the records of functions that were read with a guess and are wrong.
func notUnderstood(result run.Result) []record.Record {
	return slices.DeleteFunc(slices.Clone(result.Records),
		func(r record.Record) bool { return r.Status != op.StatusNotUnderstood })
}

// Proven reports whether the truth of every operator agrees with the complex step: otherwise no verdict on a
// gradient counts.
func Proven(steps []run.Step) bool {
	return !slices.ContainsFunc(steps, func(s run.Step) bool { return !s.Agrees() })
}

// reason is the sentence behind an exit code that the table alone does not explain.
func reason(result run.Result, refused []error, end Ending) string {
	switch {
	case end.Err != nil:
		return sentence(end.Err)
	case !Proven(result.Steps):
		i := slices.IndexFunc(result.Steps, func(s run.Step) bool { return !s.Agrees() })
		return fmt.Sprintf("The truth of %s is not proven, so no verdict on its gradients counts: %v.",
			result.Steps[i].Case.Op, result.Steps[i].Step)
	case len(result.Open) > 0:
		return "This machine kept a part of the plan from being run: " + strings.Join(result.Open, "; ") +
			". The same command with --resume runs what is left."
	case result.Interrupted:
		return "The run was stopped before its plan was done: the same command with --resume finishes it."
	case len(refused) > 0: // printed above the table, which may be long
		more := ""
		if n := len(refused) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more, above the table)", n)
		}
		return strings.TrimSuffix(sentence(refused[0]), ".") + more + "."
	case end.Code == ExitBad && !slices.ContainsFunc(result.Records, badAnswer):
		return "What a timed call gave is wrong."
	case end.Code == ExitGood:
		return leftOut(result, op.Backward.String())
	case end.Code != ExitNothing:
		return ""
	case len(result.Unavailable) > 0:
		return strings.Join(result.Unavailable, "; ")
	case len(result.Records) == 0:
		return "Nothing was run."
	case len(notUnderstood(result)) > 0:
		r := notUnderstood(result)[0]
		why, _, _ := strings.Cut(r.Message, ". As it is read")
		return r.Impl + " was not understood: " + why + "."
	case slices.ContainsFunc(result.Records, goodAnswer):
		return leftOut(result, "")
	default:
		return "Nothing that ran ended PASS or WARN."
	}
}

func goodAnswer(r record.Record) bool { return r.Status.Weight() == op.Good }

func badAnswer(r record.Record) bool { return r.Status.Weight() == op.Bad }

// sentence is the first line of an error, with a full stop.
func sentence(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ".") + "."
}

// StoreFailure is the failure of a database that cannot be opened. A file that --db names and that cannot be
// one is the command line's mistake, the user's own that cannot be written now is not here, and a damaged one
// is wrong.
func StoreFailure(err error, named bool) error {
	var place *fs.PathError // a folder that cannot be made, or a path through a file
	denied := errors.As(err, &place) || errors.Is(err, results.ErrReadOnly) ||
		errors.Is(err, results.ErrPlace)
	switch {
	case named && (denied || errors.Is(err, results.ErrForeign)):
		return Fail(ExitUsage, err)
	case denied || errors.Is(err, results.ErrBusy) || errors.Is(err, results.ErrFull):
		return Fail(ExitNothing, err)
	}
	return Fail(ExitBad, err)
}

// ReadFailure is the failure of a database that cannot be read: where there is none yet, nothing is wrong.
func ReadFailure(err error, named bool) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Fail(ExitNothing, err)
	}
	if mistake := (*results.StatementError)(nil); errors.As(err, &mistake) {
		return Fail(ExitUsage, err)
	}
	return StoreFailure(err, named)
}

// ResumeFailure is the failure of --resume.
func ResumeFailure(err error) error {
	if errors.Is(err, results.ErrNothingToResume) {
		return UsageError("--resume: no interrupted session has this request; run it without --resume")
	}
	return Fail(ExitBad, err)
}

// ToolchainFailure is the failure of a toolchain: it is not here, or what it did went wrong.
func ToolchainFailure(err error) error {
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return Fail(ExitNothing, err)
	}
	return Fail(ExitBad, err)
}
