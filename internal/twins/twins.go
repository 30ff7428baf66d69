// Package twins judges a user's CUDA files, which are judged on a GPU, in the emulator too.
package twins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile/pyparser"
	"triad/internal/ownkernels"
	"triad/internal/participants"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/worker"
)

// Twins runs the files in the emulator. Nil runs none.
type Twins struct {
	files   *participants.OwnFiles
	workers ownkernels.Workers

	mutex sync.Mutex
	twins map[string]*twin // by the names of the implementations
}

// twin is one of the files; if there is none, why says so.
type twin struct {
	backend         *ownkernels.Backend
	implementations []backend.Implementation
	why             string
}

// New makes a session on a GPU judge its files in the emulator too; it returns nil if there are none.
func New(ctx context.Context, a *runsetup.Setup, r *run.Runner, mine *participants.OwnFiles,
	o runsetup.SessionOptions) (
	*Twins, error,
) {
	if o.GPU == nil || mine == nil {
		return nil, nil
	}
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	confine, err := a.BoxOf(ctx, &o.Own, nil)
	if err != nil {
		return nil, err
	}
	options := o.Workers
	options.Limits = options.Limits.OfOwn()
	kernels := func() *worker.Adapter {
		adapter := a.CUDABackend(cache, options)
		if mine.Folder != nil {
			participants.AddSpec(adapter, mine.Folder.TOML)
		}
		return adapter
	}
	workers := ownkernels.Workers{
		CUDA: kernels, Cache: cache, Confine: confine, Parse: pyparser.New(pyparser.OfPATH),
		Observe: a.ObservesMains(ctx),
	}
	twins := &Twins{files: mine, workers: workers, twins: map[string]*twin{}}
	r.Twins = twins
	return twins, nil
}

// Twin returns an implementation in the emulator. It is built only once.
func (t *Twins) Twin(ctx context.Context, i backend.Implementation) (backend.Implementation,
	backend.Backend, string,
) {
	if t.files.CUDAFile(i.Name) == "" {
		return i, nil, ""
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	twin := t.twins[i.Name]
	if twin == nil {
		twin = t.build(ctx, i)
		if ctx.Err() != nil {
			return i, nil, ctx.Err().Error()
		}
		t.twins[i.Name] = twin
	}
	for _, emulated := range twin.implementations {
		if emulated.Name == i.Name && emulated.Pass == i.Pass {
			return emulated, twin.backend, ""
		}
	}
	return i, nil, twin.why
}

// build reads and builds a file for the emulator.
func (t *Twins) build(ctx context.Context, i backend.Implementation) *twin {
	file, err := t.files.File(i.Name).On(t.workers)
	if err != nil {
		return &twin{why: err.Error()}
	}
	twin := &twin{backend: &ownkernels.Backend{Files: []*ownkernels.File{file}}}
	reply, hello, err := twin.backend.Load(ctx, i.Op)
	if err != nil {
		twin.why = err.Error()
		return twin
	}
	for _, f := range reply.Failed {
		twin.why = f.Message
		if f.Status == op.StatusUnavailable { // no g++
			twin.why += ": triad compare --sanitize racecheck and --sanitize memcheck look for races and " +
				"for accesses out of bounds on the GPU"
		}
	}
	for _, emulated := range reply.Implementations {
		if emulated.Device == "" {
			emulated.Device = hello.Device
		}
		twin.implementations = append(twin.implementations, emulated)
	}
	return twin
}

// Of returns the file of a record that the emulator judged; nil if it judged none, or there is no GPU.
func (t *Twins) Of(r record.Record) *ownkernels.Backend {
	if t == nil || r.Device != "emulator" {
		return nil
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if twin := t.twins[r.Impl]; twin != nil {
		return twin.backend
	}
	return nil
}

// Print prints a line for each file with the emulator's verdicts.
func Print(a *runsetup.Setup, result run.Result) {
	to := a.Style().Wrap(a.Out)
	for _, s := range result.TwinVerdicts {
		fmt.Fprintf(to, "%s in the emulator, of the quick cases that are right on the GPU: %s\n", s.Impl,
			twinWords(s))
	}
}

// twinWords summarizes the emulator's verdicts on a file: "RACE on 2, of 12; not judged there on 1: ...".
func twinWords(s run.TwinVerdicts) string {
	var words []string
	for _, status := range slices.Sorted(maps.Keys(s.Wrong)) {
		words = append(words, fmt.Sprintf("%s on %d", status, s.Wrong[status]))
	}
	switch {
	case s.Judged == 0:
	case len(words) == 0:
		words = []string{fmt.Sprintf("PASS on all %d", s.Judged)}
	default:
		words = append(words, fmt.Sprintf("of %d", s.Judged))
	}
	text := strings.Join(words, ", ")
	if s.Left > 0 {
		text += fmt.Sprintf("; not judged there on %d: %s", s.Left, s.Why)
	}
	return strings.TrimPrefix(text, "; ")
}

// Close ends the workers of the twins.
func (t *Twins) Close() error {
	if t == nil {
		return nil
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var all error
	for _, twin := range t.twins {
		if twin.backend != nil {
			all = errors.Join(all, twin.backend.Close())
		}
	}
	return all
}

var _ run.Twins = (*Twins)(nil)
