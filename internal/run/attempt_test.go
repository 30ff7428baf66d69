package run

import (
	"context"
	"sync"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// crowded is a device whose memory suffices for one job at a time, and not even for one of those named in
// large.
type crowded struct {
	*fake
	mu        sync.Mutex
	now, most int
	both      sync.WaitGroup // the first job of each implementation begins while the other's runs
	begun     map[string]int
	large     string
}

func (c *crowded) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	name := job.Implementation.Name
	c.mu.Lock()
	c.begun[name]++
	first := c.begun[name] == 1
	c.now++
	c.mu.Unlock()
	if first {
		c.both.Done()
		c.both.Wait()
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
	}()
	if c.mu.Lock(); !first {
		c.most = max(c.most, c.now)
	}
	c.mu.Unlock()
	if first || name == c.large {
		return backend.Outcome{Status: op.StatusOOM, Sentence: "no room"}, nil
	}
	return c.fake.Run(ctx, job)
}

// TestOutOfMemoryBesideOthersIsTriedAlone: a job that ran out of memory while others ran is run again alone;
// what passes then has passed, what runs out of memory then is OOM.
func TestOutOfMemoryBesideOthersIsTriedAlone(t *testing.T) {
	one, two := fakes(map[string]way{"one/right": right}), fakes(map[string]way{"two/large": right})
	one.family, two.family = "one", "two"
	device := &crowded{fake: one, begun: map[string]int{}, large: "two/large"}
	device.both.Add(2)
	other := &crowdedOther{crowded: device, second: two}
	kept := &memory{}
	if _, err := compare(t, kept, nil, device, other); err != nil {
		t.Fatal(err)
	}
	got := map[string]op.Status{}
	for _, r := range kept.records {
		got[r.Impl] = r.Status
	}
	if len(kept.records) != 2 || got["one/right"] != op.StatusPass || got["two/large"] != op.StatusOOM {
		t.Errorf("%d records, %v", len(kept.records), got)
	}
	if device.most != 1 {
		t.Errorf("%v, %d jobs at once when they were tried again", got, device.most)
	}
	if device.begun["two/large"] != 2 {
		t.Errorf("what has no room alone either was run %d times, want 2", device.begun["two/large"])
	}
}

// crowdedOther is a second backend on the same device.
type crowdedOther struct {
	*crowded
	second *fake
}

func (c *crowdedOther) Name() string       { return c.second.Name() }
func (c *crowdedOther) Families() []string { return c.second.Families() }
func (c *crowdedOther) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply,
	error,
) {
	return c.second.Load(ctx, operator)
}

// TestOutOfMemoryAloneIsFinal: a job that ran out of memory alone is not run again.
func TestOutOfMemoryAloneIsFinal(t *testing.T) {
	runs := 0
	f := fakes(map[string]way{"fake/large": ending(backend.Outcome{
		Status:   op.StatusOOM,
		Sentence: "no room",
	})})
	kept := &memory{}
	if _, err := compare(t, kept, nil, counted{f, &runs}); err != nil {
		t.Fatal(err)
	}
	if runs != len(kept.records) || kept.records[0].Status != op.StatusOOM {
		t.Errorf("%d runs for %d records, %v", runs, len(kept.records), kept.records[0].Status)
	}
}

// counted counts the jobs of a backend.
type counted struct {
	*fake
	runs *int
}

func (c counted) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	*c.runs++
	return c.fake.Run(ctx, job)
}
