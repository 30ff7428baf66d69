package timing

import (
	"context"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// MeasureCeilings wakes the card and measures its peak rates for the planned dtypes, in this session and
// under these loads. The wanted backends measure; for the bytes, which every operator moves, the others are
// asked too. Ceilings that no backend can measure are left out.
func (t *Timer) MeasureCeilings(ctx context.Context, wanted, others []backend.Backend, dtypes []string) (
	[]record.Ceiling, error,
) {
	began := time.Now()
	defer func() { t.spent("rulers", began) }()
	who := func(name string) []backend.Backend {
		if slices.Contains([]string{backend.CeilingCopy, backend.CeilingRead, backend.CeilingWrite}, name) {
			return slices.Concat(wanted, others)
		}
		return wanted
	}
	t.ceilings.Products = map[string]float64{}
	settle := t.Plan.Wake.Nanoseconds() // the first that can be measured wakes the card
	var all []record.Ceiling
	for _, name := range append(products(dtypes), backend.CeilingCopy, backend.CeilingRead,
		backend.CeilingWrite) {
		facts, samples, err := t.ceiling(ctx, who(name), name, settle, ceilingRounds)
		if err != nil {
			return all, err
		}
		if len(samples) > 0 {
			settle = 0
			all = append(all, t.noteCeiling(name, facts, samples))
		}
	}
	sustained := slices.ContainsFunc(t.Plan.Regimes, func(r Regime) bool { return r.Load == Sustained })
	for _, name := range append(products(dtypes), backend.CeilingCopy) {
		if !sustained || name == backend.CeilingFP32 {
			continue
		}
		facts, samples, err := t.ceiling(ctx, who(name), name, settleBefore.Nanoseconds(), 1)
		if err != nil {
			return all, err
		}
		if len(samples) > 0 {
			all = append(all, ceilingOf(name+" "+string(Sustained), facts, samples))
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return all, t.Recorder.AppendCeilings(all)
}

// products returns the matrix products that dtypes are measured with: always that of bf16, which wakes the
// card.
func products(dtypes []string) []string {
	names := []string{backend.CeilingBF16}
	for _, d := range dtypes {
		if name := Product(d); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ceiling measures one ceiling with the first backend that has it: in turns with rests between, or in one
// measurement of as many samples that follows settle ns of the same.
func (t *Timer) ceiling(ctx context.Context, backends []backend.Backend, name string, settle int64,
	measurements int) (
	backend.PrepareReply, []float64, error,
) {
	for _, b := range backends {
		candidate, outcome, err := b.Measure(ctx, backend.MeasureJob{
			Ceiling: name, Cold: true,
			GraphNS: graphNS,
		})
		if err != nil || outcome.Status != op.StatusUnknown {
			continue // without a ceiling there is no share of the roofline; calls can be timed all the same
		}
		t.notePhysics(candidate.Facts().Device)
		var samples []float64
		for range measurements {
			var reply backend.TimeReply
			reply, outcome, err = candidate.Time(ctx, backend.TimeArgs{
				SettleNS: settle, Discard: 1,
				Samples: ceilingSamples * ceilingRounds / measurements,
			})
			if err != nil {
				return backend.PrepareReply{}, nil, err
			}
			if outcome.Status != op.StatusUnknown {
				break
			}
			samples, settle = append(samples, reply.SamplesNS...), 0
			t.rest(ctx, ceilingRest)
		}
		if outcome.Status != op.StatusUnknown {
			continue
		}
		if _, _, err := candidate.Finish(ctx); err != nil {
			return backend.PrepareReply{}, nil, err
		}
		return candidate.Facts(), samples, nil
	}
	return backend.PrepareReply{}, nil, ctx.Err()
}

// noteCeiling keeps a ceiling for the shares of the roofline.
func (t *Timer) noteCeiling(name string, facts backend.PrepareReply, samples []float64) record.Ceiling {
	r := ceilingOf(name, facts, samples)
	switch name {
	case backend.CeilingCopy:
		t.ceilings.Copy = rate(r.BytesPerSecond)
	case backend.CeilingRead:
		t.ceilings.Read = rate(r.BytesPerSecond)
	case backend.CeilingWrite:
		t.ceilings.Write = rate(r.BytesPerSecond)
	default:
		t.ceilings.Products[name] = rate(r.FLOPsPerSecond)
	}
	return r
}

func ceilingOf(name string, facts backend.PrepareReply, samples []float64) record.Ceiling {
	r := record.Ceiling{Name: name, SamplesNS: samples}
	median := stats.Median(samples)
	if facts.Bytes > 0 {
		r.BytesPerSecond = new(record.Float(float64(facts.Bytes) / median * 1e9))
	}
	if facts.FLOPs > 0 {
		r.FLOPsPerSecond = new(record.Float(float64(facts.FLOPs) / median * 1e9))
	}
	return r
}

func rate(f *record.Float) float64 {
	if f == nil {
		return 0
	}
	return float64(*f)
}
