package serve

import (
	"errors"
	"fmt"
	"math"

	"triad/internal/backend"
	"triad/internal/op"
)

// launch queues the i-th call on the timer's stream.
func (a *candidate) launch(i int) (Finding, error) {
	if a.ceiling != "" {
		pair := a.pairs[i%len(a.pairs)]
		return Finding{}, a.clock.Ceiling(a.ceiling, pair[0], pair[1], a.timer.Stream())
	}
	return a.timer.Launch(a.sets[i%len(a.sets)].call), nil
}

func (a *candidate) launches(n int) (Finding, error) {
	for i := range n {
		if f, err := a.launch(i); err != nil || f.Status != op.StatusUnknown {
			return f, err
		}
	}
	return Finding{}, nil
}

// The modes of a candidate, as in backend.PrepareReply.
const (
	modeGraph   = "graph"
	modeEvents  = "events"
	modeKernels = "kernels"
)

// capture makes the graph: one call for each set, and more if these take less than graphNS. What cannot be
// captured is timed between events, on one GPU; if it is a user's file that launches kernels, each kernel is
// timed by itself.
func (a *candidate) capture(graphNS int64) (Finding, error) {
	a.facts.Mode, a.facts.Calls = modeGraph, a.facts.Sets
	if why := a.seen().Uncaptured; why != "" {
		return a.direct(why)
	}
	if f, err := a.captured(); err != nil || f.Status != op.StatusUnknown {
		return a.afterFailed(f, err)
	}
	if err := a.estimate(); err != nil {
		return Finding{}, err
	}
	if turns := math.Ceil(float64(graphNS) / (a.facts.EstimateNS * float64(a.facts.Sets))); turns > 1 {
		a.facts.Calls = min(int(turns)*a.facts.Sets,
			max(a.facts.Sets, backend.MostCaptured/a.facts.Sets*a.facts.Sets))
		if f, err := a.captured(); err != nil || f.Status != op.StatusUnknown {
			return a.afterFailed(f, err)
		}
		return Finding{}, a.estimate()
	}
	return Finding{}, nil
}

// afterFailed continues after a failed capture. A kernel of ours whose work is not on its stream is not
// timed.
func (a *candidate) afterFailed(f Finding, err error) (Finding, error) {
	var lost *DeviceLost
	switch {
	case errors.As(err, &lost), f.Status == op.StatusUnsupported && a.own == nil:
		return f, err
	case err != nil:
		return a.direct(err.Error())
	}
	return a.direct(f.Message)
}

// captured captures Calls calls.
func (a *candidate) captured() (Finding, error) {
	if err := a.timer.Begin(); err != nil {
		return Finding{}, err
	}
	f, err := a.launches(a.facts.Calls)
	nodes, kernels, endErr := a.timer.End(err == nil && f.Status == op.StatusUnknown)
	if err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	why, calls := a.seen().Uncaptured, int64(a.facts.Calls)
	switch {
	case endErr != nil:
		return f, endErr
	case why != "":
		return Finding{Status: op.StatusUnsupported, Message: why}, nil
	case nodes < calls:
		return Finding{Status: op.StatusUnsupported, Message: fmt.Sprintf("it cannot be timed: of %d calls "+
			"only %d pieces of work are on the stream of the call", calls, nodes)}, nil
	case a.own != nil && kernels >= 0 && kernels != calls*a.perCall:
		return Finding{Status: op.StatusUnsupported, Message: fmt.Sprintf("%d calls launch %d kernels, and "+
			"while they are captured %d", calls, calls*a.perCall, kernels)}, nil
	}
	return f, nil
}

// direct sets up a call that cannot be captured; why is the reason. Events are on one GPU's clock, which does
// not tell when the other one of two is done.
func (a *candidate) direct(why string) (Finding, error) {
	if a.facts.Devices > 1 {
		return Finding{Status: op.StatusUnsupported, Message: fmt.Sprintf("it cannot be timed on %d GPUs, "+
			"whose clocks only a graph of its calls reads: %s", a.facts.Devices, why)}, nil
	}
	a.facts.Mode, a.facts.ModeReason, a.facts.Calls = modeEvents, why, a.facts.Sets
	if a.own != nil && a.perCall > 0 {
		a.facts.Mode = modeKernels
		if err := a.timer.WatchKernels(); err != nil {
			return Finding{}, err
		}
	}
	if f, err := a.launches(a.facts.Calls); err != nil || f.Status != op.StatusUnknown {
		return f, err
	}
	return Finding{}, a.estimate()
}

// estimate times two replays: the first may still load code.
func (a *candidate) estimate() error {
	samples, err := a.replay(2)
	if err == nil {
		a.facts.EstimateNS = samples[1]
	}
	return err
}

// replay returns n samples, in ns a call.
func (a *candidate) replay(n int) ([]float64, error) {
	samples := make([]float64, 0, n)
	if a.facts.Mode == modeGraph {
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
