package run

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// A pass of an implementation is abandoned after this many consecutive cases that cost a worker: each further
// one would cost a fresh process or a whole deadline again, and show nothing new. A function that was never
// right, and whose signature triad may have misread, is abandoned too.
const (
	mostCrashes  = 3
	mostHangs    = 2
	mostDoubted  = 3
	mostTroubles = 2
)

// losses counts the cases of one pass of an implementation that cost a worker since the last one that
// returned; on a GPU, where dtypes may be judged side by side, those of one dtype. Its launches are
// sequential, so that none begins before the previous one is counted.
type losses struct {
	turn           sync.Mutex
	mu             sync.Mutex // guards what follows
	crashes, hangs int
	// doubted counts the cases of each dtype that ended NOT_UNDERSTOOD for a guess about all cases, once
	// every earlier case of the plan is judged: cases run side by side, and an earlier one may turn out right
	doubted map[string]int
	line    []*standing // the cases that were begun, as planned, from the first that is not judged
	right   bool        // some case was right, in any dtype
	// troubles counts the cases that this machine kept from running, trouble is the last reason
	troubles int
	trouble  *ruling
}

// standing is a case under way.
type standing struct {
	key, dtype    string
	over, doubted bool
}

// lossesOf returns the losses of an entry in a dtype.
func (x *execution) lossesOf(e entry, dtype string) *losses {
	key := fmt.Sprint(e.implementation.Op, " ", e.implementation.Pass, " ", e.implementation.Name)
	if e.implementation.Device == "gpu" {
		key += " " + dtype
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.lost == nil {
		x.lost = map[string]*losses{}
	}
	if x.lost[key] == nil {
		x.lost[key] = &losses{}
	}
	return x.lost[key]
}

// inTurn launches an entry once the earlier ones are counted, or abandons it.
func (x *execution) inTurn(ctx context.Context, c *prepared, e entry) (backend.Outcome, *ruling, error) {
	l := x.lossesOf(e, c.DType)
	l.turn.Lock()
	defer l.turn.Unlock()
	if x.leaves(c) { // it was stopped while this waited
		return backend.Outcome{}, nil, errLeft
	}
	given := l.ruling(c.DType)
	if given == nil {
		given = x.tooLong(e)
	}
	if given != nil {
		return backend.Outcome{}, given, nil
	}
	over := x.begun(e)
	outcome, err := x.launch(ctx, c, e)
	over()
	if err == nil {
		l.note(outcome)
	}
	return outcome, nil, err
}

// begun starts the clock of a case of an implementation, which over stops.
func (x *execution) begun(e entry) (over func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	took := x.took.of(e.implementation.Name)
	took.begin(time.Now())
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		took.end(time.Now())
	}
}

// note counts how a case ended. An exception, which costs no worker, counts as a return; a case that was
// declined counts as nothing.
func (l *losses) note(o backend.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case o.Status.Weight() == op.Neutral && o.Status != op.StatusUnknown:
	case o.Status == op.StatusHang:
		l.hangs++
	case o.Status == op.StatusCrash && o.Ended:
		l.crashes++
	default:
		l.crashes, l.hangs = 0, 0
	}
}

// open counts a case that this machine kept from running.
func (l *losses) open(why *ruling) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.troubles, l.trouble = l.troubles+1, why
}

// begin appends a case to the lines of its entries; cases begin in the order of the plan.
func (x *execution) begin(w work) {
	for _, e := range w.entries {
		l := x.lossesOf(e, w.DType)
		l.mu.Lock()
		l.line = append(l.line, &standing{key: w.Key(), dtype: w.DType})
		l.mu.Unlock()
	}
}

// end removes a case from the lines of its entries.
func (x *execution) end(w work) {
	for _, e := range w.entries {
		x.lossesOf(e, w.DType).ended(w.Key())
	}
}

// judged counts the verdict on a case that was run.
func (l *losses) judged(e entry, r *record.Record) {
	doubted := r.Status == op.StatusNotUnderstood &&
		slices.ContainsFunc(e.implementation.Doubts, backend.Doubt.Everywhere)
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Status.Weight() == op.Good || r.Status == op.StatusDifferentContract {
		l.right = true
	}
	for _, s := range l.line {
		s.doubted = s.doubted || doubted && s.key == r.Case.Key()
	}
}

// ended removes a case from the line, whatever its result.
func (l *losses) ended(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.line {
		s.over = s.over || s.key == key
	}
	for len(l.line) > 0 && l.line[0].over {
		if first := l.line[0]; first.doubted {
			if l.doubted == nil {
				l.doubted = map[string]int{}
			}
			l.doubted[first.dtype]++
		}
		l.line = l.line[1:]
	}
}

// tooLong returns the ruling on a case of a limited implementation once its cases have used up their time, so
// that an implementation that hangs takes no time from the others. Cases that run side by side, as of two
// passes, count once.
func (x *execution) tooLong(e entry) *ruling {
	limit := x.request.CasesLimit
	if limit <= 0 || !x.request.Limited(e.implementation.Name) {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.took.of(e.implementation.Name).total(time.Now()) < limit {
		return nil
	}
	return &ruling{
		status: op.StatusSkipped,
		sentence: fmt.Sprintf("not run: its cases before this one took %v, as long as those of an added "+
			"file get with --quick; --limit cases=%v gives them longer, --dims, --dtype or --distribution "+
			"choose a single case", limit, 10*limit),
	}
}

// ruling returns the verdict on the remaining cases of a dtype: nil while they are run.
func (l *losses) ruling(dtype string) *ruling {
	l.mu.Lock()
	defer l.mu.Unlock()
	status, count := op.StatusUnknown, 0
	switch {
	case l.troubles >= mostTroubles:
		return l.trouble
	case l.hangs >= mostHangs:
		status, count = op.StatusHang, l.hangs
	case l.crashes >= mostCrashes:
		status, count = op.StatusCrash, l.crashes
	case l.doubted[dtype] >= mostDoubted && !l.right:
		status, count = op.StatusNotUnderstood, l.doubted[dtype]
	default:
		return nil
	}
	return &ruling{
		status: op.StatusSkipped,
		sentence: fmt.Sprintf("not run: it ended %v on %d cases before this one; --dims, --dtype or "+
			"--distribution choose a single case", status, count),
	}
}

// resumed takes over the records of an interrupted session, and counts its hangs, which cost the most time.
func (x *execution) resumed() {
	x.recorded = map[string][]record.Record{}
	for _, r := range x.request.Before {
		x.recorded[r.Case.Key()] = append(x.recorded[r.Case.Key()], r)
		i := backend.Implementation{Op: r.Case.Op, Pass: r.Case.Pass, Name: r.Impl, Device: r.Device}
		status := r.Status
		if r.Launches > 0 { // it returned, whatever the verdict
			status = op.StatusUnknown
		}
		x.lossesOf(entry{implementation: i}, r.Case.DType).note(backend.Outcome{Status: status})
	}
}
