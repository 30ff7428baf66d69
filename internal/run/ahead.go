package run

import (
	"sync"

	"triad/internal/panics"
)

// ahead is the case that comes next, prepared while the one before it is judged: the cores have little to do while workers load and launch. While
// something is timed nothing is prepared.
type ahead struct {
	key     string
	prepare func() (*prepared, error) // nil: nothing is begun
}

// begin prepares a case in the background. A panic is that of whoever takes it.
func (a *ahead) begin(x *execution, w work) {
	a.key, a.prepare = w.Key(), sync.OnceValues(func() (*prepared, error) { return x.prepare(w) })
	once := a.prepare
	panics.Go(func() { _, _ = once() }, func(error) {})
}

// wait returns when nothing is being prepared.
func (a *ahead) wait() {
	if a.prepare != nil {
		_, _ = a.prepare()
	}
}

// take gives a case that was begun, or prepares it now.
func (a *ahead) take(x *execution, w work) (*prepared, error) {
	once, begun := a.prepare, a.key == w.Key()
	a.wait()
	*a = ahead{}
	if once != nil && begun {
		return once()
	}
	return x.prepare(w)
}
