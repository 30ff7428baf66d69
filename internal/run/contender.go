package run

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
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
	stride               int // it takes part in every stride-th round
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
			all[r] = stats.Round{Time: stats.Median(times[r]), Clock: clocks[r]}
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

// estimateNS is what one call seemed to take before the rounds; of who cannot be timed, infinity.
func (k *contender) estimateNS() float64 {
	if k.arm == nil {
		return math.Inf(1)
	}
	return k.arm.Facts().EstimateNS
}

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
	done       int           // rounds
	waited     time.Duration // of all turns, for the card to rest or to settle
	overdrawn  bool          // the budget is spent: rounds go on for those alone that have too few, beside which all others are compared
}

// run makes rounds until every contender is settled, or the plan's bounds are met. Rounds go through the contenders forwards and backwards
// in turn (ABBA), so that a drift of the card meets all alike, and only one of them runs at a time.
func (h *heat) run(ctx context.Context) error {
	h.strides()
	began := time.Now()
	for h.done < h.regime.mostRounds(h.plan.Rounds) {
		spent := time.Since(began) - h.waited
		if h.settled() || ctx.Err() != nil || h.done >= 2 && spent > h.plan.Budget && (h.spoken() || spent > mostOverdraft*h.plan.Budget) {
			break
		}
		h.overdrawn = spent > h.plan.Budget
		if err := h.round(ctx); err != nil {
			return err
		}
		h.done++
	}
	return ctx.Err()
}

// strides lets contenders whose turns are too long for the budget take part more rarely. Whoever may turn out to be the fastest takes part in
// every round: all others are compared with it, in the rounds that they share.
func (h *heat) strides() {
	active := 0
	for _, k := range h.contenders {
		if k.arm != nil {
			active++
		}
	}
	share := float64(h.plan.Budget.Nanoseconds()) / roundsAimed / float64(max(active, 1))
	for _, k := range h.contenders {
		k.stride = 1
		if k.arm == nil || h.regime.Load != Interleaved || k.estimateNS() <= h.fastest().estimateNS()*nearFastest {
			continue
		}
		_, discard, samples := h.regime.turn(k.replayNS(), k.arm.Facts().Calls)
		k.stride = max(1, min(longestStride, h.plan.Rounds/leastTurns, int(math.Ceil(k.replayNS()*float64(discard+samples)/share))))
	}
}

// fastest is who seems the fastest before the rounds are done.
func (h *heat) fastest() *contender {
	return slices.MinFunc(h.contenders, func(a, b *contender) int { return cmp.Compare(a.estimateNS(), b.estimateNS()) })
}

// spoken says whether everyone can be compared with whoever seems the fastest.
func (h *heat) spoken() bool {
	return !slices.ContainsFunc(h.contenders, func(k *contender) bool { return k.arm != nil && h.lacksRounds(k) })
}

// lacksRounds says whether a contender and whoever seems the fastest have too few rounds in common.
func (h *heat) lacksRounds(k *contender) bool {
	one, other, shared := k.byRound(h.done+1), h.fastest().byRound(h.done+1), 0 // the round that is going on too
	for i := range one {
		if one[i].Time > 0 && other[i].Time > 0 {
			shared++
		}
	}
	return shared < min(stats.LeastRounds, h.regime.mostRounds(h.plan.Rounds))
}

func (h *heat) settled() bool {
	if h.done < settledRounds && h.done < h.regime.mostRounds(h.plan.Rounds) {
		return false
	}
	for _, k := range h.contenders {
		if k.arm != nil && !stats.Settled(k.kept(), leastSamples, settledAt) {
			return false
		}
	}
	return true
}

// round gives every contender whose turn it is one turn.
func (h *heat) round(ctx context.Context) error {
	for position := range h.contenders {
		i := position
		if h.done%2 == 1 {
			i = len(h.contenders) - 1 - position
		}
		k := h.contenders[i]
		if k.arm == nil || !h.overdrawn && h.done%k.stride != 0 || h.overdrawn && k.stride > 1 && !h.lacksRounds(k) {
			continue
		}
		if err := h.turn(ctx, k, position); err != nil {
			return err
		}
	}
	return nil
}

// turn times one contender once.
func (h *heat) turn(ctx context.Context, k *contender, position int) error {
	settle, discard, samples := h.regime.turn(k.replayNS(), k.arm.Facts().Calls)
	if h.regime.Load == Burst {
		h.rest(ctx, restBefore)
		h.waited += restBefore
	}
	h.waited += settle
	watch := h.watch()
	reply, outcome, err := k.arm.Time(ctx, backend.TimeArgs{SettleNS: settle.Nanoseconds(), Discard: discard, Samples: samples})
	seen := watch()
	if err != nil {
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
	for _, k := range h.contenders {
		if k.arm == nil {
			continue
		}
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
	}
	return nil
}

// compare gives the ratio of every contender to the fastest, and that of the fastest to itself.
func (h *heat) compare(timings map[*contender]record.Timing) []record.Comparison {
	var best *contender
	for _, k := range h.contenders {
		t := timings[k]
		if !k.shadow && t.Status == op.StatusPass && (best == nil || t.MedianNS < timings[best].MedianNS) {
			best = k
		}
	}
	if best == nil {
		return nil
	}
	noise := 0.0
	var all []record.Comparison
	for _, k := range h.contenders {
		if !k.shadow {
			continue
		}
		for _, twin := range h.contenders {
			if !twin.shadow && twin.record == k.record {
				c := stats.Compare(twin.byRound(h.done), k.byRound(h.done), 0)
				noise = c.Noise()
				if len(c.Ratios) > 0 {
					all = append(all, comparisonOf(twin, k, h.regime, c))
				}
			}
		}
	}
	for _, k := range h.contenders {
		if k.shadow || k == best || timings[k].Status != op.StatusPass && timings[k].Status != op.StatusUnstable {
			continue
		}
		if c := stats.Compare(k.byRound(h.done), best.byRound(h.done), noise); len(c.Ratios) > 0 {
			all = append(all, comparisonOf(k, best, h.regime, c))
		}
	}
	return all
}

func comparisonOf(a, b *contender, r Regime, c stats.Comparison) record.Comparison {
	return record.Comparison{A: a.implementation.Name, B: b.implementation.Name, RunA: a.record.ID, RunB: b.record.ID, Regime: r.String(),
		Ratios: c.Ratios, Ratio: c.Ratio, Low: c.Low, High: c.High, Word: string(c.Word)}
}
