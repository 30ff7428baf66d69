package serve

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// ownCandidate returns a candidate of a user's file on the clock of a test; each of its calls launches two
// kernels and writes nothing.
func ownCandidate(c *clocked, seen *Seen) *candidate {
	c.Device = NewEmulator(testSources(), testCache)
	c.launch = func(int) Finding { return Finding{} }
	c.unlaunched = true
	a := &candidate{server: &server{device: c}, timer: stream{c}, own: seenCalls{seen}, perCall: 2}
	a.sets, a.facts.Sets = []*launching{{}, {}}, 2
	return a
}

// seenCalls stands in for the calls of a user's file; the test sets what they did.
type seenCalls struct{ seen *Seen }

func (s seenCalls) Seen() Seen { return *s.seen }
func (s seenCalls) close()     {}

// A user's file that a graph can hold is timed in a graph. Otherwise each kernel is timed by itself, and the
// reason is reported.
func TestOwnFileInAGraphOrNot(t *testing.T) {
	two := func(calls int) int64 { return int64(2 * calls) }
	for name, c := range map[string]struct {
		device       clocked
		seen         Seen
		during       string // Uncaptured during the capture
		mode, reason string
	}{
		"a graph": {device: clocked{kernels: two}, mode: "graph"},
		"nothing is known of the graph": {
			device: clocked{kernels: func(int) int64 { return -1 }}, mode: "graph",
		},
		"host copies": {
			device: clocked{kernels: two}, seen: Seen{Uncaptured: "it copies"}, mode: "kernels",
			reason: "it copies",
		},
		"host copies in the capture alone": {
			device: clocked{kernels: two}, during: "it copies", mode: "kernels", reason: "it copies",
		},
		"half of the kernels": {
			device: clocked{kernels: func(calls int) int64 { return int64(calls) }}, mode: "kernels",
			reason: "2 calls launch 4 kernels, and while they are captured 2",
		},
		"a capture that fails": {
			device: clocked{begin: func() error { return errors.New("CUDA error 901") }}, mode: "kernels",
			reason: "CUDA error 901",
		},
	} {
		a := ownCandidate(&c.device, &c.seen)
		if c.during != "" {
			c.device.launch = func(int) Finding {
				c.seen.Uncaptured = c.during
				return Finding{}
			}
		}
		f, err := a.capture(1)
		if err != nil || f.Status != op.StatusUnknown || a.facts.Mode != c.mode ||
			a.facts.ModeReason != c.reason || c.device.watching != (c.mode == "kernels") {
			t.Errorf("%s: %v %+v, %q because %q, watching %v", name, err, f, a.facts.Mode,
				a.facts.ModeReason, c.device.watching)
		}
	}
}

// A call of a user's file that launches no counted kernel is timed with the host's time.
func TestOwnFileWithoutKernels(t *testing.T) {
	c := &clocked{}
	a := ownCandidate(c, &Seen{Uncaptured: "it copies"})
	a.perCall = 0
	if f, err := a.capture(1); err != nil || f.Status != op.StatusUnknown || a.facts.Mode != "events" {
		t.Errorf("%v %+v %+v", err, f, a.facts)
	}
}

// The note of a timed row reports what a user's file allocates or requests while it is timed, and what the
// device refuses.
func TestNotesOfACandidate(t *testing.T) {
	a := ownCandidate(&clocked{}, &Seen{Allocations: 3, Limits: 1})
	notes := a.notes(errors.New("reset the persisting lines of the L2 cache: CUDA error 801"))
	for _, words := range []string{
		"CUDA error 801; ", "cudaMalloc and cudaFree are not in the time", "L2 cache of its own",
	} {
		if !strings.Contains(notes, words) {
			t.Errorf("%q: want %q", notes, words)
		}
	}
	a.began = a.seen()
	if notes := a.notes(nil); notes != "" {
		t.Errorf("%q", notes)
	}
}

// No part of the L2 cache is set aside before any measurement.
func TestPlainCacheBeforeEachMeasurement(t *testing.T) {
	c := &clocked{refuses: errors.New("CUDA error 801")}
	w, prepared := candidateOn(t, c, "right", 8)
	before := c.plain
	for range 2 {
		var times backend.TimeReply
		if w.must(timing(), &times); len(times.SamplesNS) != 2 {
			t.Errorf("%+v", times)
		}
	}
	if prepared.Note != "CUDA error 801" || before != 1 || c.plain != before+2 {
		t.Errorf("%d times, %d at first; %q", c.plain, before, prepared.Note)
	}
}
