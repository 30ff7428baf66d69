package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
)

// The last line of a table and the exit code agree: what is wrong is named, also where no row is bad.
func TestEndings(t *testing.T) {
	good, bad := record.Record{Status: op.StatusPass}, record.Record{Status: op.StatusFail}
	wrongTime := record.Record{Status: op.StatusPass, Timings: []record.Timing{{Status: op.StatusFail}}}
	missing := &backend.Unavailable{Sentence: "no Python with torch"}
	unproven := []run.Step{{Case: op.Case{Op: "rope"}, Step: catalog.Step{Gradients: []string{"grad_q"}, Error: 3e-9, Worst: "grad_q"}}}
	for _, c := range []struct {
		name    string
		result  run.Result
		refused []error
		err     error
		code    exitCode
		want    string
	}{
		{"all is well", run.Result{Records: []record.Record{good}}, nil, nil, exitGood, "0 bad. Exit 0: nothing is wrong."},
		{"a bad row", run.Result{Records: []record.Record{good, bad}}, nil, nil, exitBad, "1 bad. Exit 1: something is wrong."},
		{"the truth is not here", run.Result{Interrupted: true}, nil, fmt.Errorf("prepare softmax: %w\n%w", missing, missing), exitNothing,
			"0 bad. Exit 3: nothing was proven right or wrong: no Python with torch."},
		{"the truth is not here any more", run.Result{Records: []record.Record{bad}}, nil, missing, exitBad, "1 bad. Exit 1: something is wrong. no Python with torch."},
		{"broken off", run.Result{Records: []record.Record{good}}, nil, errors.New("prepare softmax: disk full"), exitBad, "0 bad. Exit 1: prepare softmax: disk full."},
		{"a truth that is not proven", run.Result{Records: []record.Record{good}, Steps: unproven}, nil, nil, exitBad,
			"0 bad. Exit 1: The truth of rope is not proven, so no verdict on its gradients counts: complex step is 3e-09 away in grad_q: want at most 1e-13."},
		{"a wrong timed call", run.Result{Records: []record.Record{wrongTime}}, nil, nil, exitBad, "0 bad. Exit 1: What a timed call gave is wrong."},
		{"a refused file", run.Result{Records: []record.Record{good}}, []error{errors.New("x.cu: no function")}, nil, exitUsage,
			"0 bad. Exit 2: the request cannot be understood: x.cu: no function."},
		{"a refused file beside a bad row", run.Result{Records: []record.Record{bad}}, []error{errors.New("x.cu: no function")}, nil, exitBad,
			"1 bad. Exit 1: something is wrong. x.cu: no function."},
	} {
		end := endOf(c.result, c.refused, c.err, false)
		var out bytes.Buffer
		if err := report.Compare(&out, report.Style{}, c.result.Records, nil, report.Summary{Exit: int(end.code), Reason: end.reason}); err != nil {
			t.Fatal(err)
		}
		if end.code != c.code || !strings.Contains(out.String(), c.want+"\n") {
			t.Errorf("%s: exit %d, want %d and %q in\n%s", c.name, end.code, c.code, c.want, &out)
		}
		var f *failure
		if err := end.failure(nil); c.code == exitGood && err != nil || c.code != exitGood && (!errors.As(err, &f) || f.code != c.code) {
			t.Errorf("%s: %v, want exit code %d", c.name, err, c.code)
		}
		if err := end.failure(errors.New("the pipe is closed")); !errors.As(err, &f) || f.code != exitBad {
			t.Errorf("%s, and then a closed pipe: %v, want exit code 1", c.name, err)
		}
	}
}

// A known fault of a library is neutral, and bad with --strict.
func TestKnownIsBadWhereItIsAskedFor(t *testing.T) {
	result := run.Result{Records: []record.Record{{Status: op.StatusPass}, {Status: op.StatusKnown}}}
	if end := endOf(result, nil, nil, false); end.code != exitGood || end.reason != "" {
		t.Errorf("KNOWN: exit %d, %q, want 0", end.code, end.reason)
	}
	if end := endOf(result, nil, nil, true); end.code != exitBad || end.reason != "With --strict KNOWN counts as bad." {
		t.Errorf("KNOWN with --strict: exit %d, %q, want 1", end.code, end.reason)
	}
	result.Records = result.Records[:1]
	if end := endOf(result, nil, nil, true); end.code != exitGood {
		t.Errorf("nothing known, with --strict: exit %d, want 0", end.code)
	}
}
