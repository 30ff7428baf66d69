package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/run"
)

// slow is a backend that looks at what is shown while it loads.
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

// Before the first case ends a terminal says what is being prepared, again every second, and the cases take the line over.
func TestPreparingIsShown(t *testing.T) {
	said := &bytes.Buffer{}
	p := &progress{out: said, terminal: true, began: time.Now(), over: make(chan struct{})}
	defer p.clear()
	look := func(after time.Duration) string {
		said.Reset()
		p.tick(time.Now().Add(after))
		return said.String()
	}
	p.show(run.Progress{Text: "loading the implementations of softmax"})
	if text := look(time.Second); text != "" {
		t.Errorf("said %q, want nothing in the first second", text)
	}
	var python, both string
	l := &loading{tell: p.preparing}
	var all []backend.Backend
	all = l.watched([]backend.Backend{
		slow{name: "cuda", look: func() { _, _, _ = all[1].Load(t.Context(), "softmax") }},
		slow{name: "python", look: func() { both = look(10 * time.Second) }},
	})
	_, _, _ = all[0].Load(t.Context(), "softmax")
	_, _, _ = slow{look: func() { python = look(20 * time.Second) }}.Load(t.Context(), "")
	if !strings.HasPrefix(both, "\r\x1b[2Kbuilding the kernels of softmax, starting Python, ") || !strings.HasSuffix(both, " s") {
		t.Errorf("said %q while both load", both)
	}
	if !strings.Contains(python, "running the first cases, ") {
		t.Errorf("said %q when all are loaded", python)
	}
	p.show(run.Progress{Case: 1, Cases: 2})
	if text := look(time.Minute); text != "" {
		t.Errorf("said %q beside the cases", text)
	}
}
