package timing

import (
	"context"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/stats"
)

// Clock is the time of the common copy by one worker's clock.
type Clock struct {
	Backend  string
	MedianNS float64
	LowNS    float64
	HighNS   float64
	Why      string // why it could not be timed
}

// Clocks times the driver's own copy through every backend in turn, which shows whether their clocks agree.
func Clocks(ctx context.Context, backends []backend.Backend) ([]Clock, error) {
	clocks := make([]Clock, len(backends))
	candidates := make([]backend.Candidate, len(backends))
	samples := make([][]float64, len(backends))
	for i, b := range backends {
		clocks[i].Backend = b.Name()
		job := backend.MeasureJob{Ceiling: backend.CeilingMemcpy, Cold: true, GraphNS: graphNS}
		candidate, outcome, err := b.Measure(ctx, job)
		switch {
		case err != nil:
			clocks[i].Why = err.Error()
		case outcome.Status != op.StatusUnknown:
			clocks[i].Why = outcome.Sentence
		default:
			candidates[i] = candidate
		}
	}
	for range clockRounds {
		for i, candidate := range candidates {
			if candidate == nil {
				continue
			}
			reply, outcome, err := candidate.Time(ctx, backend.TimeArgs{Discard: 1, Samples: 3})
			if err != nil {
				return nil, err
			}
			if outcome.Status != op.StatusUnknown {
				clocks[i].Why, candidates[i] = outcome.Sentence, nil
				continue
			}
			samples[i] = append(samples[i], reply.SamplesNS...)
		}
	}
	for i, candidate := range candidates {
		if candidate != nil {
			if _, _, err := candidate.Finish(ctx); err != nil {
				return nil, err
			}
			s := stats.Summarise(samples[i])
			clocks[i].MedianNS, clocks[i].LowNS, clocks[i].HighNS = s.Median, s.Low, s.High
		}
	}
	return clocks, nil
}
