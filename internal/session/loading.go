package session

import (
	"context"
	"slices"
	"strings"
	"sync"

	"triad/internal/backend"
)

// loading lists the preparations before the first case, which on a cold machine take longer than the cases.
type loading struct {
	mu   sync.Mutex
	now  []string
	tell func(words string)
}

// loadingShown returns the backends; it calls tell with words that say which of them are loading.
func loadingShown(all []backend.Backend, tell func(words string)) []backend.Backend {
	l := &loading{tell: tell}
	out := make([]backend.Backend, len(all))
	for i, b := range all {
		out[i] = loaded{b, l}
	}
	return out
}

// loaded is a backend whose loading is shown.
type loaded struct {
	backend.Backend
	of *loading
}

// Unwrap returns the backend itself, which may do more than the interface requires.
func (b loaded) Unwrap() backend.Backend { return b.Backend }

// Load shows the loading of the backend while it lasts.
func (b loaded) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	words := map[string]string{
		"cuda": "building the kernels of " + operator, "python": "starting Python",
		"mine": "building your file",
	}[b.Name()]
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
