package worker

import (
	"context"
	"strings"
	"sync"

	"triad/internal/panics"
)

// Reserve keeps fresh workers ready for commands that were started before: processes that have said hello, so
// that torch is imported, and have loaded nothing. Repeated runs of the same command, as in a watch, wait for
// no import, and every run still gets a process of its own. The zero value is ready to use; a nil one keeps
// nothing.
type Reserve struct {
	mu     sync.Mutex
	orders map[string]*order
}

// order is a command with the worker that is kept for it.
type order struct {
	command Command
	options Options
	ready   chan *worker // gets one worker, or nil if it did not start; nil: none is under way
}

// open returns a worker that was kept ready for a command, else starts one. It remembers the command for
// Refill.
func (r *Reserve) open(ctx context.Context, c Command, o Options) (*worker, error) {
	if r == nil {
		return open(ctx, c, o)
	}
	key := strings.Join(append(append([]string{c.Path, c.Dir}, c.Args...), c.Env...), "\x00")
	r.mu.Lock()
	if r.orders == nil {
		r.orders = map[string]*order{}
	}
	if r.orders[key] == nil {
		r.orders[key] = &order{command: c, options: o}
	}
	ready := r.orders[key].ready
	r.orders[key].ready = nil
	r.mu.Unlock()
	if ready != nil {
		select {
		case w := <-ready:
			if w != nil && !w.child.Reaped() {
				return w, nil
			}
		case <-ctx.Done():
			panics.Go(func() { discard(ready) }, func(error) {}) // nobody waits for a discarded worker
			return nil, ctx.Err()
		}
	}
	return open(ctx, c, o)
}

// Refill starts, in the background, a worker for every command whose last one was taken.
func (r *Reserve) Refill(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.orders {
		if o.ready != nil {
			continue
		}
		ready := make(chan *worker, 1)
		o.ready = ready
		panics.Go(func() {
			// the start that is waited for reports why it does not start
			w, _ := open(ctx, o.command, o.options)
			ready <- w
		}, func(error) { ready <- nil })
	}
}

// Close ends the workers that nobody took.
func (r *Reserve) Close() {
	r.mu.Lock()
	var left []chan *worker
	for _, o := range r.orders {
		if o.ready != nil {
			left = append(left, o.ready)
		}
	}
	r.orders = nil
	r.mu.Unlock()
	for _, ready := range left {
		discard(ready)
	}
}

func discard(ready chan *worker) {
	if w := <-ready; w != nil {
		w.close()
	}
}
