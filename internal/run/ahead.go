package run

import (
	"sync"

	"triad/internal/panics"
)

// ahead is the case that comes next, prepared while the one before it is judged: the cores have little to do
// while workers load and launch. While something is timed nothing is prepared.
type ahead struct {
	key     string
	prepare func() (*prepared, error) // nil: nothing is begun
}

// begin prepares a case in the background. A panic is an error of whoever takes it: whoever waits works on
// another case.
func (a *ahead) begin(x *execution, w work) {
	a.key, a.prepare = w.Key(), sync.OnceValues(func() (*prepared, error) { return x.prepareGuarded(w) })
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
	return x.prepareGuarded(w)
}

// prepareGuarded is prepare whose panic is an error that names the case.
func (x *execution) prepareGuarded(w work) (c *prepared, err error) {
	defer panics.Caught(&err, func() string { return "preparing " + describe(w.Case) })
	return x.prepare(w)
}
