// Package watched runs single calls of kernels with every access watched: for check of an operator, for the
// two lines of a race, and for the smallest wrong case.
package watched

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Calls builds kernel files with every access reported, and runs single calls of them. It builds a file once:
// a file that was edited needs new Calls.
type Calls struct {
	builder func(context.Context) (build.Builder, error)
	limits  Limits

	mutex    sync.Mutex
	programs map[string]program.Program // by the kernel file
}

// run runs the call of a job in the given schedule orders; nil: in all.
func (w *Calls) run(ctx context.Context, file string, job backend.Job, orders []string) (*check.Report,
	error,
) {
	built, err := w.program(ctx, file)
	if err != nil {
		return nil, err
	}
	call, err := os.CreateTemp("", "triad-call-")
	if err != nil {
		return nil, fmt.Errorf("make a file for a call: %w", err)
	}
	defer os.Remove(call.Name())
	defer call.Close()
	var text bytes.Buffer
	if err := program.WriteCall(&text, job); err != nil {
		return nil, err
	}
	if _, err := call.Write(text.Bytes()); err != nil {
		return nil, fmt.Errorf("write a call: %w", err)
	}
	q := w.limits.Request(built)
	q.Args, q.Orders, q.Call = []string{call.Name()}, orders, describeCall(job)
	q.Variant = fmt.Sprint(job.Implementation.Name, " ", job.Implementation.Pass)
	return check.Run(ctx, q)
}

func (w *Calls) program(ctx context.Context, file string) (program.Program, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if p, built := w.programs[file]; built {
		return p, nil
	}
	b, err := w.builder(ctx)
	if err != nil {
		return program.Program{}, err
	}
	build := func() (program.Program, error) { return program.BuildKernel(ctx, &b, file, w.limits.Counts) }
	if w.limits.CountsAlone {
		build = func() (program.Program, error) { return program.BuildCounted(ctx, &b, file) }
	}
	p, err := build()
	if err == nil {
		if w.programs == nil {
			w.programs = map[string]program.Program{}
		}
		w.programs[file] = p
	}
	return p, err
}

// describeCall names the kernel and the shapes of its inputs: cuda/tiled forward fp32, x 33x7.
func describeCall(job backend.Job) string {
	words := []string{fmt.Sprintf("%s %v %s", job.Implementation.Name, job.Implementation.Pass, job.DType)}
	for _, t := range job.Inputs {
		words = append(words, t.Name+" "+shapeOf(t))
	}
	return strings.Join(words, ", ")
}

func shapeOf(t tensor.Tensor) string {
	if len(t.Shape) == 0 {
		return "of one element"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Shape), "[]"), " ", "x")
}

// Backend runs the jobs of a backend, each first with every access watched.
type Backend struct {
	backend.Backend
	calls  *Calls
	Orders []string // schedule orders in which a call is watched; nil: all
	// Largest: a call is watched only if its inputs have more elements than those of every call before it.
	// Counts are those of the largest call.
	Largest bool

	mutex    sync.Mutex
	Found    check.Report
	Ran      int   // number of watched calls
	elements int64 // of the inputs of the largest call
}

// Unwrap returns the wrapped backend.
func (w *Backend) Unwrap() backend.Backend { return w.Backend }

// Run watches the call of a job, then runs it for the judge.
func (w *Backend) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	called, takes := calledIn(w.Backend, job)
	if !takes || w.Largest && !w.grows(job) {
		return w.Backend.Run(ctx, job)
	}
	found, err := w.calls.run(ctx, CUDAFileOf(w.Backend, job), called, w.Orders)
	if err != nil {
		return backend.Outcome{}, err
	}
	w.mutex.Lock()
	w.Found.Merge(found)
	w.Ran++
	w.mutex.Unlock()
	return w.Backend.Run(ctx, job)
}

// grows notes the elements of a job's inputs, and reports whether no call before had as many.
func (w *Backend) grows(job backend.Job) bool {
	elements := int64(1) // a call without inputs counts too
	for _, t := range job.Inputs {
		elements += t.Elements()
	}
	w.mutex.Lock()
	defer w.mutex.Unlock()
	larger := elements > w.elements
	w.elements = max(w.elements, elements)
	return larger
}

// Of each dtype and pass of an operator watchedCases calls are watched, with at most watchedElements
// elements.
const (
	watchedCases = 2
	MostElements = 1 << 14
)

// sizedCase is a case with the number of elements of its inputs.
type sizedCase struct {
	key      string
	elements int64
}

// CasesToWatch returns the keys of the chosen cases: of each pass and dtype those that largestSmall chooses.
func CasesToWatch(spec *op.Spec, options op.Options) (map[string]bool, error) {
	plan, err := spec.Expand(options)
	if err != nil {
		return nil, err
	}
	groups := map[string][]sizedCase{}
	for _, c := range plan.Cases {
		inputs, err := spec.Inputs(c)
		if err != nil {
			return nil, err
		}
		elements := int64(0)
		for _, t := range inputs {
			elements += t.Elements()
		}
		group := fmt.Sprint(c.Pass, " ", c.DType)
		groups[group] = append(groups[group], sizedCase{c.Key(), elements})
	}
	chosen := map[string]bool{}
	for _, list := range groups {
		for _, c := range largestSmall(list) {
			chosen[c.key] = true
		}
	}
	return chosen, nil
}

// largestSmall chooses the watchedCases largest cases of at most watchedElements, else the smallest case.
func largestSmall(list []sizedCase) []sizedCase {
	slices.SortStableFunc(list, func(a, b sizedCase) int { return cmp.Compare(b.elements, a.elements) })
	small := slices.DeleteFunc(slices.Clone(list),
		func(c sizedCase) bool { return c.elements > MostElements })
	if len(small) == 0 {
		return list[len(list)-1:]
	}
	return small[:min(len(small), watchedCases)]
}

// CUDAFileOf returns the kernel file, as build.Builder names it, with the implementation of a job; "" if it
// is not CUDA.
func CUDAFileOf(b backend.Backend, job backend.Job) string {
	if own, is := backend.As[interface{ CUDAFile(string) string }](b); is {
		return own.CUDAFile(job.Implementation.Name)
	}
	return job.Implementation.Op
}

// calledIn returns a job as the library of its file gets it; false if the file declines it.
func calledIn(b backend.Backend, job backend.Job) (backend.Job, bool) {
	own, is := backend.As[interface {
		Called(job backend.Job) (called backend.Job, declined string)
	}](b)
	if !is {
		return job, true
	}
	called, declined := own.Called(job)
	return called, declined == ""
}

// Limits holds how long programs are watched.
type Limits struct {
	Run    time.Duration // of one run
	Stall  time.Duration // of a launch in which nothing moves on
	All    time.Duration // schedule orders are left out after it
	Counts bool          // the accesses of each line are counted
	// CountsAlone: nothing else is asked of the program
	CountsAlone bool
}

// Request returns how to run a program.
func (l Limits) Request(p program.Program) check.Request {
	return check.Request{
		Program: p.Path, Limit: l.Run, Stall: l.Stall, Budget: l.All, Output: io.Discard, Locate: Locator(p),
		Counts: l.Counts, ReturnsEarly: p.ReturnsEarly,
	}
}

// NewCalls returns calls of kernels that builder builds.
func NewCalls(builder func(context.Context) (build.Builder, error), l Limits) *Calls {
	return &Calls{builder: builder, limits: l}
}

// NewBackend returns a backend whose calls are watched.
func NewBackend(b backend.Backend, calls *Calls) *Backend {
	return &Backend{Backend: b, calls: calls, Found: check.Report{Findings: []check.Finding{}}}
}

// Locator returns a function that finds the source lines of a program's addresses.
func Locator(p program.Program) func(context.Context, []uint64) (map[uint64]check.Place, error) {
	return func(ctx context.Context, offsets []uint64) (map[uint64]check.Place, error) {
		lines, err := program.Lines(ctx, p.Path, p.Files, offsets)
		places := map[uint64]check.Place{}
		for offset, line := range lines {
			places[offset] = check.Place{File: line.File, Line: line.Line}
		}
		return places, err
	}
}
