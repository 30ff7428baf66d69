package timing

import (
	"fmt"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// best returns the implementation that all others are compared with: the fastest with a usable time, else the
// fastest UNSTABLE one. A backward timed with its forward is compared only with others of its kind.
func (c *timedCase) best(timings map[*timedImpl]*record.Timing, pairs bool) *timedImpl {
	for _, status := range []op.Status{op.StatusPass, op.StatusUnstable} {
		var best *timedImpl
		for _, k := range c.impls {
			t := timings[k]
			if k.aaTwin || k.pair() != pairs || t.Status != status || !(t.MedianNS > 0) {
				continue
			}
			if best == nil || t.MedianNS < timings[best].MedianNS {
				best = k
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// compare returns the ratio of every implementation to the fastest, and that of one to itself; SLOWER, FASTER
// and SAME follow from the ratios of the rounds: see stats.Compare. A time that is UNSTABLE because it left
// the rounds early can be used: it lies apart from the fastest.
func (c *timedCase) compare(timings map[*timedImpl]*record.Timing) []record.Comparison {
	alone, pairs := c.best(timings, false), c.best(timings, true)
	if alone == nil && pairs == nil {
		return nil
	}
	all, noise := c.compareTwins()
	for _, k := range c.impls {
		t, best := timings[k], alone
		if k.pair() {
			best = pairs
		}
		usable := t.Status == op.StatusPass || t.Status == op.StatusUnstable
		if k.aaTwin || best == nil || k == best || !usable {
			continue
		}
		ratio := stats.Compare(k.byRound(c.rounds), best.byRound(c.rounds), noise)
		if ratio.Apart && t.Status == op.StatusUnstable {
			t.Status = op.StatusPass
			t.Message = fmt.Sprintf("%d rounds, in each above %d x the fastest",
				len(ratio.Ratios), stats.ApartBy)
		}
		if len(ratio.Ratios) > 0 {
			all = append(all, comparisonOf(k, best, c.regime, ratio))
		}
	}
	return all
}

// compareTwins compares the implementation that ran as both candidates with itself, and returns the noise of
// that comparison.
func (c *timedCase) compareTwins() (all []record.Comparison, noise float64) {
	for _, k := range c.impls {
		if !k.aaTwin {
			continue
		}
		for _, first := range c.impls {
			if first.aaTwin || first.Record != k.Record {
				continue
			}
			ratio := stats.Compare(first.byRound(c.rounds), k.byRound(c.rounds), 0)
			noise = ratio.Noise()
			if len(ratio.Ratios) > 0 {
				all = append(all, comparisonOf(first, k, c.regime, ratio))
			}
		}
	}
	return all, noise
}

func comparisonOf(a, b *timedImpl, r Regime, c stats.Comparison) record.Comparison {
	return record.Comparison{
		A: a.Implementation.Name, B: b.Implementation.Name,
		RunA: a.Record.ID, RunB: b.Record.ID, Regime: r.String(),
		Ratios: c.Ratios, Ratio: c.Ratio, Low: c.Low, High: c.High, SpeedVerdict: string(c.SpeedVerdict),
	}
}
