package run

import (
	"sync"

	"triad/internal/panics"
)

// ahead is the next case, prepared while the current one is judged, since the cores have little to do while
// workers load and launch. Nothing is prepared during timing.
type ahead struct {
	key     string
	prepare func() (*prepared, error) // nil: nothing is begun
}

// aheadShare: a case that takes more than 1/aheadShare of the memory is not prepared ahead.
const aheadShare = 8

// hostBytes estimates the driver's memory for a case: for each element of the outputs the truth, the
// error bound and the simulated contract in fp64 and what is judged, and the inputs as they are drawn and
// laid out. 0 if its sizes are not known.
func (w work) hostBytes() (bytes int64) {
	if w.operator == nil {
		return 0
	}
	inputs, err := w.operator.Spec.Inputs(w.Case)
	if err != nil {
		return 0
	}
	outputs, err := w.operator.Spec.Outputs(w.Case)
	if err != nil {
		return 0
	}
	for _, t := range inputs {
		bytes += 2 * t.Elements() * t.DType.Size()
	}
	for _, t := range outputs {
		bytes += t.Elements() * (3*8 + t.DType.Size())
	}
	return bytes
}

// begin prepares a case in the background, unless it is one of the largest. A panic is an error of the caller
// that takes the case: one that waits works on another case.
func (a *ahead) begin(x *execution, w work) {
	if x.HostBytes > 0 && w.hostBytes() > x.HostBytes/aheadShare {
		return
	}
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

// take returns a case that was begun, or prepares it now.
func (a *ahead) take(x *execution, w work) (*prepared, error) {
	once, begun := a.prepare, a.key == w.Key()
	a.wait()
	*a = ahead{}
	if once != nil && begun {
		return once()
	}
	return x.prepareGuarded(w)
}

// prepareGuarded is prepare, with a panic as an error that names the case.
func (x *execution) prepareGuarded(w work) (c *prepared, err error) {
	defer panics.Caught(&err, func() string { return "preparing " + describe(w.Case) })
	return x.prepare(w)
}
