package session

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/run"
)

// slow is a backend that examines what is shown while it loads.
type slow struct {
	backend.Backend
	name string
	look func()
}

func (s slow) Name() string { return s.name }

func (s slow) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	s.look()
	return backend.LoadReply{}, backend.HelloReply{}, nil
}

// TestPreparingIsShown: before the first case ends a terminal shows what is being prepared, updated every
// second, and then the cases on the same line.
func TestPreparingIsShown(t *testing.T) {
	said := &bytes.Buffer{}
	p := NewProgress(NewScreen(said, true), nil)
	defer p.Clear()
	look := func(after time.Duration) string {
		said.Reset()
		p.tick(time.Now().Add(after))
		return said.String()
	}
	p.Show(run.Progress{Text: "loading the implementations of softmax"})
	if text := look(time.Second); text != "" {
		t.Errorf("said %q, want nothing in the first second", text)
	}
	var python, both string
	var all []backend.Backend
	all = loadingShown([]backend.Backend{
		slow{name: "cuda", look: func() { _, _, _ = all[1].Load(t.Context(), "softmax") }},
		slow{name: "python", look: func() { both = look(10 * time.Second) }},
	}, p.Preparing)
	_, _, _ = all[0].Load(t.Context(), "softmax")
	_, _, _ = slow{look: func() { python = look(20 * time.Second) }}.Load(t.Context(), "")
	if !strings.HasPrefix(both, "\r\x1b[2Kbuilding the kernels of softmax, starting Python, ") ||
		!strings.HasSuffix(both, " s") {
		t.Errorf("said %q while both load", both)
	}
	if !strings.Contains(python, "running the first cases, ") {
		t.Errorf("said %q when all are loaded", python)
	}
	p.Show(run.Progress{Case: 1, Cases: 2})
	if text := look(time.Minute); text != "" {
		t.Errorf("said %q beside the cases", text)
	}
}

// TestPartsAddUp: runs side by side share one line: their cases add up.
func TestPartsAddUp(t *testing.T) {
	said := &bytes.Buffer{}
	p := NewProgress(NewScreen(said, true), nil)
	p.began = p.began.Add(-time.Minute)
	show := func(part string, now run.Progress) string {
		said.Reset()
		p.last = time.Time{}
		p.Part(part, now)
		return strings.TrimPrefix(said.String(), "\r\x1b[2K")
	}
	for _, c := range []struct {
		part string
		now  run.Progress
		want string
	}{
		{"memcheck", run.Progress{Text: "asking"}, "asking"},
		{
			"memcheck",
			run.Progress{Case: 3, Cases: 10, Elapsed: 3 * time.Second},
			"3 of 10 cases, about 7s left",
		},
		{
			"racecheck",
			run.Progress{Case: 1, Cases: 10, Elapsed: 4 * time.Second},
			"4 of 20 cases, about 16s left",
		},
		{
			"memcheck",
			run.Progress{Case: 10, Cases: 10, Elapsed: 5 * time.Second},
			"11 of 20 cases, about 4s left",
		},
	} {
		if got := show(c.part, c.now); got != c.want {
			t.Errorf("%s, %+v: %q, want %q", c.part, c.now, got, c.want)
		}
	}
}
