package standing

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"triad/internal/backend"
	"triad/internal/ladder"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/worker"
)

// bytesRequest returns the request of the counted case of a ladder for a Python file.
func bytesRequest(request run.Request, l ladder.Ladder, base record.Record) run.Request {
	request = theCase(request, l, base)
	if base.Case.Saved != "" { // autograd's own graph, or given tensors
		request.Options.Saved = []string{base.Case.Saved}
	}
	return request
}

// movedBy runs a request in Triton's interpreter, and returns the bytes that the kernels of each
// implementation move in its last call; none of one that was not called.
func movedBy(ctx context.Context, b backend.Backend, request run.Request) map[string]ladder.Traffic {
	moved := &movedBytes{Backend: b, of: map[string]ladder.Traffic{}}
	if _, err := run.Unrecorded(ctx, ctx, moved, request, false); err != nil {
		return nil // nothing is counted
	}
	return moved.of
}

// movedBytes keeps what the last call of each implementation moved.
type movedBytes struct {
	backend.Backend
	mutex sync.Mutex
	of    map[string]ladder.Traffic
}

// Unwrap returns the wrapped backend.
func (m *movedBytes) Unwrap() backend.Backend { return m.Backend }

// Run runs a job.
func (m *movedBytes) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	outcome, err := m.Backend.Run(ctx, job)
	m.mutex.Lock()
	defer m.mutex.Unlock()
	switch t := outcome.Traffic; {
	case t != nil:
		m.of[job.Implementation.Name] = ladder.Traffic{ReadBytes: t.ReadBytes, WriteBytes: t.WriteBytes}
	case err == nil && outcome.Status == op.StatusUnknown: // no kernel of Triton ran
		m.of[job.Implementation.Name] = ladder.Traffic{}
	}
	return outcome, err
}

// printRows prints how often triad's own rows of Triton and its variants of CUDA move each byte.
func (p Place) printRows(ctx context.Context, w *machine.Workers) {
	rows := map[string]ladder.Traffic{}
	for _, v := range p.ladder.Variants {
		rows[v.Impl] = v.Traffic
	}
	all, err := w.Backends(nil, machine.EnvironmentFlags{Look: true},
		worker.Options{Limits: worker.DefaultLimits})
	if err == nil {
		defer session.CloseAll(all)
	}
	p.counted.Impls = []string{"triton"}
	for _, b := range all {
		if slices.Contains(b.Families(), "triton") {
			maps.Copy(rows, movedBy(ctx, b, p.counted))
		}
	}
	for _, impl := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(w.Out, "  %s %s.\n", impl, p.ladder.Moved(rows[impl]))
	}
}
