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
	// nothing could run, nothing ended PASS or WARN, or what was asked for is missing
	ExitNothing ExitCode = 3
)

// Failure is an error with its exit code. Without Err, everything was printed already.
type Failure struct {
	Code ExitCode
	Err  error
}

// Error returns the text of Err, "" without one.
func (f *Failure) Error() string {
	if f.Err == nil {
		return ""
	}
	return f.Err.Error()
}

// Unwrap returns Err.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns an error that ends triad with an exit code.
func Fail(code ExitCode, err error) error { return &Failure{code, err} }

// UsageError returns an error of the command line; it ends triad with ExitUsage.
func UsageError(format string, a ...any) error { return Fail(ExitUsage, fmt.Errorf(format, a...)) }

// CodeOf returns the exit code for the error of a run or of a verb. An internal error is no verdict on what
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
	case errors.As(err, &missing), hosttrouble.Of(err) != nil: // nothing was judged because of it
		return ExitNothing
	case errors.Is(err, results.ErrReadOnly), errors.Is(err, results.ErrNewer): // a file that cannot be used
		return ExitUsage
	}
	return ExitBad
}

// Command returns the exit code of a command line that ended with err, and the error to print. begun reports
// whether a verb was reached: before that, an error is one of the command line. stopped reports whether triad
// was stopped.
func Command(err error, begun, stopped bool) (ExitCode, error) {
	var missing *backend.Unavailable
	var u *op.UsageError
	var f *Failure
	switch {
	case panics.In(err) != nil || errors.As(err, &u):
	case stopped && errors.As(err, &missing): // a stopped search does not know what is missing
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

// Rules decides the exit code together with the result of a run.
type Rules struct {
	Strict bool // known faults of libraries are bad
	Added  bool // files were named with --add: something of each has to be judged
}

// EndingOf returns the ending of a run with this result and error; refused holds the errors of files that
// were not understood.
func EndingOf(result run.Result, refused []error, err error, rules Rules) Ending {
	end := Ending{Err: err, Code: verdictOf(result)}
	if end.Code == ExitGood && rules.Added && leftOut(result, "") != "" {
		end.Code = ExitNothing // other rows prove nothing of an added file
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
	case len(refused) > 0: // what is wrong is printed first, and what was not understood after it
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

// EndingUnderTool returns the ending of a run under a tool that returned err. What is not proven clean is
// bad, unless the run was stopped.
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

// Several returns the error of a verb that ran several things side by side: anything bad decides, otherwise
// the first ending that is not good.
func Several(endings []Ending) error {
	worst := ExitGood
	for _, end := range endings {
		if end.Code == ExitBad || worst == ExitGood {
			worst = end.Code
		}
	}
	return Ending{Code: worst}.Failure(nil)
}

// brokenOff returns the exit code of an error that broke a run off, and the error to print.
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

// Failure returns the error of a verb with this ending; after is an error that occurred after the run.
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

// verdictOf returns the exit code of a result: see the table of statuses.
func verdictOf(result run.Result) ExitCode {
	good, bad := false, false
	open := notUnderstood(result)
	for _, r := range result.Records {
		switch r.Status.Weight() {
		case op.Good: // being right by chance proves nothing of a function that was guessed at
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

// leftOut names the first added file of which nothing was judged, or nothing of a pass, and why; "" if there
// is none.
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

// ownFamily is the family of added files, the first part of their names.
const ownFamily = "mine"

// notUnderstood returns the records of functions that were read with a guess and are wrong.
func notUnderstood(result run.Result) []record.Record {
	return slices.DeleteFunc(slices.Clone(result.Records),
		func(r record.Record) bool { return r.Status != op.StatusNotUnderstood })
}

// Proven reports whether the truth of every operator agrees with the complex step: otherwise no verdict on a
// gradient counts.
func Proven(steps []run.Step) bool {
	return !slices.ContainsFunc(steps, func(s run.Step) bool { return !s.Agrees() })
}

// reason returns the sentence behind an exit code that the table alone does not explain.
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

// sentence returns the first line of an error, with a full stop.
func sentence(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ".") + "."
}

// StoreFailure returns the failure of a database that cannot be opened. A file named with --db that cannot be
// a database is a mistake in the command line, the user's own that cannot be written now counts as missing,
// and a damaged one is an error.
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

// ReadFailure returns the failure of a database that cannot be read: if there is none yet, nothing is wrong.
func ReadFailure(err error, named bool) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Fail(ExitNothing, err)
	}
	if mistake := (*results.StatementError)(nil); errors.As(err, &mistake) {
		return Fail(ExitUsage, err)
	}
	return StoreFailure(err, named)
}

// ResumeFailure returns the failure of --resume.
func ResumeFailure(err error) error {
	if errors.Is(err, results.ErrNothingToResume) {
		return UsageError("--resume: no interrupted session has this request; run it without --resume")
	}
	return Fail(ExitBad, err)
}

// ToolchainFailure returns the failure of a toolchain: it is missing, or it went wrong.
func ToolchainFailure(err error) error {
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return Fail(ExitNothing, err)
	}
	return Fail(ExitBad, err)
}
