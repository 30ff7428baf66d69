package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/run"
)

// ending is how a run ended: its exit code, the sentence behind the code where the table alone does not explain it,
// and the error that broke the run off.
type ending struct {
	code   exitCode
	reason string
	err    error
}

// endOf is the ending of a run that found result and returned err; refused are the files that were not understood.
// strict counts known faults of libraries as bad.
func endOf(result run.Result, refused []error, err error, strict bool) ending {
	end := ending{err: err, code: verdictOf(result)}
	if panics.In(err) != nil { // it says nothing of what is judged
		end.code = exitNothing
		end.reason = reason(result, refused, end)
		return end
	}
	known := strict && slices.ContainsFunc(result.Records, func(r record.Record) bool { return r.Status == op.StatusKnown })
	if known && end.code != exitBad {
		end.code, end.reason = exitBad, "With --strict KNOWN counts as bad."
		return end
	}
	var missing *backend.Unavailable
	switch {
	case end.code == exitBad:
	case err == nil && !proven(result.Steps):
		end.code = exitBad
	case errors.As(err, &missing): // the truth of an operator of one's own needs what is not here
		end.code, end.err = exitNothing, missing
	case err != nil:
		end.code = exitBad
	case len(refused) > 0: // what is wrong is said first, and what was not understood after it
		end.code = exitUsage
	}
	end.reason = reason(result, refused, end)
	return end
}

// failure is the error of a verb that ended so; after is what failed when the run was over.
func (e ending) failure(after error) error {
	var u *op.UsageError
	switch err := errors.Join(e.err, after); {
	case errors.As(err, &u):
		return err
	case after != nil:
		return &failure{codeOf(err), err}
	case e.code != exitGood:
		return &failure{e.code, e.err}
	}
	return nil
}

// verdictOf is the exit code of a result: see the table of statuses.
func verdictOf(result run.Result) exitCode {
	good, bad := false, false
	for _, r := range result.Records {
		switch r.Status.Weight() {
		case op.Good:
			good = true
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
		return exitBad
	case len(result.Unavailable) > 0 || !good || result.Interrupted: // what a stopped run did not reach may be wrong
		return exitNothing
	default:
		return exitGood
	}
}

// reason is the sentence behind an exit code that the table alone does not explain.
func reason(result run.Result, refused []error, end ending) string {
	switch {
	case end.err != nil:
		return sentence(end.err)
	case !proven(result.Steps):
		i := slices.IndexFunc(result.Steps, func(s run.Step) bool { return !s.Agrees() })
		return fmt.Sprintf("The truth of %s is not proven, so no verdict on its gradients counts: %v.", result.Steps[i].Case.Op, result.Steps[i].Step)
	case result.Interrupted:
		return "The run was stopped before its plan was done: the same command with --resume finishes it."
	case len(refused) > 0: // told above the table, which may be long
		more := ""
		if n := len(refused) - 1; n > 0 {
			more = fmt.Sprintf(" (and %d more, above the table)", n)
		}
		return strings.TrimSuffix(sentence(refused[0]), ".") + more + "."
	case end.code == exitBad && !slices.ContainsFunc(result.Records, badAnswer):
		return "What a timed call gave is wrong."
	case end.code != exitNothing:
		return ""
	case len(result.Unavailable) > 0:
		return strings.Join(result.Unavailable, "; ")
	case len(result.Records) == 0:
		return "Nothing was run."
	default:
		return "Nothing that ran ended PASS or WARN."
	}
}

func badAnswer(r record.Record) bool { return r.Status.Weight() == op.Bad }

// sentence is the first line of an error, with a full stop.
func sentence(err error) string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return strings.TrimSuffix(first, ".") + "."
}
