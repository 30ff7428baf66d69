package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
)

// contender is one implementation in the rounds of a case.
type contender struct {
	entry
	record *record.Record
	job    backend.Job
	arm    backend.Arm // nil where it could not be prepared, and after it failed
	shadow bool        // the second arm of an A/A comparison: it is in no table

	samples, clocks      []float64 // one a sample
	rounds, positions    []int
	powers, temperatures []float64 // one a turn
	throttle             uint64
	failed               op.Status // what it came to beside a time
	sentence             string
	backward, note       string // what its backward starts from, and what else is to be said of how it was timed
}

// kept are the samples that were not taken at a slow clock.
func (k *contender) kept() []float64 {
	slow := stats.SlowClocks(k.clocks, slowClock)
	var kept []float64
	for i, s := range k.samples {
		if !slow[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// byRound is what the contender did in each of n rounds.
func (k *contender) byRound(n int) []stats.Round {
	slow := stats.SlowClocks(k.clocks, slowClock)
	times, clocks := make([][]float64, n), make([]float64, n)
	for i, r := range k.rounds {
		if !slow[i] {
			times[r] = append(times[r], k.samples[i])
			clocks[r] = k.clocks[i]
		}
	}
	all := make([]stats.Round, n)
	for r := range all {
		if len(times[r]) > 0 {
			all[r] = stats.Round{Time: stats.Median(times[r]), Least: slices.Min(times[r]), Most: slices.Max(times[r]), Clock: clocks[r]}
		}
	}
	return all
}

// fail ends the contender's part.
func (k *contender) fail(o backend.Outcome) {
	k.failed, k.sentence, k.arm = o.Status, o.Sentence, nil
	if k.failed == op.StatusUnknown {
		k.failed = op.StatusCrash
	}
}

// medianNS is what one call took so far, or seemed to take before the rounds, of a contender that has an arm.
func (k *contender) medianNS() float64 {
	if kept := k.kept(); len(kept) > 0 {
		return stats.Median(kept)
	}
	return k.arm.Facts().EstimateNS
}

// pair says whether its calls run the forward as well: no time of a backward.
func (k *contender) pair() bool { return k.backward == record.ForwardBackward }

// replayNS is what one replay takes, in ns.
func (k *contender) replayNS() float64 {
	f := k.arm.Facts()
	return math.Max(f.EstimateNS*float64(f.Calls), 1)
}

// heat is the rounds of one case in one regime.
type heat struct {
	*execution
	regime     Regime
	plan       TimingPlan
	contenders []*contender
	out        map[*record.Record]bool // records that take no part: their times were wrong
	done       int                     // rounds
	waited     time.Duration           // of all turns, for the card to rest or to settle
	alone      front
	pairs      front // of a backward with its forward
}

// front is what the rounds of those that are compared with each other go by. A backward with its forward is
// compared with its like alone: beside a backward alone it would seem far behind, and get too few rounds for
// a word.
type front struct {
	leader    *contender    // the fastest so far; nil where nobody can be timed
	over      bool          // it needs no further rounds
	near, far time.Duration // what the turns took of those near the front, and of those far behind it
}

// frontOf is the front that a contender belongs to.
func (h *heat) frontOf(k *contender) *front {
	if k.pair() {
		return &h.pairs
	}
	return &h.alone
}

// run makes rounds until every contender is settled, or the plan's bounds are met. Rounds go through the contenders forwards and backwards
// in turn (ABBA), so that a drift of the card meets all alike, and only one of them runs at a time.
func (h *heat) run(ctx context.Context) error {
	for h.done < h.regime.mostRounds(h.plan.Rounds) && ctx.Err() == nil {
		h.lead()
		for _, f := range []*front{&h.alone, &h.pairs} {
			f.over = f.over || f.leader == nil || h.settled(f) || h.spent(f)
		}
		if h.alone.over && h.pairs.over {
			break
		}
		if err := h.round(ctx); err != nil {
			return err
		}
		h.done++
	}
	return ctx.Err()
}

// lead finds who leads each front.
func (h *heat) lead() {
	h.alone.leader, h.pairs.leader = nil, nil
	for _, k := range h.contenders {
		if f := h.frontOf(k); k.arm != nil && (f.leader == nil || k.medianNS() < f.leader.medianNS()) {
			f.leader = k
		}
	}
}

// farBehind says whether a contender takes more than twice the time of its leader. What it costs is not taken
// from those near the front, and its rounds end as soon as they suffice for a word.
func (h *heat) farBehind(k *contender) bool {
	return k.medianNS() > farBehind*h.frontOf(k).leader.medianNS()
}

// lacksRounds says whether a contender needs more rounds together with its leader before a word can be said
// of the two.
func (h *heat) lacksRounds(k *contender) bool {
	one, other, shared := k.byRound(h.done), h.frontOf(k).leader.byRound(h.done), 0
	for i := range one {
		if one[i].Time > 0 && other[i].Time > 0 {
			shared++
		}
	}
	return shared < min(stats.LeastRounds, h.regime.mostRounds(h.plan.Rounds)) && !stats.Apart(one, other)
}

// settled says whether the rounds of a front can end: everyone near it has a narrow interval, and everyone
// else the rounds of a word.
func (h *heat) settled(f *front) bool {
	if h.done < settledRounds {
		return false
	}
	return !slices.ContainsFunc(h.contenders, func(k *contender) bool {
		switch {
		case k.arm == nil || h.frontOf(k) != f:
			return false
		case h.farBehind(k):
			return h.lacksRounds(k)
		}
		return !stats.Settled(k.kept(), leastSamples, settledAt)
	})
}

// spent says whether the budget ends the rounds of a front. It is that of the contenders near it; where one
// of them lacks rounds at its end, they get up to mostOverBudget times as much. Sustained turns have a length
// and a number of their own.
func (h *heat) spent(f *front) bool {
	if h.regime.Load == Sustained || h.done < 2 || f.near <= h.plan.Budget {
		return false
	}
	lacking := slices.ContainsFunc(h.contenders, func(k *contender) bool {
		return h.frontOf(k) == f && h.takesPart(k) && h.lacksRounds(k)
	})
	return !lacking || f.near > mostOverBudget*h.plan.Budget
}

// takesPart says whether a contender gets a turn in the next round: who is far behind only until a word can be said of it, and within a
// budget of its own, so that a row that takes minutes ends too.
func (h *heat) takesPart(k *contender) bool {
	f := h.frontOf(k)
	if k.arm == nil || f.over || !h.farBehind(k) {
		return k.arm != nil && !f.over
	}
	return h.lacksRounds(k) && f.far <= mostFarBehind*h.plan.Budget
}

// round gives every contender that takes part one turn.
func (h *heat) round(ctx context.Context) error {
	far, takesPart := make([]bool, len(h.contenders)), make([]bool, len(h.contenders))
	for i, k := range h.contenders { // looked at once a round: between two turns the card would wait for it
		takesPart[i] = h.takesPart(k)
		far[i] = takesPart[i] && h.farBehind(k)
	}
	for position := range h.contenders {
		i := position
		if h.done%2 == 1 {
			i = len(h.contenders) - 1 - position
		}
		if !takesPart[i] {
			continue
		}
		began, waited := time.Now(), h.waited
		if err := h.turn(ctx, h.contenders[i], position); err != nil {
			return err
		}
		took := &h.frontOf(h.contenders[i]).near
		if far[i] {
			took = &h.frontOf(h.contenders[i]).far
		}
		*took += time.Since(began) - (h.waited - waited)
	}
	return nil
}

// turn times one contender once.
func (h *heat) turn(ctx context.Context, k *contender, position int) (err error) {
	defer panics.Caught(&err, func() string { return "timing " + k.implementation.Name })
	settle, discard, samples := h.regime.turn(k.replayNS(), k.arm.Facts().Calls, len(k.samples) == 0)
	if h.regime.Load == Burst {
		h.rest(ctx, restBefore)
		h.waited += restBefore
	}
	h.waited += settle
	watch := h.watch()
	reply, outcome, err := k.arm.Time(ctx, backend.TimeArgs{SettleNS: settle.Nanoseconds(), Discard: discard, Samples: samples})
	seen, watchErr := watch()
	if err := errors.Join(err, watchErr); err != nil {
		return err
	}
	if outcome.Status != op.StatusUnknown && ctx.Err() != nil {
		return ctx.Err()
	}
	if outcome.Status != op.StatusUnknown {
		k.fail(outcome)
		return nil
	}
	for _, s := range reply.SamplesNS {
		k.samples, k.clocks = append(k.samples, s), append(k.clocks, seen.ClockMHz)
		k.rounds, k.positions = append(k.rounds, h.done), append(k.positions, position)
	}
	k.powers, k.temperatures = append(k.powers, seen.PowerW), append(k.temperatures, seen.TemperatureC)
	k.throttle |= seen.Throttle
	return nil
}

// finish frees every arm and judges what the timed calls wrote.
func (h *heat) finish(ctx context.Context, c *prepared) error {
	var group panics.Group // nothing is timed any more: workers copy side by side
	failures := make([]error, len(h.contenders))
	for i, k := range h.contenders {
		if k.arm != nil {
			group.Go(func() { failures[i] = h.finishOne(ctx, c, k) })
		}
	}
	return errors.Join(group.Wait(), errors.Join(failures...))
}

func (h *heat) finishOne(ctx context.Context, c *prepared, k *contender) (err error) {
	defer panics.Caught(&err, func() string { return "judging what the timed calls of " + k.implementation.Name + " wrote" })
	outcome, differing, err := k.arm.Finish(ctx)
	if err != nil {
		return err
	}
	if outcome.Status != op.StatusUnknown && ctx.Err() != nil {
		return ctx.Err()
	}
	if k.failed, k.sentence = h.judgeTimed(c, k, outcome, differing); k.failed == op.StatusUnknown {
		k.sentence = ""
	}
	return nil
}

// badLeader is the fastest, where its time is none: it was wrong when it was timed, or impossibly fast. Nil where nobody else is left either.
func (h *heat) badLeader(timings map[*contender]*record.Timing) *contender {
	var leader *contender
	left := 0
	for _, k := range h.contenders {
		if t := timings[k]; !k.shadow && t.MedianNS > 0 {
			if left++; leader == nil || t.MedianNS < timings[leader].MedianNS {
				leader = k
			}
		}
	}
	if left < 2 || timings[leader].Status.Weight() != op.Bad {
		return nil
	}
	return leader
}

// best is who all others are compared with: the fastest of those whose time can be used, else the fastest of those that are UNSTABLE. A
// backward with its forward is compared with its like alone.
func (h *heat) best(timings map[*contender]*record.Timing, pairs bool) *contender {
	for _, status := range []op.Status{op.StatusPass, op.StatusUnstable} {
		var best *contender
		for _, k := range h.contenders {
			t := timings[k]
			if !k.shadow && k.pair() == pairs && t.Status == status && t.MedianNS > 0 && (best == nil || t.MedianNS < timings[best].MedianNS) {
				best = k
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// compare gives the ratio of every contender to the fastest, and that of one contender to itself. A time that is UNSTABLE because it left
// the rounds early can be used: it lies apart from the fastest.
func (h *heat) compare(timings map[*contender]*record.Timing) []record.Comparison {
	alone, pairs := h.best(timings, false), h.best(timings, true)
	if alone == nil && pairs == nil {
		return nil
	}
	all, noise := h.compareTwins()
	for _, k := range h.contenders {
		t, best := timings[k], alone
		if k.pair() {
			best = pairs
		}
		if k.shadow || best == nil || k == best || t.Status != op.StatusPass && t.Status != op.StatusUnstable {
			continue
		}
		c := stats.Compare(k.byRound(h.done), best.byRound(h.done), noise)
		if c.Apart && t.Status == op.StatusUnstable {
			t.Status, t.Message = op.StatusPass, fmt.Sprintf("%d rounds, in each above %d x the fastest", len(c.Ratios), stats.ApartBy)
		}
		if len(c.Ratios) > 0 {
			all = append(all, comparisonOf(k, best, h.regime, c))
		}
	}
	return all
}

// compareTwins compares the contender that ran as both arms with itself, and gives the noise that this shows.
func (h *heat) compareTwins() (all []record.Comparison, noise float64) {
	for _, k := range h.contenders {
		if !k.shadow {
			continue
		}
		for _, twin := range h.contenders {
			if twin.shadow || twin.record != k.record {
				continue
			}
			c := stats.Compare(twin.byRound(h.done), k.byRound(h.done), 0)
			noise = c.Noise()
			if len(c.Ratios) > 0 {
				all = append(all, comparisonOf(twin, k, h.regime, c))
			}
		}
	}
	return all, noise
}

func comparisonOf(a, b *contender, r Regime, c stats.Comparison) record.Comparison {
	return record.Comparison{A: a.implementation.Name, B: b.implementation.Name, RunA: a.record.ID, RunB: b.record.ID, Regime: r.String(),
		Ratios: c.Ratios, Ratio: c.Ratio, Low: c.Low, High: c.High, Word: string(c.Word)}
}
