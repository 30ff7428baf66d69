// Package timingtest fakes a GPU for tests of timing: a card whose clock drifts, and calls that take a given
// time on it.
package timingtest

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/timing"
)

// Card is a fake GPU: a clock that drifts with every call, and a log of the candidates that ran on it.
type Card struct {
	T      *testing.T
	Random *rand.Rand
	Drift  float64  // amplitude of the clock, as a share
	Noise  float64  // of a sample, as a share
	Order  []string // the candidates that were timed, in order
	// Low: in one of so many stretches of 40 ms the clock is low; 0: never.
	Low       int64
	TakesTime bool // a call takes its time on the clock of the test
	Rests     int
	Others    int // measurements that were to begin with a copy among others

	calls   atomic.Int64
	running string
}

// NewCard returns a card whose noise is the same in every run of a test.
func NewCard(t *testing.T, noise float64) *Card {
	return &Card{T: t, Random: rand.New(rand.NewPCG(1, 2)), Noise: noise}
}

func (c *Card) clock() float64 {
	if c.Low > 0 && time.Now().UnixMilli()/40%c.Low == 0 {
		return 0.8
	}
	return 1 + c.Drift*math.Sin(float64(c.calls.Load())/40)
}

// Read returns a reading for telemetry.
func (c *Card) Read() timing.Reading {
	return timing.Reading{ClockMHz: 1900 * c.clock(), PowerW: 500, TemperatureC: 40, Throttle: 4}
}

// Rest counts a rest between measurements, and takes its time if TakesTime is set.
func (c *Card) Rest(_ context.Context, d time.Duration) {
	c.Rests++
	if c.TakesTime {
		time.Sleep(d)
	}
}

// Facts returns the facts of a call that takes ns, on a device like an H200.
func (c *Card) Facts(ns float64) backend.PrepareReply {
	device := backend.DevicePhysics{
		L2Bytes: 1 << 20, Multiprocessors: 132, BytesPerSecond: 4.8e12,
		ClockMHz: 1980, Major: 9,
	}
	facts := backend.PrepareReply{
		Mode: "graph", Sets: 4, Calls: 8, RotatedBytes: 1 << 30,
		EstimateNS: math.Max(ns, 1), Device: device,
	}
	if c.TakesTime && ns > backend.SlowCallNS {
		facts.Sets, facts.Calls = 2, 2
	}
	return facts
}

// Asked returns the name, the time and the facts of what a job measures: a ceiling, or an implementation that
// takes the time listed by its name. The time of an unknown one is 0.
func (c *Card) Asked(job backend.MeasureJob, times map[string]float64) (name string, ns float64,
	facts backend.PrepareReply,
) {
	if job.Ceiling != "" {
		facts, ns = c.CeilingFacts(job.Ceiling)
		return job.Ceiling, ns, facts
	}
	name = job.Implementation.Name
	return name, times[name], c.Facts(times[name])
}

// Candidate is a call that takes NS, save for the card's clock and noise.
type Candidate struct {
	Card     *Card
	Name     string
	NS       float64
	Prepared backend.PrepareReply
	End      *backend.Outcome // what every measurement ends with instead
	// Written returns what the timed calls wrote; nil: nothing.
	Written func() (backend.Outcome, []backend.Differing, error)
}

// Facts returns Prepared.
func (a *Candidate) Facts() backend.PrepareReply { return a.Prepared }

// Time returns samples. Two candidates running at a time fail the test.
func (a *Candidate) Time(_ context.Context, args backend.TimeArgs) (
	backend.TimeReply, backend.Outcome, error,
) {
	c := a.Card
	if c.running != "" {
		c.T.Errorf("%s runs while %s does", a.Name, c.running)
	}
	c.running = a.Name
	defer func() { c.running = "" }()
	c.Order = append(c.Order, a.Name)
	if args.Others {
		c.Others++
	}
	if a.End != nil {
		return backend.TimeReply{}, *a.End, nil
	}
	if c.TakesTime {
		calls := a.Prepared.Calls * (args.Samples + args.Discard)
		time.Sleep(time.Duration(args.SettleNS) + time.Duration(a.NS*float64(calls)))
	}
	var reply backend.TimeReply
	for range args.Samples {
		c.calls.Add(1)
		reply.SamplesNS = append(reply.SamplesNS, a.NS/c.clock()*math.Exp(c.Noise*c.Random.NormFloat64()))
	}
	return reply, backend.Outcome{}, nil
}

// Finish returns the result of Written.
func (a *Candidate) Finish(context.Context) (backend.Outcome, []backend.Differing, error) {
	if a.Written == nil {
		return backend.Outcome{}, nil, nil
	}
	return a.Written()
}

// CeilingFacts returns the facts of a ceiling and the time of one call of it, in ns; 0: the card has no such
// ceiling.
func (c *Card) CeilingFacts(name string) (facts backend.PrepareReply, ns float64) {
	switch name {
	case backend.CeilingCopy:
		facts, ns = c.Facts(1e6), 1e6
		facts.Bytes = 4e9
	case backend.CeilingBF16:
		facts, ns = c.Facts(1e6), 1e6
		facts.FLOPs = 700e9
	case backend.CeilingMemcpy:
		facts, ns = c.Facts(1e5), 1e5
	}
	return facts, ns
}
