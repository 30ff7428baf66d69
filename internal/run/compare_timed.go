package run

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/record"
)

// timeWhatPassed times the cases that a comparison chose; of an operator without bench points, the largest
// case on which something passed.
func (x *execution) timeWhatPassed(ctx context.Context, planned []work, timed []timedWork,
	backends []backend.Backend,
) error {
	for _, w := range x.largest(planned) {
		if !slices.ContainsFunc(timed, func(t timedWork) bool { return t.operator == w.operator }) {
			timed = append(timed, timedWork{w, true})
		}
	}
	timed = slices.DeleteFunc(timed,
		func(w timedWork) bool { return w.judged && !x.passed(w.work) || x.resumedComplete(w.work) })
	if len(timed) == 0 {
		return nil
	}
	works := make([]work, len(timed))
	for i, w := range timed {
		works[i] = w.work
	}
	if err := x.measureCeilings(ctx, backends, works); err != nil {
		return err
	}
	undumped := *x.Runner // a dump is for looking at: a bench point has gigabytes
	undumped.Dumper = nil
	x.Runner = &undumped
	all := len(timed)
	w, more, err := take(x, &timed)
	for more {
		if x.Stop.Err() != nil {
			x.result.Interrupted = true
			return nil
		}
		var next timedWork
		x.progress(Progress{Text: fmt.Sprintf("timing what passes, %d of %d", all-len(timed), all)})
		if next, more, err = take(x, &timed); err != nil {
			return err
		}
		if err := x.timeOne(ctx, w, whereTaken(next.work, more)); err != nil {
			return err
		}
		w = next
	}
	return err
}

// timeOne times one case of a comparison, and judges it first unless that is done.
func (x *execution) timeOne(ctx context.Context, w timedWork, after []work) error {
	if !w.judged {
		return x.benchCase(ctx, w.work, after)
	}
	c, err := x.ahead.take(x, w.work)
	if errors.Is(err, errLeft) {
		x.cutShort()
		return nil
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", describe(w.Case), err)
	}
	x.result.Records = append(x.result.Records, x.before(w.work)...)
	return x.time(ctx, c, x.recordsOf(w.work))
}

// resumedComplete reports whether the session that is resumed had judged and timed all of a case.
func (x *execution) resumedComplete(w work) bool { return len(x.before(w)) > 0 && x.complete(w) }

// largest returns, for every operator, pass and dtype, the largest case of a comparison on which something
// passed.
func (x *execution) largest(planned []work) []work {
	chosen := map[string]work{}
	var order []string
	for _, w := range planned {
		key := fmt.Sprint(w.Op, w.Pass, w.DType)
		if w.Layout != "contiguous" || w.Distribution != "normal" || w.Saved == "driver" || !x.passed(w) {
			continue
		}
		old, known := chosen[key]
		if !known {
			order = append(order, key)
		}
		if !known || bytesOf(old) < bytesOf(w) {
			chosen[key] = w
		}
	}
	all := make([]work, len(order))
	for i, key := range order {
		all[i] = chosen[key]
	}
	return all
}

// passed reports whether an implementation of a case may be timed.
func (x *execution) passed(w work) bool {
	return slices.ContainsFunc(x.recordsOf(w), timeable) ||
		slices.ContainsFunc(x.before(w), func(r record.Record) bool { return timeable(&r) })
}

func bytesOf(w work) int64 {
	bytes, _, err := w.operator.Spec.Cost(w.Case)
	if err != nil {
		return 0
	}
	return bytes
}
