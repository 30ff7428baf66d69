package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
)

// candidate is a call, or a ceiling, prepared for timing: sets of memory, and a graph of calls that cycle
// through them.
type candidate struct {
	server  *server
	clock   Clock
	timer   Timer
	facts   backend.PrepareReply
	sets    []*launching // of a call
	pairs   [][2]Buffer  // of a ceiling: to, from
	ceiling string
	own     ownCalls // of a user's file; nil for others
	began   Seen     // the counts before it was prepared
	// kernels that one call of a user's file launches outside a capture
	perCall int64
}

// measure does one step of a timing.
func (s *server) measure(ctx context.Context, args backend.MeasureArgs) (result any, fatal bool, err error) {
	switch {
	case args.Step == backend.StepPrepare && args.Prepare != nil:
		reply, err := s.prepareCandidate(ctx, args.Candidate, *args.Prepare)
		return reply, reply.Fatal, err
	case args.Step == backend.StepTime && args.Time != nil:
		a, err := s.candidate(args.Candidate)
		if err != nil {
			return nil, false, err
		}
		reply, err := a.time(*args.Time)
		return reply, reply.Fatal, err
	case args.Step == backend.StepFinish && args.Finish != nil:
		a, err := s.candidate(args.Candidate)
		if err != nil {
			return nil, false, err
		}
		delete(s.candidates, args.Candidate)
		reply, err := a.finish(*args.Finish)
		return reply, reply.Fatal, err
	}
	return nil, false, fmt.Errorf("measure step %q: unknown, or without its arguments", args.Step)
}

func (s *server) candidate(number int64) (*candidate, error) {
	if a := s.candidates[number]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("measure candidate %d: nothing is prepared under this number", number)
}

// clockOf loads the device's clock, once.
func (s *server) clockOf(ctx context.Context) (Clock, error) {
	if s.clock != nil {
		return s.clock, nil
	}
	device, ok := s.device.(Clocked)
	if !ok {
		return nil, &backend.Unavailable{Sentence: "the " + s.device.Name() +
			" has no clock: only a GPU is timed"}
	}
	library, err := device.Library(ctx, build.RuntimeName)
	if err != nil {
		return nil, err
	}
	s.clock, err = device.Clock(library.Path)
	return s.clock, err
}

// prepareCandidate makes a candidate. Failures of the kernel or the toolchain are part of the reply.
func (s *server) prepareCandidate(ctx context.Context, number int64,
	args backend.PrepareArgs,
) (backend.PrepareReply, error) {
	clock, err := s.clockOf(ctx)
	var missing *backend.Unavailable
	var build *build.Error
	if errors.As(err, &missing) || errors.As(err, &build) {
		return backend.PrepareReply{Status: op.StatusUnavailable, Message: err.Error()}, nil
	}
	if err != nil {
		return backend.PrepareReply{}, err
	}
	a, err := s.openCandidate(clock, args)
	var finding Finding
	if err == nil {
		if args.Ceiling != "" {
			finding, err = a.prepareCeiling(args)
		} else {
			finding, err = a.prepareCall(args)
		}
	}
	if err == nil && finding.Status == op.StatusUnknown {
		finding, err = a.capture(args.GraphNS)
	}
	if err == nil && finding.Status == op.StatusUnknown && a.facts.Mode == modeGraph && args.Ceiling == "" {
		a.facts.Kernels, err = a.timer.Kernels()
	}
	if err == nil && finding.Status == op.StatusUnknown {
		a.facts.Note = a.notes(a.timer.PlainCache())
	}
	if err == nil && finding.Status == op.StatusUnknown {
		err = a.poison()
	}
	finding, err = failedCandidate(finding, err)
	if err != nil || finding.Status != op.StatusUnknown {
		if !finding.Dirty {
			a.free()
		}
		return backend.PrepareReply{Status: finding.Status, Message: finding.Message, Fatal: finding.Dirty},
			err
	}
	if s.candidates == nil {
		s.candidates = map[int64]*candidate{}
	}
	s.candidates[number] = a
	return a.facts, nil
}

// openCandidate makes a candidate with its timer. The caller must free it even after an error.
func (s *server) openCandidate(clock Clock, args backend.PrepareArgs) (*candidate, error) {
	a := &candidate{server: s, clock: clock, ceiling: args.Ceiling}
	var own *OwnCalls
	devices := 1
	if args.Run != nil && args.Ceiling == "" {
		k, err := s.find(*args.Run)
		if err != nil {
			return a, err
		}
		devices = k.devices
		if own = k.own; own != nil {
			a.own = own
			own.open()
		}
	}
	a.began = a.seen()
	var err error
	if a.facts.Device, err = clock.Physics(); err == nil {
		a.timer, err = clock.Open(own)
	}
	if a.facts.Devices = devices; err == nil && devices > 1 {
		err = a.timer.Spread()
	}
	return a, err
}

// failedCandidate turns errors that a kernel, not the harness, is to blame for into findings.
func failedCandidate(f Finding, err error) (Finding, error) {
	var full *OutOfMemory
	var lost *DeviceLost
	switch {
	case errors.As(err, &full):
		return Finding{Status: op.StatusOOM, Message: full.Message}, nil
	case errors.As(err, &lost):
		return Finding{Status: op.StatusCrash, Message: lost.Message, Dirty: true}, nil
	}
	return f, err
}

// poison fills the outputs again, so that the judged values come from a timed call.
func (a *candidate) poison() error {
	for _, l := range a.sets {
		if err := l.poison(); err != nil {
			return err
		}
	}
	return nil
}

// ownCalls is the interface to the calls of the library of a user's file.
type ownCalls interface {
	Seen() Seen
	close()
}

// seen returns the counts of the calls of a user's file so far; it is empty for other kernels.
func (a *candidate) seen() Seen {
	if a.own == nil {
		return Seen{}
	}
	return a.own.Seen()
}

// notes returns remarks on how a candidate is timed; plain is the error of PlainCache.
func (a *candidate) notes(plain error) string {
	var all []string
	var lost *DeviceLost
	if plain != nil && !errors.As(plain, &lost) {
		all = append(all, plain.Error())
	}
	if a.facts.Devices > 1 {
		first, second := a.timer.Clocks()
		all = append(all, fmt.Sprintf("on two GPUs, whose clocks differed by %.2f %%: a time is what the "+
			"slower of them says", 100*math.Abs(first/second-1)))
	}
	seen := a.seen()
	if seen.Allocations > a.began.Allocations {
		all = append(all, "the memory that its calls allocate is kept from one call to the next: cudaMalloc "+
			"and cudaFree are not in the time")
	}
	if seen.Limits > a.began.Limits {
		all = append(all, "it asks for a part of the L2 cache of its own, which it does not get while it is "+
			"timed")
	}
	return strings.Join(all, "; ")
}

// settle makes calls without timing them until ns have passed.
func (a *candidate) settle(ns int64) error {
	if a.facts.Mode == modeGraph {
		return a.timer.Settle(ns)
	}
	for began := time.Now(); ; {
		if _, err := a.replay(1); err != nil || time.Since(began).Nanoseconds() >= ns {
			return err
		}
	}
}

// time takes samples.
func (a *candidate) time(args backend.TimeArgs) (backend.TimeReply, error) {
	if args.Samples < 1 || args.Samples > 10000 || args.Discard < 0 || args.Discard > 10000 {
		return backend.TimeReply{}, fmt.Errorf("time a candidate: %d samples after %d, want 1 to 10000",
			args.Samples, args.Discard)
	}
	// An earlier run may have set a part of the L2 cache aside; a refusal of the device is in the note.
	_ = a.timer.PlainCache()
	var err error
	if args.SettleNS > 0 {
		err = a.settle(args.SettleNS)
	}
	if err == nil && args.Others {
		err = a.others()
	}
	var samples []float64
	if err == nil {
		samples, err = a.replay(args.Discard + args.Samples)
	}
	f, err := failedCandidate(Finding{}, err)
	if err != nil || f.Status != op.StatusUnknown {
		return backend.TimeReply{Status: f.Status, Message: f.Message, Fatal: f.Dirty}, err
	}
	return backend.TimeReply{SamplesNS: samples[args.Discard:]}, nil
}
