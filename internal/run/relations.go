package run

import (
	"context"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// relations lists what G6 evaluates on a case: invariants of every judged output, and the relations between
// calls it was chosen for. Of a sample, only invariants of its elements alone are evaluated; of a case whose
// truth is not kept, invariants of some runs of its rows.
func (c *prepared) relations() []truth.Relation {
	if c.sample != nil || c.byRows {
		return slices.DeleteFunc(truth.RelationsOf(c.Case),
			func(r truth.Relation) bool { return r.Second != nil || !c.byRows && !r.OfSample })
	}
	return slices.DeleteFunc(truth.RelationsOf(c.Case),
		func(r truth.Relation) bool { return r.Second != nil && !c.between[r.Name] })
}

// relate is gate G6 on an outcome that passed the other gates: it makes the calls that the relations need,
// and evaluates them all. It sets found to the findings that explain a relation that does not hold.
func (x *execution) relate(ctx context.Context, c *prepared, e entry, outcome backend.Outcome,
	r *record.Record, found *[]op.Finding,
) error {
	if outcome.Status != op.StatusUnknown || len(r.Outputs) == 0 {
		return nil
	}
	g := related{caller: caller{execution: x, c: c, e: e}}
	for _, relation := range c.relations() {
		if g.gone != nil {
			break
		}
		if r.Status.Weight() == op.Bad {
			// nothing can be worth less: its relations stay planned, and none is evaluated
			g.expect(relation)
			continue
		}
		judged := truth.Call{
			Case: c.Case, Given: c.truthInputs(), Gave: gave(outcome), Truth: c.truth,
			Parts: &c.parts,
		}
		if err := g.follow(ctx, relation, judged, outcome.Launches[0].Plan); err != nil {
			return err
		}
	}
	if gone := g.gone; gone != nil {
		r.Status, r.Message, r.LogTail = gone.Status, "before its relations were evaluated: "+
			gone.Sentence, gone.Log
		r.Outputs, r.Explained = nil, nil
		return nil
	}
	if r.Status.Weight() == op.Bad {
		g.plan(r)
		return nil
	}
	after := g.rule(r)
	unanswered := func(f followed) bool { return f.missing != "" } // such as a crash: no finding speaks of it
	if r.Status.Weight() == op.Bad && !slices.ContainsFunc(g.followed, unanswered) {
		*found = x.rules().explaining(c, e, outcome, after)
	}
	return nil
}

// related holds what gate G6 needs of one implementation on one case.
type related struct {
	caller
	expected []judge.Expected
	followed []followed
	// gone is the outcome of a further call for which there was no longer a device or memory: no fault of the
	// implementation, and no pass
	gone *backend.Outcome
}

// followed is one relation with the calls that were made for it.
type followed struct {
	truth.Relation
	calls   []truth.Call
	missing string // why one gave nothing to compare
}

func (g *related) expect(relation truth.Relation) {
	for _, output := range relation.Outputs {
		g.expected = append(g.expected, judge.Expected{Name: relation.Name, Output: output})
	}
}

// follow makes the calls of a relation. If the implementation declines the sizes or attributes of one, which
// is no fault, the relation is dropped.
func (g *related) follow(ctx context.Context, relation truth.Relation, judged truth.Call,
	launch backend.LaunchPlan,
) error {
	f := followed{Relation: relation, calls: []truth.Call{judged}}
	var inputs truth.Inputs
	for n := range relation.Calls() {
		job, err := g.judgedJob(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			inputs = job.Inputs
		}
		at, replaced, err := relation.Next(f.calls)
		if err != nil {
			return err
		}
		inputs = inputs.With(replaced)
		job.Inputs, job.Launches = inputs, []backend.LaunchPlan{launch}
		outcome, err := g.call(ctx, at, job)
		if err != nil {
			return err
		}
		if outcome.Status == op.StatusUnsupported && !sameSizes(at, g.c.Case) {
			return nil
		}
		if outcome.Status == op.StatusUnavailable || outcome.Status == op.StatusSkipped {
			g.gone = &outcome
			return nil
		}
		f.calls = append(f.calls, truth.Call{
			Case: at, Given: f.calls[n].Given.With(replaced),
			Gave: gave(outcome),
		})
		if f.missing = fault(outcome); f.missing != "" {
			break
		}
	}
	g.expect(relation)
	g.followed = append(g.followed, f)
	return nil
}

// sameSizes reports whether two cases have the same dims and attributes.
func sameSizes(a, b op.Case) bool {
	return slices.Equal(a.Dims, b.Dims) && slices.Equal(a.Attrs, b.Attrs)
}

// fault returns why a further call gave nothing to compare, "" if it did: what went wrong, or what G0 says of
// a launch alone.
func fault(outcome backend.Outcome) string {
	if outcome.Status != op.StatusUnknown {
		return fmt.Sprintf("a further call ended %v: %s", outcome.Status, outcome.Sentence)
	}
	launch := answer(outcome).Launches[0]
	switch {
	case !launch.InputsUnchanged, !launch.GuardsIntact, launch.Fault != "":
		return "a further call broke its buffers: " + launch.Fault
	}
	return ""
}

// evaluate evaluates every relation under a contract.
func (g *related) evaluate(contract string) []judge.Relation {
	var all []judge.Relation
	for _, f := range g.followed {
		if f.missing == "" && g.c.byRows {
			all = append(all, g.c.operator.HoldParts(f.Relation, contract, f.calls[0],
				g.e.implementation.Nondeterministic)...)
			continue
		}
		if f.missing == "" {
			all = append(all, f.Hold(contract, f.calls, g.e.implementation.Nondeterministic)...)
			continue
		}
		for _, output := range f.Outputs {
			all = append(all, judge.Relation{Name: f.Name, Output: output, Missing: f.missing})
		}
	}
	return all
}

// rule records the results of the relations, and returns the verdicts that follow.
func (g *related) rule(r *record.Record) []judge.Verdict {
	standard, declared := g.c.operator.Spec.DefaultContract(g.c.DType), g.e.implementation.Contract
	before := make([]judge.Verdict, len(r.Outputs))
	for i, v := range r.Outputs {
		before[i] = judge.Verdict{Output: v.Name, Status: v.Status, Gate: v.Gate, Sentence: v.Message}
	}
	after := judge.RelationsUnderContracts(before, g.expected, g.evaluate, standard, declared)
	for i, v := range after {
		o := &r.Outputs[i]
		o.RelationsPlanned = v.Expected
		o.Relations = relationsOf(v)
		if v.Status == before[i].Status {
			continue
		}
		o.Status, o.Gate, o.Message = v.Status, v.Gate, v.Sentence
		if v.Status == op.StatusDifferentContract {
			r.Contract = declared
		}
	}
	if status := judge.Row(after); status != r.Status {
		r.Status, r.Message = status, ""
		for _, v := range after {
			if r.Message == "" && v.Status == status {
				r.Message = v.Sentence
			}
		}
	}
	explainRelations(r)
	return after
}

// plan records how many relations were planned of each output.
func (g *related) plan(r *record.Record) {
	for i := range r.Outputs {
		o := &r.Outputs[i]
		for _, e := range g.expected {
			if e.Output == o.Name && o.Status != op.StatusMissing && o.Status != op.StatusEmptyOK {
				o.RelationsPlanned++
			}
		}
	}
}

func relationsOf(v judge.Verdict) []record.Relation {
	var all []record.Relation
	for _, r := range v.Relations {
		found := record.Relation{
			Name: r.Name, Holds: r.Accepted(), N: r.N, NCompared: r.Compared,
			NWrong: r.Wrong, Message: r.Sentence(),
		}
		if r.Wrong > 0 {
			w := r.Worst
			found.Worst = &record.Broken{
				Index: w.Index, Got: record.Float(w.Got), Low: record.Float(w.Low),
				High: record.Float(w.High),
			}
		}
		all = append(all, found)
	}
	return all
}

// explainRelations adds the results of the relations to what --explain shows of each output.
func explainRelations(r *record.Record) {
	for i := range r.Explained {
		e := &r.Explained[i]
		for _, o := range r.Outputs {
			if o.Name == e.Output {
				e.Relations, e.Gate, e.Sentence = o.Relations, o.Gate, o.Message
			}
		}
	}
}

// caller makes further calls of one implementation on one case.
type caller struct {
	*execution
	c   *prepared
	e   entry
	job *backend.Job // of the judged call, made when it is first needed
}

// judgedJob returns the backend's job for the judged call. A chained backward gets what its own forward
// saves.
func (k *caller) judgedJob(ctx context.Context) (backend.Job, error) {
	if k.job == nil {
		job, err := k.execution.job(ctx, k.c, k.e)
		if err != nil {
			return job, err
		}
		k.job = &job
	}
	return *k.job, nil
}

// call runs a job on another case of the operator.
func (k *caller) call(ctx context.Context, at op.Case, job backend.Job) (backend.Outcome, error) {
	other := &prepared{work: work{operator: k.c.operator, Case: at}}
	var err error
	if job.Outputs, err = other.operator.Spec.Outputs(at); err != nil {
		return backend.Outcome{}, err
	}
	job.Attrs = attrRefs(other)
	return k.attempt(ctx, k.e, job)
}
