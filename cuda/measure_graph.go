package cuda

import (
	"errors"
	"fmt"
	"math"

	"triad/internal/backend"
	"triad/internal/op"
)

// launch queues the i-th call on the timer's stream.
func (a *arm) launch(i int) (Finding, error) {
	if a.ruler != "" {
		pair := a.pairs[i%len(a.pairs)]
		return Finding{}, a.clock.Ruler(a.ruler, pair[0], pair[1], a.timer.Stream())
	}
	return a.timer.Launch(a.sets[i%len(a.sets)].call), nil
}

func (a *arm) launches(n int) (Finding, error) {
	for i := range n {
		if f, err := a.launch(i); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
	}
	return Finding{}, nil
}

// capture makes the graph: of one call for each set, and of more where that takes less than graphNS. What
// cannot be captured is timed between events.
func (a *arm) capture(graphNS int64) (Finding, error) {
	a.facts.Mode, a.facts.Calls = "graph", a.facts.Sets
	f, err := a.captured()
	if err != nil || f.Status != op.StatusUnknown {
		var lost *DeviceLost
		if f.Status == op.StatusUnsupported || errors.As(err, &lost) {
			return f, err
		}
		return a.direct(f, err)
	}
	if err := a.estimate(); err != nil {
		return Finding{}, err
	}
	if turns := math.Ceil(float64(graphNS) / (a.facts.EstimateNS * float64(a.facts.Sets))); turns > 1 {
		a.facts.Calls = min(int(turns)*a.facts.Sets,
			max(a.facts.Sets, backend.MostCaptured/a.facts.Sets*a.facts.Sets))
		if f, err := a.captured(); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
		return Finding{}, a.estimate()
	}
	return Finding{}, nil
}

// captured captures Calls calls.
func (a *arm) captured() (Finding, error) {
	if err := a.timer.Begin(); err != nil {
		return Finding{}, err
	}
	f, err := a.launches(a.facts.Calls)
	nodes, endErr := a.timer.End(err == nil && f.Status == op.StatusUnknown)
	if err == nil && f.Status == op.StatusUnknown {
		err = endErr
	}
	if err == nil && f.Status == op.StatusUnknown && nodes < int64(a.facts.Calls) {
		f = Finding{
			Status: op.StatusUnsupported,
			Message: fmt.Sprintf("it cannot be timed: of %d calls only %d pieces of work are on the stream "+
				"of the call",
				a.facts.Calls, nodes),
		}
	}
	return f, err
}

// direct is the way of a call that cannot be captured.
func (a *arm) direct(f Finding, err error) (Finding, error) {
	a.facts.Mode, a.facts.ModeReason = "events", f.Message
	if err != nil {
		a.facts.ModeReason = err.Error()
	}
	if f, err := a.launches(a.facts.Calls); err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	return Finding{}, a.estimate()
}

// estimate times two replays: the first may still load code.
func (a *arm) estimate() error {
	samples, err := a.replay(2)
	if err == nil {
		a.facts.EstimateNS = samples[1]
	}
	return err
}

// replay gives n samples, in ns a call.
func (a *arm) replay(n int) ([]float64, error) {
	samples := make([]float64, 0, n)
	if a.facts.Mode == "graph" {
		all, err := a.timer.Replay(n)
		if err != nil {
			return nil, err
		}
		samples = append(samples, all...)
	}
	for len(samples) < n {
		if err := a.timer.Start(); err != nil {
			return nil, err
		}
		if f, err := a.launches(a.facts.Calls); err != nil {
			return nil, err
		} else if f.Status != op.StatusUnknown {
			return nil, &DeviceLost{Message: f.Message}
		}
		ns, err := a.timer.Stop()
		if err != nil {
			return nil, err
		}
		samples = append(samples, ns)
	}
	for i := range samples {
		samples[i] /= float64(a.facts.Calls)
	}
	return samples, nil
}
