package session

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/truth"
	"triad/results"
)

var (
	good, bad = record.Record{Status: op.StatusPass}, record.Record{Status: op.StatusFail}
	wrongTime = record.Record{Status: op.StatusPass, Timings: []record.Timing{{Status: op.StatusFail}}}
	missing   = &backend.Unavailable{Sentence: "no Python with torch"}
	unproven  = []run.Step{{
		Case: op.Case{Op: "rope"},
		Step: truth.Step{Gradients: []string{"grad_q"}, Error: 3e-9, Worst: "grad_q"},
	}}
)

// mine returns a record of an added file that passed, unjudged one of a pass that it declined.
func mine(name string) record.Record {
	return record.Record{
		Impl: name, Backend: "mine", Status: op.StatusPass, Case: op.Case{Pass: op.Forward},
	}
}

func unjudged(pass op.Pass) record.Record {
	r := mine("mine/f")
	r.Status, r.Message, r.Case.Pass = op.StatusUnsupported, "it declines", pass
	return r
}

// endings lists runs and how they must end.
var endings = []struct {
	name    string
	result  run.Result
	refused []error
	err     error
	code    ExitCode
	want    string
}{
	{
		"all is well",
		run.Result{Records: []record.Record{good}},
		nil, nil, ExitGood,
		"0 bad. Exit 0: nothing is wrong.",
	},
	{
		"a bad row",
		run.Result{Records: []record.Record{good, bad}},
		nil, nil, ExitBad,
		"1 bad. Exit 1: something is wrong.",
	},
	{
		"the truth is not here",
		run.Result{Interrupted: true},
		nil, fmt.Errorf("prepare softmax: %w\n%w", missing, missing), ExitNothing,
		"0 bad. Exit 3: nothing was proven right or wrong: no Python with torch.",
	},
	{
		"the truth is not here any more",
		run.Result{Records: []record.Record{bad}},
		nil, missing, ExitBad,
		"1 bad. Exit 1: something is wrong. no Python with torch.",
	},
	{
		"broken off",
		run.Result{Records: []record.Record{good}},
		nil, errors.New("prepare softmax: disk full"),
		ExitBad, "0 bad. Exit 1: prepare softmax: disk full.",
	},
	{
		"a truth that is not proven",
		run.Result{Records: []record.Record{good}, Steps: unproven},
		nil, nil, ExitBad,
		"0 bad. Exit 1: The truth of rope is not proven, so no verdict on its gradients counts: complex " +
			"step " +
			"is 3e-09 away in grad_q: want at most 1e-13.",
	},
	{
		"a wrong timed call",
		run.Result{Records: []record.Record{wrongTime}},
		nil, nil, ExitBad,
		"0 bad. Exit 1: What a timed call gave is wrong.",
	},
	{
		"an added file that was not judged",
		run.Result{Records: []record.Record{good, unjudged(op.Forward)}},
		nil, nil, ExitNothing,
		"0 bad. Exit 3: what was asked for is not complete: mine/f was not judged: it declines.",
	},
	{
		"one of two added files was not judged",
		run.Result{Records: []record.Record{mine("mine/g"), unjudged(op.Forward)}},
		nil, nil, ExitNothing,
		"0 bad. Exit 3: what was asked for is not complete: mine/f was not judged: it declines.",
	},
	{
		"an added file whose backward was not judged",
		run.Result{Records: []record.Record{mine("mine/f"), unjudged(op.Backward)}},
		nil, nil, ExitGood,
		"0 bad. Exit 0: nothing is wrong. The backward of mine/f was not judged: it declines.",
	},
	{
		"an added file that declines some cases",
		run.Result{Records: []record.Record{mine("mine/f"), unjudged(op.Forward)}},
		nil, nil, ExitGood,
		"0 bad. Exit 0: nothing is wrong.",
	},
	{
		"a refused file",
		run.Result{Records: []record.Record{good}},
		[]error{errors.New("x.cu: no function")},
		nil, ExitUsage,
		"0 bad. Exit 2: the request cannot be understood: x.cu: no function.",
	},
	{
		"a refused file beside a bad row",
		run.Result{Records: []record.Record{bad}},
		[]error{errors.New("x.cu: no function")},
		nil, ExitBad,
		"1 bad. Exit 1: something is wrong. x.cu: no function.",
	},
}

// TestEndings: the last line of a table and the exit code agree: what is wrong is named, even if no row is
// bad.
func TestEndings(t *testing.T) {
	for _, c := range endings {
		end := EndingOf(c.result, c.refused, c.err, Rules{Added: true})
		var out bytes.Buffer
		summary := report.Summary{Exit: int(end.Code), Reason: end.Reason}
		if err := report.Compare(&out, report.Style{}, c.result.Records, nil, summary); err != nil {
			t.Fatal(err)
		}
		if end.Code != c.code || !strings.Contains(out.String(), c.want+"\n") {
			t.Errorf("%s: exit %d, want %d and %q in\n%s", c.name, end.Code, c.code, c.want, &out)
		}
		var f *Failure
		if err := end.Failure(nil); c.code == ExitGood && err != nil ||
			c.code != ExitGood && (!errors.As(err, &f) || f.Code != c.code) {
			t.Errorf("%s: %v, want exit code %d", c.name, err, c.code)
		}
		if err := end.Failure(errors.New("the pipe is closed")); !errors.As(err, &f) || f.Code != ExitBad {
			t.Errorf("%s, and then a closed pipe: %v, want exit code 1", c.name, err)
		}
	}
}

// TestKnownIsBadWhereItIsAskedFor: a known fault of a library is neutral, and bad with --strict.
func TestKnownIsBadWhereItIsAskedFor(t *testing.T) {
	result := run.Result{Records: []record.Record{{Status: op.StatusPass}, {Status: op.StatusKnown}}}
	if end := EndingOf(result, nil, nil, Rules{Added: true}); end.Code != ExitGood || end.Reason != "" {
		t.Errorf("KNOWN: exit %d, %q, want 0", end.Code, end.Reason)
	}
	if end := EndingOf(result, nil, nil, Rules{Strict: true, Added: true}); end.Code != ExitBad ||
		end.Reason != "With --strict KNOWN counts as bad." {
		t.Errorf("KNOWN with --strict: exit %d, %q, want 1", end.Code, end.Reason)
	}
	result.Records = result.Records[:1]
	if end := EndingOf(result, nil, nil, Rules{Strict: true, Added: true}); end.Code != ExitGood {
		t.Errorf("nothing known, with --strict: exit %d, want 0", end.Code)
	}
}

// TestEndingUnderTool: a tool's verdict counts only if it saw everything; what is missing, stopped or invalid
// is not the kernels' fault.
func TestEndingUnderTool(t *testing.T) {
	for _, c := range []struct {
		tool Tool
		err  error
		code ExitCode
	}{
		{Tool{Clean: true}, nil, ExitGood},
		{Tool{}, nil, ExitBad},
		{Tool{Found: true}, nil, ExitBad},
		{Tool{Stopped: true}, nil, ExitNothing},
		{Tool{Stopped: true, Found: true}, nil, ExitBad},
		{Tool{}, errors.New("disk full"), ExitBad},
		{Tool{}, fmt.Errorf("prepare softmax: %w", &backend.Unavailable{Sentence: "no Python"}), ExitNothing},
		{Tool{}, &op.UsageError{Message: "softmax has no such implementation"}, ExitUsage},
		{Tool{}, &panics.Error{Value: "planted"}, ExitNothing},
	} {
		if end := EndingUnderTool(c.tool, c.err); end.Code != c.code || CodeOf(end.Failure(nil)) != c.code {
			t.Errorf("%+v, %v: exit %d, as an error %v, want %d", c.tool, c.err, end.Code,
				CodeOf(end.Failure(nil)), c.code)
		}
	}
	for _, c := range []struct {
		codes []ExitCode
		want  ExitCode
	}{
		{[]ExitCode{ExitGood, ExitGood}, ExitGood},
		{[]ExitCode{ExitGood, ExitNothing}, ExitNothing},
		{[]ExitCode{ExitNothing, ExitGood}, ExitNothing},
		{[]ExitCode{ExitNothing, ExitBad, ExitGood}, ExitBad},
		{[]ExitCode{ExitBad, ExitNothing}, ExitBad},
	} {
		var endings []Ending
		for _, code := range c.codes {
			endings = append(endings, Ending{Code: code})
		}
		if got := CodeOf(Several(endings)); got != c.want {
			t.Errorf("several that end %v: exit %d, want %d", c.codes, got, c.want)
		}
	}
}

var fullStdout = &fs.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}

// TestFullStdoutAfterARun: a table that cannot be written says nothing of the kernels, and changes no bad
// verdict.
func TestFullStdoutAfterARun(t *testing.T) {
	for _, c := range []struct{ before, want ExitCode }{
		{ExitGood, ExitNothing}, {ExitNothing, ExitNothing}, {ExitBad, ExitBad},
	} {
		if got := CodeOf(Ending{Code: c.before}.Failure(fullStdout)); got != c.want {
			t.Errorf("after exit %d a full stdout makes it %d, want %d", c.before, got, c.want)
		}
	}
}

// TestCommand: the error of a command line and whether a verb was reached decide the exit code.
func TestCommand(t *testing.T) {
	missing := &backend.Unavailable{Sentence: "no Python"}
	for _, c := range []struct {
		name           string
		err            error
		begun, stopped bool
		code           ExitCode
		says           string
	}{
		{"all is well", nil, true, false, ExitGood, ""},
		{"an unknown flag", errors.New("unknown flag: --x"), false, false, ExitUsage, "unknown flag: --x"},
		{"a closed pipe", errors.New("broken pipe"), true, false, ExitBad, "broken pipe"},
		{
			"usage, found late", fmt.Errorf("plan: %w", &op.UsageError{Message: "no such dim"}), true, false,
			ExitUsage, "plan: no such dim",
		},
		{"usage, found early", UsageError("--seed %q", "x"), false, false, ExitUsage, `--seed "x"`},
		{"nothing here", Fail(ExitNothing, missing), true, false, ExitNothing, "no Python"},
		{
			"stopped while it looked", Fail(ExitBad, missing), true, true, ExitNothing,
			"stopped before anything was run",
		},
		{
			"an internal error", fmt.Errorf("x: %w", &panics.Error{Value: "planted"}), true, false,
			ExitNothing, "planted",
		},
		{
			"a database of a newer triad", fmt.Errorf("start: %w: schema 99", results.ErrReadOnly), true,
			false, ExitUsage, "schema 99",
		},
		{
			"a full disk", fmt.Errorf("build: %w", &backend.HostTrouble{Sentence: "no space left"}), true,
			false, ExitNothing, "no space left",
		},
		{"a full stdout", fullStdout, true, false, ExitNothing, "no space left"},
		{"everything was said", Fail(ExitBad, nil), true, false, ExitBad, ""},
	} {
		code, err := Command(c.err, c.begun, c.stopped)
		if code != c.code || (err == nil) != (c.err == nil) || err != nil &&
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: exit %d, %v, want %d and %q", c.name, code, err, c.code, c.says)
		}
	}
}

// TestNotUnderstoodProvesNothing: cases that are right by chance prove nothing of a function that was not
// understood; what else was judged counts.
func TestNotUnderstoodProvesNothing(t *testing.T) {
	result := run.Result{Records: []record.Record{
		{Impl: "mine/x", Status: op.StatusPass},
		{Impl: "mine/x", Status: op.StatusNotUnderstood, Message: "rows is 1. As it is read: FAIL"},
	}}
	end := EndingOf(result, nil, nil, Rules{Strict: true, Added: true})
	if end.Code != ExitNothing || end.Reason != "mine/x was not understood: rows is 1." {
		t.Errorf("exit %d, %q, want 3 and what was assumed", end.Code, end.Reason)
	}
	result.Records = append(result.Records, record.Record{Impl: "cuda/y", Status: op.StatusPass})
	if end := EndingOf(result, nil, nil, Rules{Strict: true, Added: true}); end.Code != ExitGood {
		t.Errorf("beside one that passes: exit %d, want 0", end.Code)
	}
	result.Records = append(result.Records, record.Record{Impl: "cuda/z", Status: op.StatusFail})
	if end := EndingOf(result, nil, nil, Rules{Strict: true, Added: true}); end.Code != ExitBad {
		t.Errorf("beside one that is wrong: exit %d, want 1", end.Code)
	}
}
