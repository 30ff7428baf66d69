package worker

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits are the deadlines of a worker's phases.
type Limits struct {
	Build    time.Duration // load: compiling a library, importing an operator file
	Import   time.Duration // from the start of the process to its hello
	First    time.Duration // the first call of an implementation: it may compile
	FirstCPU time.Duration // the same if there is no GPU
	// later calls: ten times the median (on a CPU: the longest) plus one second, and at least this
	CallLeast time.Duration
	Stall     time.Duration // in the emulator: how long no block of a kernel may finish
	// of added files: how long other interpretations of them are tried, and how long their cases may take
	// with --quick
	Interpretations, Cases time.Duration
}

// DefaultLimits are the default deadlines.
var DefaultLimits = Limits{
	Build: 300 * time.Second, Import: 120 * time.Second, First: 60 * time.Second, FirstCPU: 120 * time.Second,
	CallLeast: 5 * time.Second, Stall: 30 * time.Second,
	Interpretations: 30 * time.Second, Cases: 60 * time.Second,
}

// OfOwn returns the default limits of a user's own file: hangs are common there, and a learner waits for
// them.
func (l Limits) OfOwn() Limits {
	if l.FirstCPU == DefaultLimits.FirstCPU {
		l.FirstCPU = 60 * time.Second
	}
	if l.Stall == DefaultLimits.Stall {
		l.Stall = 10 * time.Second
	}
	return l
}

// byName maps the names of --limit NAME=DURATION to the limits.
func (l *Limits) byName() map[string]*time.Duration {
	return map[string]*time.Duration{
		"build": &l.Build, "import": &l.Import, "first": &l.First, "first-cpu": &l.FirstCPU,
		"call":  &l.CallLeast,
		"stall": &l.Stall, "readings": &l.Interpretations, "cases": &l.Cases,
	}
}

// LimitNames lists the names that Set takes, sorted.
func LimitNames() []string {
	var names []string
	for n := range new(Limits).byName() {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Value returns the limit called name.
func (l Limits) Value(name string) time.Duration {
	if p := l.byName()[name]; p != nil {
		return *p
	}
	return 0
}

// Set reads one "NAME=DURATION".
func (l *Limits) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	p := l.byName()[name]
	if !ok || p == nil {
		return fmt.Errorf("--limit %q: want NAME=DURATION, NAME one of %s, for example call=30s", text,
			strings.Join(LimitNames(), ", "))
	}
	d, err := time.ParseDuration(value)
	if err != nil || !(d > 0) {
		return fmt.Errorf("--limit %q: want a positive duration such as 30s or 5m", text)
	}
	*p = d
	return nil
}

// call returns the deadline of the next call of an implementation whose earlier calls of this size (see
// pastCalls) took these times.
func (l Limits) call(earlier []time.Duration, gpu bool) time.Duration {
	if len(earlier) == 0 {
		if gpu {
			return l.First
		}
		return l.FirstCPU
	}
	sorted := slices.Sorted(slices.Values(earlier))
	usual := sorted[len(sorted)/2]
	if !gpu {
		usual = sorted[len(sorted)-1] // cases differ in their work, and the machine may have other work to do
	}
	return max(10*usual+time.Second, l.CallLeast)
}

// pastCall is a call that came back plainly: how long it took, and how many bytes of inputs and outputs it
// had.
type pastCall struct {
	wall  time.Duration
	bytes int64
}

// pastCalls are the calls of one implementation and pass.
type pastCalls []pastCall

// saying returns the times of the calls that are comparable with one of so many bytes: on a GPU all of them;
// on a CPU, where time grows with the work, those with at least half as many bytes. If there are none, the
// next call counts as a first one.
func (p pastCalls) saying(bytes int64, gpu bool) []time.Duration {
	var times []time.Duration
	for _, c := range p {
		if gpu || 2*c.bytes >= bytes {
			times = append(times, c.wall)
		}
	}
	return times
}
