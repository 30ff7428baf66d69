package main

import (
	"context"
	"slices"
	"strings"
	"sync"

	"triad/internal/backend"
)

// loading is what is being prepared before the first case, in words: on a cold machine it takes longer than the cases.
type loading struct {
	mu   sync.Mutex
	now  []string
	tell func(words string)
}

// watched are the backends, each of which is told while it loads.
func (l *loading) watched(all []backend.Backend) []backend.Backend {
	out := make([]backend.Backend, len(all))
	for i, b := range all {
		out[i] = loaded{b, l}
	}
	return out
}

// loaded is a backend whose loading is told.
type loaded struct {
	backend.Backend
	of *loading
}

// Unwrap is the backend itself: what it can do beyond the port is found there.
func (b loaded) Unwrap() backend.Backend { return b.Backend }

// Load tells what is done while the backend does it.
func (b loaded) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	words := map[string]string{"cuda": "building the kernels of " + operator, "python": "starting Python", "mine": "building your file"}[b.Name()]
	if words == "" {
		words = "starting " + b.Name()
	}
	b.of.change(func(now []string) []string { return append(now, words) })
	defer b.of.change(func(now []string) []string {
		return slices.Delete(now, slices.Index(now, words), slices.Index(now, words)+1)
	})
	return b.Backend.Load(ctx, operator)
}

func (l *loading) change(how func([]string) []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = how(l.now)
	if len(l.now) == 0 {
		l.tell("running the first cases")
		return
	}
	l.tell(strings.Join(l.now, ", "))
}
