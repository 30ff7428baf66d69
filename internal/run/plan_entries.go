package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/truth"
)

// quickCases returns how many cases of each pass and dtype an implementation gets on the quick level: two
// with the limit "quick2", 0 where it has no limit.
func quickCases(i backend.Implementation) int {
	number, _ := strings.CutPrefix(i.Limit, "quick")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 0
	}
	return n
}

// loaded holds what one backend has for one operator.
type loaded struct {
	backend         backend.Backend
	implementations []backend.Implementation
	failed          []backend.LoadFailure
	hello           backend.HelloReply
	build           *backend.BuildFacts
	missing         string // why the backend is missing altogether
	buildFailure    *backend.BuildFailure
	trouble         *backend.HostTrouble // what kept it from being loaded
}

// entry is one implementation of one pass for one case: the unit that is run, judged and recorded.
type entry struct {
	implementation backend.Implementation
	backend        backend.Backend
	build          *backend.BuildFacts
	verdict        *ruling // set if the result is known without a run
}

// ruling is a status that needs no run. INTERRUPTED leaves the case open.
type ruling struct {
	status   op.Status
	sentence string
	log      string
}

// work is one case and everything that runs on it.
type work struct {
	operator *truth.Operator
	op.Case
	entries  []entry
	moderate bool // the case of its operator and dtype that a gradcheck launches more often
	ordinary bool // the case of its pass and dtype that is launched into ordinary numbers, too
	// configured: one of the cases of its operator, pass and dtype on which every configuration of autotune
	// is judged
	configured bool
	altered    *alteration // of its first input, before its forward is called again; nil: it is not
	timed      bool        // a bench point that a comparison times after everything is judged
	bySample   bool        // it is judged to be timed: of large outputs a sample of rows is judged
	// between names the relations between calls that are evaluated here: they need further launches
	between map[string]bool
}

// ownPrefix is the prefix of the names of implementations in files that a user adds.
const ownPrefix = "mine/"

// own reports whether an entry is of a user's file.
func own(e entry) bool { return strings.HasPrefix(e.implementation.Name, ownPrefix) }

func usagef(format string, a ...any) error { return &op.UsageError{Message: fmt.Sprintf(format, a...)} }

// wanted returns the backends that the given prefixes name; an unknown family is a usage error.
func (r *Runner) wanted(impls []string) ([]backend.Backend, error) {
	if len(impls) == 0 {
		return r.Backends, nil
	}
	var families []string
	for _, b := range r.Backends {
		families = append(families, b.Families()...)
	}
	var chosen []backend.Backend
	for _, prefix := range impls {
		family, _, _ := strings.Cut(prefix, "/")
		if !slices.Contains(families, family) {
			return nil, usagef("no implementation begins with %q: want a prefix such as %s", prefix,
				strings.Join(families, ", "))
		}
		for _, b := range r.Backends {
			if slices.Contains(b.Families(), family) && !slices.Contains(chosen, b) {
				chosen = append(chosen, b)
			}
		}
	}
	return chosen, nil
}

// load asks every backend for an operator, side by side.
func (r *Runner) load(ctx context.Context, operator string, backends []backend.Backend) ([]loaded, error) {
	all := make([]loaded, len(backends))
	failures := make([]error, len(backends))
	var group panics.Group
	ctx, done := r.whileLoading(ctx)
	defer done()
	for i, b := range backends {
		group.Go(func() {
			reply, hello, err := b.Load(ctx, operator)
			all[i] = loaded{
				backend: b, implementations: reply.Implementations, failed: reply.Failed,
				hello: hello, build: reply.Build,
			}
			var missing *backend.Unavailable
			switch {
			case err == nil:
			case errors.As(err, &all[i].buildFailure): // also of a run that was stopped: the build may be why
			case ctx.Err() != nil: // it was cancelled: nothing is known of what is here
				failures[i] = context.Cause(ctx)
			case errors.As(err, &missing):
				all[i].missing = missing.Sentence
			case errors.As(err, &all[i].trouble):
			default:
				failures[i] = err
			}
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return all, errors.Join(failures...)
}

// matches reports whether an implementation is asked for. "cuda/tiled" means exactly that where it exists,
// else every name that begins so.
func matches(name string, prefixes, names []string) bool {
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool {
		return name == p || strings.HasPrefix(name, p+"/") || !slices.Contains(names, p) &&
			strings.HasPrefix(name, p)
	})
}

// registers reports whether an implementation's entry covers a case's dtype: by the case's own name, or by
// its first part, the dtype of the main input.
func registers(i backend.Implementation, dtype string) bool {
	first, _, _ := strings.Cut(dtype, "_")
	return slices.Contains(i.DTypes, dtype) || slices.Contains(i.DTypes, first)
}

// assign gives every case its entries. What an implementation lacks is recorded once for each pass and dtype,
// on their first case: a table then shows the gap, and the database is not filled with it.
func assign(operator *truth.Operator, plan op.Plan, all []loaded, request Request) []work {
	cases := plan.Cases
	planned := make([]work, len(cases))
	reported := map[string]bool{}
	compiled := map[string]int{}
	quick := request.Options.Level == op.LevelQuick
	for i, c := range cases {
		planned[i] = work{operator: operator, Case: c}
		group := fmt.Sprint(c.Pass, " ", c.DType)
		for _, l := range all {
			for _, e := range l.entriesFor(c, request) {
				name := e.implementation.Name
				if e.verdict == nil {
					e.verdict = notPermitted(operator.Spec, c, e.implementation)
				}
				if e.verdict != nil {
					if reported[name+" "+group] {
						continue
					}
					reported[name+" "+group] = true
				} else if most := quickCases(e.implementation); most > 0 && quick {
					// a case that every answer passes is not worth its compilation
					if compiled[name+" "+group] >= most || operator.Spec.Trivial(c) != "" {
						continue
					}
					compiled[name+" "+group]++
				}
				planned[i].entries = append(planned[i].entries, e)
			}
		}
	}
	planned = append(planned, skipped(operator, plan.Skipped, all, request)...)
	return slices.DeleteFunc(planned, func(w work) bool { return len(w.entries) == 0 })
}

// notPermitted rejects, before anything runs, an implementation that declares a contract which the operator
// does not permit: looser promises are no way to pass.
func notPermitted(spec *op.Spec, c op.Case, i backend.Implementation) *ruling {
	if spec.Permits(c.DType, i.Contract) {
		return nil
	}
	permitted := []string{spec.DefaultContract(c.DType)}
	for _, k := range spec.Contract.Permits {
		if !slices.Contains(permitted, k) {
			permitted = append(permitted, k)
		}
	}
	return &ruling{status: op.StatusFail, sentence: fmt.Sprintf("%s declares the contract %q for the %v of "+
		"%s in %s, which %s does not permit: want %s",
		i.Name, i.Contract, c.Pass, c.Op, c.DType, c.Op, strings.Join(permitted, " or "))}
}

// skipped records once for each implementation, pass and dtype that cases were left out, on the first of
// them.
func skipped(operator *truth.Operator, left []op.Skipped, all []loaded, request Request) []work {
	count := map[string]int{}
	for _, s := range left {
		count[fmt.Sprint(s.Case.Pass, " ", s.Case.DType)]++
	}
	var planned []work
	reported := map[string]bool{}
	for _, s := range left {
		group := fmt.Sprint(s.Case.Pass, " ", s.Case.DType)
		if reported[group] {
			continue
		}
		reported[group] = true
		w := work{operator: operator, Case: s.Case}
		for _, l := range all {
			for _, e := range l.entriesFor(s.Case, request) {
				if e.verdict == nil {
					e.verdict = &ruling{status: op.StatusSkipped, sentence: leftOut(count[group]) +
						"; of this one: " + s.Reason}
					w.entries = append(w.entries, e)
				}
			}
		}
		planned = append(planned, w)
	}
	return planned
}

// entriesFor returns the entries of one backend for one case.
func (l loaded) entriesFor(c op.Case, request Request) []entry {
	var entries []entry
	for _, family := range l.backend.Families() {
		gone := l.ruling(family)
		if gone == nil || !matches(family, familiesOf(request.Impls), nil) || len(request.Impls) == 0 &&
			l.optional(family) {
			continue
		}
		i := backend.Implementation{Name: family, Op: c.Op, Pass: c.Pass}
		entries = append(entries, entry{implementation: i, backend: l.backend, verdict: gone})
	}
	for _, f := range l.failed {
		if strings.Contains(f.Implementation, "/") && matches(f.Implementation, request.Impls, nil) {
			i := backend.Implementation{Name: f.Implementation, Op: c.Op, Pass: c.Pass}
			if f.Status == op.StatusInterrupted { // what it has is not known: its family stands for it
				i.Name, _, _ = strings.Cut(f.Implementation, "/")
			}
			entries = append(entries, entry{implementation: i, backend: l.backend, verdict: &ruling{
				f.Status,
				f.Message, f.Log,
			}})
		}
	}
	names := l.names()
	for _, name := range names {
		if !matches(name, request.Impls, names) || c.Pass == op.Forward && !l.has(name, op.Forward) {
			continue // a variant of only the backward is no gap in the forward
		}
		entries = append(entries, l.entryFor(name, c))
	}
	return entries
}

// Optional is a backend with optional families: a missing one is reported only if it is asked for by name.
type Optional interface{ OptionalFamilies() []string }

func (l loaded) optional(family string) bool {
	b, ok := backend.As[Optional](l.backend)
	return ok && slices.Contains(b.OptionalFamilies(), family)
}

// ruling returns the verdict on a whole family: nil if it is available.
func (l loaded) ruling(family string) *ruling {
	if l.missing != "" {
		return &ruling{status: op.StatusUnavailable, sentence: l.missing}
	}
	if l.buildFailure != nil {
		return &ruling{l.buildFailure.Verdict(), l.buildFailure.Sentence, l.buildFailure.Log}
	}
	if l.trouble != nil {
		return &ruling{op.StatusInterrupted, l.trouble.Sentence, l.trouble.Log}
	}
	for _, f := range l.failed {
		if f.Implementation == family {
			return &ruling{f.Status, f.Message, f.Log}
		}
	}
	return nil
}

func familiesOf(prefixes []string) []string {
	var out []string
	for _, p := range prefixes {
		family, _, _ := strings.Cut(p, "/")
		out = append(out, family)
	}
	return out
}

// names lists the implementations of a backend, each once, in the order of registration.
func (l loaded) names() []string {
	var names []string
	for _, i := range l.implementations {
		if !slices.Contains(names, i.Name) {
			names = append(names, i.Name)
		}
	}
	return names
}

func (l loaded) has(name string, pass op.Pass) bool {
	return slices.ContainsFunc(l.implementations,
		func(i backend.Implementation) bool { return i.Name == name && i.Pass == pass })
}

// entryFor returns the registration of an implementation for a case, or a verdict that says what is missing.
func (l loaded) entryFor(name string, c op.Case) entry {
	var ofPass []backend.Implementation
	for _, i := range l.implementations {
		if i.Name == name && i.Pass == c.Pass {
			ofPass = append(ofPass, i)
			if registers(i, c.DType) {
				return l.chosen(i, c)
			}
		}
	}
	i := backend.Implementation{Name: name, Op: c.Op, Pass: c.Pass, Device: l.deviceOf(name)}
	if len(ofPass) == 0 {
		return entry{implementation: i, backend: l.backend, verdict: &ruling{
			status:   op.StatusMissing,
			sentence: fmt.Sprintf("%s has no %v pass", name, c.Pass),
		}}
	}
	var dtypes []string
	for _, p := range ofPass {
		dtypes = append(dtypes, p.DTypes...)
	}
	return entry{implementation: i, backend: l.backend, verdict: &ruling{
		status:   op.StatusUnsupported,
		sentence: fmt.Sprintf("%s has no %s: it has %s", name, c.DType, strings.Join(dtypes, ", ")),
	}}
}

// chosen returns the entry of a registered implementation, with a verdict if its kind of pass does not fit
// the case.
func (l loaded) chosen(i backend.Implementation, c op.Case) entry {
	e := entry{implementation: i, backend: l.backend, build: l.build}
	if i.Recomputes && c.Saved == "driver" {
		e.verdict = &ruling{status: op.StatusUnsupported, sentence: i.Name +
			" recomputes its forward and takes no saved tensors: it is judged chained"}
	}
	if i.Draws != "" && c.Pass == op.Forward {
		e.verdict = &ruling{status: op.StatusUnsupported, sentence: i.Draws}
	}
	if forward := forwardOf(i); !i.Recomputes && c.Saved == "own" && !l.has(forward, op.Forward) {
		e.verdict = &ruling{status: op.StatusMissing, sentence: i.Name + " is chained to a forward " +
			forward + ", which is not there"}
	}
	return e
}

// forwardOf returns the name of the forward that a backward is chained to: the one it declares, else its own.
func forwardOf(i backend.Implementation) string {
	if i.Forward == "" {
		return i.Name
	}
	family, _, _ := strings.Cut(i.Name, "/")
	// a CUDA registration names only the variant
	return family + "/" + strings.TrimPrefix(i.Forward, family+"/")
}

func (l loaded) deviceOf(name string) string {
	for _, i := range l.implementations {
		if i.Name == name {
			return i.Device
		}
	}
	return ""
}

// leftOut returns the sentence about n cases that are left out.
func leftOut(n int) string {
	if n == 1 {
		return "1 case is left out here"
	}
	return fmt.Sprintf("%d cases are left out here", n)
}
