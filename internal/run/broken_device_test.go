package run

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// brokenDevice is a device that the first run breaks.
type brokenDevice struct {
	*fake
	runs int
}

func (b *brokenDevice) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	if b.runs++; b.runs > 1 {
		return backend.Outcome{}, &backend.Unavailable{Sentence: "the GPU does not recover"}
	}
	return backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}, nil
}

// TestCrashThatBreaksTheDevice: an implementation that breaks the device crashed, even if no fresh worker
// finds the device working.
func TestCrashThatBreaksTheDevice(t *testing.T) {
	kept := &memory{}
	if _, err := compare(t, kept, nil,
		&brokenDevice{fake: fakes(map[string]way{"fake/wrong": right})}); err != nil {
		t.Fatal(err)
	}
	r := kept.records[0]
	if r.Status != op.StatusCrash || !strings.Contains(r.Message, "exited 7; then the GPU does not recover") {
		t.Errorf("%v %q", r.Status, r.Message)
	}
}
