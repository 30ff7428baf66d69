package timing

import (
	"context"
	"errors"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
)

// timedCase is the rounds of one case in one regime.
type timedCase struct {
	*Timer
	regime Regime
	impls  []*timedImpl
	out    map[*record.Record]bool // records that take no part: their times were wrong
	rounds int                     // that are done
	waited time.Duration           // of all measurements, for the card to rest or to settle
	alone  cohort
	pairs  cohort // of a backward with its forward
}

// cohort is a group of implementations that are compared with each other, and the state of their rounds. A
// backward timed with its forward is compared only with others of its kind: compared with a backward alone it
// would seem far behind, and get too few rounds for a verdict.
type cohort struct {
	leader    *timedImpl    // the fastest so far; nil if none can be timed
	over      bool          // it needs no further rounds
	near, far time.Duration // what the measurements took of those near the leader, and of those far behind it
}

// cohortOf returns the cohort of an implementation.
func (c *timedCase) cohortOf(k *timedImpl) *cohort {
	if k.pair() {
		return &c.pairs
	}
	return &c.alone
}

// run makes rounds until every implementation is settled, or the plan's bounds are met. Rounds go through the
// implementations forwards and backwards in turn (ABBA), so that a drift of the card meets all alike, and
// only one of them runs at a time.
func (c *timedCase) run(ctx context.Context) error {
	for c.rounds < c.regime.mostRounds(c.Plan.Rounds) && ctx.Err() == nil {
		c.lead()
		for _, f := range []*cohort{&c.alone, &c.pairs} {
			f.over = f.over || f.leader == nil || c.settled(f) || c.overBudget(f)
		}
		if c.alone.over && c.pairs.over {
			break
		}
		if err := c.round(ctx); err != nil {
			return err
		}
		c.rounds++
	}
	return ctx.Err()
}

// lead finds the leader of each cohort. A second candidate never leads: nothing is compared with it.
func (c *timedCase) lead() {
	c.alone.leader, c.pairs.leader = nil, nil
	for _, k := range c.impls {
		if k.candidate == nil || k.aaTwin {
			continue
		}
		if f := c.cohortOf(k); f.leader == nil || k.medianNS() < f.leader.medianNS() {
			f.leader = k
		}
	}
}

// farBehind reports whether an implementation takes more than twice the time of its leader. Its measurements
// are not charged to the budget of those near the leader, and its rounds end as soon as they suffice for a
// verdict.
func (c *timedCase) farBehind(k *timedImpl) bool {
	return k.medianNS() > farBehind*c.cohortOf(k).leader.medianNS()
}

// enoughSharedRounds reports whether an implementation shares enough rounds with its leader for SLOWER,
// FASTER or SAME.
func (c *timedCase) enoughSharedRounds(k *timedImpl) bool {
	one, other, shared := k.byRound(c.rounds), c.cohortOf(k).leader.byRound(c.rounds), 0
	for i := range one {
		if one[i].Time > 0 && other[i].Time > 0 {
			shared++
		}
	}
	return shared >= min(stats.LeastRounds, c.regime.mostRounds(c.Plan.Rounds)) || stats.Apart(one, other)
}

// settled reports whether the rounds of a cohort can end: each implementation near it has a narrow interval,
// and each other one enough rounds for a verdict.
func (c *timedCase) settled(f *cohort) bool {
	if c.rounds < settledRounds {
		return false
	}
	return !slices.ContainsFunc(c.impls, func(k *timedImpl) bool {
		switch {
		case k.candidate == nil || c.cohortOf(k) != f:
			return false
		case c.farBehind(k):
			return !c.enoughSharedRounds(k)
		}
		return !stats.Settled(k.kept(), leastSamples, settledAt)
	})
}

// overBudget reports whether the budget ends the rounds of a cohort. Only implementations near the leader are
// charged to it. If one lacks rounds when it is spent, they get up to mostOverBudget times as much. Sustained
// measurements have a length and a number of their own.
func (c *timedCase) overBudget(f *cohort) bool {
	if c.regime.Load == Sustained || c.rounds < 2 || f.near <= c.Plan.Budget {
		return false
	}
	lacking := slices.ContainsFunc(c.impls, func(k *timedImpl) bool {
		return c.cohortOf(k) == f && c.takesPart(k) && !c.enoughSharedRounds(k)
	})
	return !lacking || f.near > mostOverBudget*c.Plan.Budget
}

// takesPart reports whether an implementation gets a measurement in the next round. One far behind gets
// measurements only until it has enough rounds for a verdict, and within a budget of its own, so that a row
// that takes minutes ends too.
func (c *timedCase) takesPart(k *timedImpl) bool {
	f := c.cohortOf(k)
	if k.candidate == nil || f.over || !c.farBehind(k) {
		return k.candidate != nil && !f.over
	}
	return !c.enoughSharedRounds(k) && f.far <= mostFarBehind*c.Plan.Budget
}

// round gives one measurement to every implementation that takes part.
func (c *timedCase) round(ctx context.Context) error {
	far, takesPart := make([]bool, len(c.impls)), make([]bool, len(c.impls))
	for i, k := range c.impls { // once per round: between two measurements the card would wait for it
		takesPart[i] = c.takesPart(k)
		far[i] = takesPart[i] && c.farBehind(k)
	}
	for position := range c.impls {
		i := position
		if c.rounds%2 == 1 {
			i = len(c.impls) - 1 - position
		}
		if !takesPart[i] {
			continue
		}
		began, waited := time.Now(), c.waited
		if err := c.measure(ctx, c.impls[i], position); err != nil {
			return err
		}
		took := &c.cohortOf(c.impls[i]).near
		if far[i] {
			took = &c.cohortOf(c.impls[i]).far
		}
		*took += time.Since(began) - (c.waited - waited)
	}
	return nil
}

// measure times one implementation once.
func (c *timedCase) measure(ctx context.Context, k *timedImpl, position int) (err error) {
	defer panics.Caught(&err, func() string { return "timing " + k.Implementation.Name })
	settle, discard, samples := c.regime.measurement(k.replayNS(), k.candidate.Facts().Calls,
		len(k.samples) == 0)
	if c.regime.Load == Burst {
		c.rest(ctx, restBefore)
		c.waited += restBefore
	}
	c.waited += settle
	watch := c.watch(k.candidate.Facts().Devices)
	args := backend.TimeArgs{
		SettleNS: settle.Nanoseconds(), Others: c.regime.Cold, Discard: discard, Samples: samples,
	}
	reply, outcome, err := k.candidate.Time(ctx, args)
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
		k.rounds, k.positions = append(k.rounds, c.rounds), append(k.positions, position)
	}
	k.powers, k.temperatures = append(k.powers, seen.PowerW), append(k.temperatures, seen.TemperatureC)
	k.throttle |= seen.Throttle
	return nil
}
