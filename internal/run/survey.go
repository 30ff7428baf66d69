package run

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
)

// Survey holds the compiled kernels that each call of a plan launches, from which a few calls that reach
// every kernel can be chosen.
type Survey struct {
	Reached []Reached
	Built   []string // every kernel of the libraries, by its mangled name
}

// Reached is one implementation on one case, and what its call launches.
type Reached struct {
	Case     op.Case
	Impl     string
	Kernels  []string // mangled; empty where the backend cannot tell
	Elements int64    // of all tensors
	// Vectors: the rows of all tensors are whole vectors of 16 bytes; kernels treat others differently
	Vectors bool
	Library bool // it launches kernels that others compiled, as cuBLAS does: nobody here could fix them
}

// surveyedElements limits the size of the cases: the smallest that reach a kernel are wanted. Every compiled
// kernel of ours is launched by a smaller case of its operator (a test of package cuda).
const surveyedElements = 1 << 22

// Surveyed reports whether a survey covers a case with this many elements.
func Surveyed(elements int64) bool { return elements > 0 && elements <= surveyedElements }

// EveryKernel changes a request to the cases that a survey chooses from: every size of the spec once, each
// with every attribute, on normal data, contiguous or padded.
func EveryKernel(r Request) Request {
	r.Options.Level = op.LevelFull
	r.Options.Distributions, r.Options.Layouts, r.Options.Upstreams = []string{"normal"},
		[]string{"contiguous", "padded"}, []string{"normal"}
	r.Options.Saved = []string{"driver"} // no other kernel runs first
	r.Single = true                      // further calls of a relation launch nothing new
	return r
}

// kernelName is the number of bytes of a kernel's name that a worker reports.
const kernelName = 511

// Survey finds what the call of every implementation on every case of a request launches. Nothing is judged
// or recorded.
func (r *Runner) Survey(ctx context.Context, request Request) (s Survey, err error) {
	defer panics.Caught(&err, func() string { return "asking which kernels the calls launch" })
	if request.Operators, err = withDTypes(request); err != nil {
		return s, err
	}
	p, err := r.makePlan(ctx, request, justJudged)
	if err != nil {
		return s, err
	}
	x := &execution{Runner: r, request: request, result: &Result{}}
	var mu sync.Mutex
	built := map[string]bool{}
	lanes := map[string][]func() error{} // an implementation's calls follow each other in one worker
	for _, w := range p.judged {
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return s, err
		}
		vectors, err := wholeVectors(w)
		if err != nil {
			return s, err
		}
		for _, e := range w.entries {
			if e.build != nil {
				for _, k := range e.build.Kernels {
					built[shortKernelName(k.Kernel)] = true
				}
			}
			if e.verdict != nil || !Surveyed(elements) {
				continue
			}
			lanes[e.implementation.Name] = append(lanes[e.implementation.Name], func() error {
				kernels, runs, err := x.launched(ctx, w, e)
				if err != nil || !runs {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				s.Reached = append(s.Reached, Reached{
					Case: w.Case, Impl: e.implementation.Name, Kernels: kernels, Elements: elements,
					Vectors: vectors,
				})
				return nil
			})
		}
	}
	for name := range built {
		s.Built = append(s.Built, name)
	}
	slices.Sort(s.Built)
	err = sideBySide(r, lanes)
	ours := func(kernel string) bool { return built[kernel] || strings.HasPrefix(kernel, unprepared) }
	for i, reached := range s.Reached {
		s.Reached[i].Library = len(built) > 0 && len(reached.Kernels) > 0 &&
			!slices.ContainsFunc(reached.Kernels, ours)
	}
	return s, err
}

// sideBySide makes the calls of each lane in order, and runs the lanes concurrently.
func sideBySide(r *Runner, lanes map[string][]func() error) error {
	var group panics.Group
	var mu sync.Mutex
	var failures []error
	for _, calls := range lanes {
		group.Go(func() {
			for _, call := range calls {
				if r.Stop.Err() != nil {
					return
				}
				if err := call(); err != nil {
					mu.Lock()
					failures = append(failures, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return errors.Join(failures...)
}

// shortKernelName cuts a name to the length that a survey records.
func shortKernelName(kernel string) string { return kernel[:min(len(kernel), kernelName)] }

// unprepared is the prefix of the name that stands for the kernels of a call that could not be prepared.
const unprepared = "not prepared: "

// notPrepared returns what is known of a call that could not be prepared. A failed one stands for a kernel of
// its own, so that it is run again and seen.
func notPrepared(status op.Status) (kernels []string, runs bool, err error) {
	switch status {
	case op.StatusUnavailable: // without a clock a backend cannot tell what a call launches, but it runs it
		return nil, true, nil
	case op.StatusUnsupported, op.StatusSkipped, op.StatusMissing:
		return nil, false, nil
	}
	return []string{unprepared + status.String()}, true, nil
}

// launched prepares a call as if to time it, and returns the kernels in its graph. runs is false if the
// implementation declines the case.
func (x *execution) launched(ctx context.Context, w work, e entry) (kernels []string, runs bool, err error) {
	defer panics.Caught(&err, func() string { return e.on("asking what is launched by", w.Case) })
	c, err := x.unjudged(w)
	if err != nil {
		return nil, false, err
	}
	job, err := x.job(ctx, c, e)
	var stopped *stoppedBefore
	if errors.As(err, &stopped) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	candidate, outcome, err := e.backend.Measure(ctx, backend.MeasureJob{Job: job, GraphNS: 1})
	if err != nil {
		return nil, false, err
	}
	if candidate == nil {
		return notPrepared(outcome.Status)
	}
	for _, k := range candidate.Facts().Kernels {
		kernels = append(kernels, shortKernelName(k.Kernel))
	}
	_, _, err = candidate.Finish(ctx)
	return kernels, true, err
}

// reach is a kernel on rows of one kind.
type reach struct {
	kernel  string
	vectors bool
}

// Cover chooses from a survey, for each implementation, pass and dtype, the fewest calls that together launch
// every kernel, each on whole vectors and on ragged rows if both occur; of equal calls the smaller. Calls of
// a library are left out.
func (s Survey) Cover() []Reached {
	groups := map[string][]Reached{}
	var order []string
	for _, r := range s.Reached {
		if r.Library {
			continue
		}
		key := strings.Join([]string{r.Case.Op, r.Impl, r.Case.Pass.String(), r.Case.DType}, " ")
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	slices.Sort(order)
	var chosen []Reached
	for _, key := range order {
		chosen = append(chosen, coverOf(groups[key])...)
	}
	return chosen
}

// Watchable is Cover for a tool that watches kernels. If no call is left, the error says why.
func (s Survey) Watchable() ([]Reached, error) {
	if len(s.Reached) == 0 {
		return nil, errors.New("no CUDA kernel could be called without a tool: the same command without " +
			"--sanitize says why")
	}
	cover := s.Cover()
	if len(cover) == 0 {
		return nil, errors.New("these implementations launch kernels of a library alone, which " +
			"compute-sanitizer cannot follow")
	}
	return cover, nil
}

// coverOf is Cover within one group.
func coverOf(all []Reached) []Reached {
	slices.SortStableFunc(all, func(a, b Reached) int {
		return cmp.Or(cmp.Compare(rankRelated(a.Elements), rankRelated(b.Elements)),
			strings.Compare(a.Case.Key(), b.Case.Key()))
	})
	left := map[reach]bool{}
	for _, r := range all {
		for _, k := range r.asks() {
			left[k] = true
		}
	}
	var chosen []Reached
	for len(left) > 0 {
		best, most := -1, 0
		for i, r := range all {
			n := 0
			for _, k := range r.asks() {
				if left[k] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		chosen = append(chosen, all[best])
		for _, k := range all[best].asks() {
			delete(left, k)
		}
	}
	return chosen
}

// asks returns what a call covers: its kernels, each on its kind of rows, and the fact that the
// implementation takes such rows.
func (r Reached) asks() []reach {
	all := []reach{{"", r.Vectors}}
	for _, k := range r.Kernels {
		if k := (reach{k, r.Vectors}); !slices.Contains(all, k) {
			all = append(all, k)
		}
	}
	return all
}
