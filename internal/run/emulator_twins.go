package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// twinCounts counts the emulator's verdicts. The zero value is ready to use.
type twinCounts struct {
	mu    sync.Mutex
	seen  []*TwinVerdicts
	took  intervals
	quick map[string]map[string]bool // the keys of the quick cases, by operator
}

// twinLimit bounds the emulator's time for the cases of one implementation if no limit is given.
const twinLimit = 60 * time.Second

func (b *twinCounts) of(impl string) *TwinVerdicts {
	for _, s := range b.seen {
		if s.Impl == impl {
			return s
		}
	}
	b.seen = append(b.seen, &TwinVerdicts{Impl: impl, Wrong: map[string]int{}})
	return b.seen[len(b.seen)-1]
}

// isQuick reports whether a case is one of the quick ones.
func (b *twinCounts) isQuick(c *prepared, o op.Options) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	keys, known := b.quick[c.Op]
	if !known {
		keys = map[string]bool{}
		o.Level = op.LevelQuick
		if plan, err := c.operator.Spec.Expand(o); err == nil {
			for _, quick := range plan.Cases {
				keys[quick.Key()] = true
			}
		}
		if b.quick == nil {
			b.quick = map[string]map[string]bool{}
		}
		b.quick[c.Op] = keys
	}
	return keys[c.Key()]
}

// judgeTwin makes the emulator judge what passed on a GPU. The emulator's finding becomes the verdict.
func (x *execution) judgeTwin(ctx context.Context, c *prepared, e entry, r *record.Record) error {
	if x.Twins == nil || r.Device != "gpu" || r.Status.Weight() == op.Bad || r.Launches == 0 ||
		!x.twinCounts.isQuick(c, x.request.Options) {
		return nil
	}
	twin, b, why := x.Twins.Twin(ctx, e.implementation)
	if b == nil && why == "" {
		return nil
	}
	took, began := x.twinCounts.begun(r.Impl, &b, why, x.request.CasesLimit)
	if b == nil {
		return nil
	}
	defer func() {
		x.twinCounts.mu.Lock()
		defer x.twinCounts.mu.Unlock()
		took.end(time.Now())
	}()
	twin.Doubts = e.implementation.Doubts
	other := entry{implementation: twin, backend: b}
	emulated := newRecord(c, other, x.request.Seed, began)
	outcome, err := x.launch(ctx, c, other)
	if err != nil {
		return err
	}
	x.rules().ruleOn(c, other, outcome, &emulated)
	if err := x.inMemory(ctx, c, other, &emulated); err != nil {
		return err
	}
	other.doubted(&emulated)
	x.twinCounts.mu.Lock()
	defer x.twinCounts.mu.Unlock()
	seen := x.twinCounts.of(r.Impl)
	switch emulated.Status.Weight() {
	case op.Bad:
		seen.Judged++
		seen.Wrong[emulated.Status.String()]++
		takeEmulated(r, emulated)
	case op.Good:
		seen.Judged++
	default:
		if outcome.Status == op.StatusUnknown && emulated.Status != op.StatusNotUnderstood {
			seen.Judged++ // it can tell nothing there, and neither can a GPU
			break
		}
		seen.Left, seen.Why = seen.Left+1, emulated.Message
	}
	return nil
}

// begun starts the clock of a case. Without an emulator, or once the cases of an implementation have used up
// their time, it counts the case as left out, and the emulator is nil. limit 0: twinLimit.
func (b *twinCounts) begun(impl string, emulator *backend.Backend, why string, limit time.Duration) (
	*overlapping, time.Time,
) {
	if limit <= 0 {
		limit = twinLimit
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	took, now := b.took.of(impl), time.Now()
	if *emulator != nil && took.total(now) > limit {
		*emulator, why = nil, fmt.Sprintf("it took %v for those before", limit)
	}
	if *emulator == nil {
		seen := b.of(impl)
		seen.Left, seen.Why = seen.Left+1, why
		return nil, now
	}
	took.begin(now)
	return took, now
}

// takeEmulated makes the emulator's finding the verdict on a run on a GPU.
func takeEmulated(r *record.Record, emulated record.Record) {
	both := fmt.Sprintf("gpu %v, emulator %v", r.Status, emulated.Status)
	if emulated.Where != nil && emulated.Where.Line > 0 {
		both += fmt.Sprintf(" line %d", emulated.Where.Line)
	}
	r.Message = both + ": " + emulated.Message
	r.Status, r.Where, r.LogTail = emulated.Status, emulated.Where, emulated.LogTail
	r.Outputs, r.Device = emulated.Outputs, emulated.Device
	for i := range r.Outputs {
		if o := &r.Outputs[i]; o.Status.Weight() == op.Bad {
			o.Message = both + ": " + o.Message
		}
	}
}
