package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"triad/cuda"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/check"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/worker"
)

// isOperator reports whether a word names an operator of the catalog and no file.
func isOperator(word string) bool {
	_, err := os.Stat(word)
	return err != nil && slices.Contains(catalog.Names(), word)
}

// watchedCalls builds kernel files with every access reported, and runs single calls of them.
type watchedCalls struct {
	builder func(context.Context) (cuda.Builder, error)
	options *checkOptions

	mutex    sync.Mutex
	programs map[string]cuda.Program // by the kernel file
}

// run runs the call of a job in the given schedule orders; nil: in all.
func (w *watchedCalls) run(ctx context.Context, file string, job backend.Job, orders []string) (*check.Report,
	error,
) {
	program, err := w.program(ctx, file)
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
	if err := cuda.WriteCall(&text, job); err != nil {
		return nil, err
	}
	if _, err := call.Write(text.Bytes()); err != nil {
		return nil, fmt.Errorf("write a call: %w", err)
	}
	q := w.options.request(program)
	q.Args, q.Orders, q.Call = []string{call.Name()}, orders, describeCall(job)
	q.Variant = fmt.Sprint(job.Implementation.Name, " ", job.Implementation.Pass)
	return check.Run(ctx, q)
}

func (w *watchedCalls) program(ctx context.Context, file string) (cuda.Program, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if p, built := w.programs[file]; built {
		return p, nil
	}
	b, err := w.builder(ctx)
	if err != nil {
		return cuda.Program{}, err
	}
	p, err := b.KernelProgram(ctx, file, w.options.explain)
	if err == nil {
		if w.programs == nil {
			w.programs = map[string]cuda.Program{}
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

// watchedBackend runs the jobs of a backend, each first with every access watched.
type watchedBackend struct {
	backend.Backend
	calls *watchedCalls

	mutex sync.Mutex
	found check.Report
	ran   int // number of watched calls
}

// Unwrap returns the wrapped backend.
func (w *watchedBackend) Unwrap() backend.Backend { return w.Backend }

// Run watches the call of a job, then runs it for the judge.
func (w *watchedBackend) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	called, takes := calledIn(w.Backend, job)
	if !takes {
		return w.Backend.Run(ctx, job)
	}
	found, err := w.calls.run(ctx, cudaFileOf(w.Backend, job), called, nil)
	if err != nil {
		return backend.Outcome{}, err
	}
	w.mutex.Lock()
	w.found.Merge(found)
	w.ran++
	w.mutex.Unlock()
	return w.Backend.Run(ctx, job)
}

// Of each dtype and pass of an operator watchedCases calls are watched, with at most watchedElements
// elements.
const (
	watchedCases    = 2
	watchedElements = 1 << 14
)

// checkOperator checks every CUDA kernel of an operator, and notes those with wrong results.
func (a *app) checkOperator(ctx context.Context, name string, o *checkOptions) (*check.Report, error) {
	operator, err := truth.Get(name)
	if err != nil {
		return nil, err
	}
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	options := op.Options{Level: op.LevelQuick}
	chosen, err := casesToWatch(operator.Spec, options)
	if err != nil {
		return nil, err
	}
	kernels := a.CUDABackend(cache, worker.Options{Limits: worker.DefaultLimits})
	defer kernels.Close()
	watched := &watchedBackend{
		Backend: kernels, calls: &watchedCalls{builder: a.programBuilder, options: o},
		found: check.Report{Findings: []check.Finding{}},
	}
	runner := &run.Runner{Backends: []backend.Backend{watched}, Recorder: discard{}, Stop: ctx}
	began := time.Now()
	result, err := runner.Compare(ctx, run.Request{
		Operators: []*truth.Operator{operator}, Options: options, Seed: 1, Single: true,
		Impls: kernels.Families(),
		Keep:  func(c op.Case, _ string) bool { return chosen[c.Key()] },
	})
	if err != nil {
		return nil, err
	}
	if len(result.Unavailable) > 0 {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check: %s", result.Unavailable[0]))
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	found := &watched.found
	for _, r := range result.Records {
		if r.Status.Weight() == op.Bad {
			found.Notes = append(
				found.Notes,
				fmt.Sprintf("%s %v %s is %v: %s", r.Impl, r.Case.Pass, r.Case.DType,
					r.Status, r.Message),
			)
		}
	}
	fmt.Fprintf(a.Err, "%d calls of the CUDA kernels of %s were watched in %v.\n", watched.ran, name,
		time.Since(began).Round(time.Second))
	return found, nil
}

// sizedCase is a case with the number of elements of its inputs.
type sizedCase struct {
	key      string
	elements int64
}

// casesToWatch returns the keys of the chosen cases: of each pass and dtype those that largestSmall chooses.
func casesToWatch(spec *op.Spec, options op.Options) (map[string]bool, error) {
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
		func(c sizedCase) bool { return c.elements > watchedElements })
	if len(small) == 0 {
		return list[len(list)-1:]
	}
	return small[:min(len(small), watchedCases)]
}
