package run

import (
	"context"
	"slices"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// measureRulers wakes the card and measures what it can do at best for what is planned, in this session and under these loads. Whoever is
// wanted measures; for the bytes, which every operator moves, the others are asked too. What nobody can measure is left out.
func (x *execution) measureRulers(ctx context.Context, backends []backend.Backend, planned []work) error {
	began := time.Now()
	defer func() { x.result.spend("rulers", began) }()
	x.progress(Progress{Text: "measuring what the GPU can do at best"})
	x.rulers.Products = map[string]float64{}
	names := append(products(planned), backend.RulerCopy, backend.RulerRead, backend.RulerWrite)
	settle := x.request.Timing.Wake.Nanoseconds() // the first that can be measured wakes the card
	var all []record.Ruler
	for _, name := range names {
		facts, samples, err := x.ruler(ctx, x.whoMeasures(name, backends), name, settle, rulerTurns)
		if err != nil {
			return err
		}
		if len(samples) > 0 {
			settle = 0
			all = append(all, x.noteRuler(name, facts, samples))
		}
	}
	sustained := slices.ContainsFunc(x.request.Timing.Regimes, func(r Regime) bool { return r.Load == Sustained })
	for _, name := range append(products(planned), backend.RulerCopy) {
		if !sustained || name == backend.RulerFP32 {
			continue
		}
		facts, samples, err := x.ruler(ctx, x.whoMeasures(name, backends), name, settleBefore.Nanoseconds(), 1)
		if err != nil {
			return err
		}
		if len(samples) > 0 {
			r := rulerOf(name+" "+string(Sustained), facts, samples)
			all = append(all, r)
		}
	}
	x.result.Rulers = all
	if len(all) == 0 {
		return nil
	}
	return x.Timings.AppendRulers(all)
}

// whoMeasures is who is asked for a ruler: the wanted backends, and for bytes the others after them.
func (x *execution) whoMeasures(name string, wanted []backend.Backend) []backend.Backend {
	if name != backend.RulerCopy && name != backend.RulerRead && name != backend.RulerWrite {
		return wanted
	}
	others := slices.DeleteFunc(slices.Clone(x.Backends), func(b backend.Backend) bool { return slices.Contains(wanted, b) })
	return slices.Concat(wanted, others)
}

// products are the matrix products that what is planned is measured with: always that of bf16, which wakes the card.
func products(planned []work) []string {
	names := []string{backend.RulerBF16}
	for _, w := range planned {
		if name := product(w.DType); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// ruler measures one ruler with the first backend that has it: in turns with rests between, or in one turn of as many samples that follows
// settle ns of the same.
func (x *execution) ruler(ctx context.Context, backends []backend.Backend, name string, settle int64, turns int) (backend.PrepareReply, []float64, error) {
	for _, b := range backends {
		arm, outcome, err := b.Measure(ctx, backend.MeasureJob{Ruler: name, Cold: true, GraphNS: graphNS})
		if err != nil || outcome.Status != op.StatusUnknown {
			continue // without a ruler there is no share of the roofline; what was asked for can be timed all the same
		}
		x.notePhysics(arm.Facts().Device)
		var samples []float64
		for range turns {
			var reply backend.TimeReply
			reply, outcome, err = arm.Time(ctx, backend.TimeArgs{SettleNS: settle, Discard: 1, Samples: rulerSamples * rulerTurns / turns})
			if err != nil {
				return backend.PrepareReply{}, nil, err
			}
			if outcome.Status != op.StatusUnknown {
				break
			}
			samples, settle = append(samples, reply.SamplesNS...), 0
			x.rest(ctx, rulerRest)
		}
		if outcome.Status != op.StatusUnknown {
			continue
		}
		if _, _, err := arm.Finish(ctx); err != nil {
			return backend.PrepareReply{}, nil, err
		}
		return arm.Facts(), samples, nil
	}
	return backend.PrepareReply{}, nil, ctx.Err()
}

// noteRuler keeps a ruler for the shares of the roofline.
func (x *execution) noteRuler(name string, facts backend.PrepareReply, samples []float64) record.Ruler {
	r := rulerOf(name, facts, samples)
	switch name {
	case backend.RulerCopy:
		x.rulers.Copy = rate(r.BytesPerSecond)
	case backend.RulerRead:
		x.rulers.Read = rate(r.BytesPerSecond)
	case backend.RulerWrite:
		x.rulers.Write = rate(r.BytesPerSecond)
	default:
		x.rulers.Products[name] = rate(r.FLOPsPerSecond)
	}
	return r
}

func rulerOf(name string, facts backend.PrepareReply, samples []float64) record.Ruler {
	r := record.Ruler{Name: name, SamplesNS: samples}
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

// Clock is what one worker's clock said of the same copy.
type Clock struct {
	Backend  string
	MedianNS float64
	LowNS    float64
	HighNS   float64
	Why      string // why it could not be timed
}

// Clocks times the driver's own copy through every backend in turns, so that a person sees whether their clocks agree.
func Clocks(ctx context.Context, backends []backend.Backend) ([]Clock, error) {
	clocks := make([]Clock, len(backends))
	arms := make([]backend.Arm, len(backends))
	samples := make([][]float64, len(backends))
	for i, b := range backends {
		clocks[i].Backend = b.Name()
		arm, outcome, err := b.Measure(ctx, backend.MeasureJob{Ruler: backend.RulerMemcpy, Cold: true, GraphNS: graphNS})
		switch {
		case err != nil:
			clocks[i].Why = err.Error()
		case outcome.Status != op.StatusUnknown:
			clocks[i].Why = outcome.Sentence
		default:
			arms[i] = arm
		}
	}
	for range clockRounds {
		for i, arm := range arms {
			if arm == nil {
				continue
			}
			reply, outcome, err := arm.Time(ctx, backend.TimeArgs{Discard: 1, Samples: 3})
			if err != nil {
				return nil, err
			}
			if outcome.Status != op.StatusUnknown {
				clocks[i].Why, arms[i] = outcome.Sentence, nil
				continue
			}
			samples[i] = append(samples[i], reply.SamplesNS...)
		}
	}
	for i, arm := range arms {
		if arm != nil {
			if _, _, err := arm.Finish(ctx); err != nil {
				return nil, err
			}
			s := stats.Summarise(samples[i])
			clocks[i].MedianNS, clocks[i].LowNS, clocks[i].HighNS = s.Median, s.Low, s.High
		}
	}
	return clocks, nil
}
