package worker

import (
	"context"
	"fmt"
	"math"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
)

// candidate is a call prepared in a worker. It ends with that worker.
type candidate struct {
	adapter *Adapter
	slot    *slot
	worker  *worker
	number  int64
	job     backend.Job
	inputs  []backend.TensorRef
	facts   backend.PrepareReply
}

// margin is added to ten times the expected time of a step.
const margin = 20 * time.Second

// Measure prepares a candidate in the slot of its implementation; a ceiling in that of the empty name.
func (a *Adapter) Measure(ctx context.Context, job backend.MeasureJob) (
	backend.Candidate, backend.Outcome, error,
) {
	if !a.GPU {
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "the worker of " + a.BackendName +
			" has no GPU: only a GPU is timed"}, nil
	}
	s := a.slot(a.Slot(job.Implementation.Name))
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := a.loadFor(ctx, s, job.Implementation.Op); err != nil {
		return nil, backend.Outcome{}, err
	}
	job.Launches = []backend.LaunchPlan{{Poison: "a"}} // says what outputs there are
	args, _, err := layOut(job.Job, s.worker.memory)
	if err != nil {
		return nil, backend.Outcome{Status: op.StatusSkipped, Sentence: err.Error()}, nil
	}
	a.mu.Lock()
	a.candidates++
	number := a.candidates
	a.mu.Unlock()
	m := &candidate{adapter: a, slot: s, worker: s.worker, number: number, job: job.Job, inputs: args.Inputs}
	prepare := &backend.PrepareArgs{Ceiling: job.Ceiling, Cold: job.Cold, GraphNS: job.GraphNS}
	if job.Ceiling == "" {
		prepare.Run = &args
	}
	outcome, err := m.step(ctx, backend.MeasureArgs{Step: backend.StepPrepare, Prepare: prepare},
		a.opts.Limits.First, "first", &m.facts,
		func() (op.Status, string, bool) { return m.facts.Status, m.facts.Message, m.facts.Fatal })
	if err != nil || outcome.Status != op.StatusUnknown {
		return nil, outcome, err
	}
	return m, outcome, nil
}

// loadFor makes sure that the slot has a worker that knows the operator; a ceiling needs none.
func (a *Adapter) loadFor(ctx context.Context, s *slot, operator string) error {
	if operator == "" {
		if s.worker != nil {
			return nil
		}
		return a.start(ctx, s, "")
	}
	_, err := a.load(ctx, s, operator)
	return err
}

// workerGone is the outcome of a candidate whose worker ended.
var workerGone = backend.Outcome{
	Status:   op.StatusCrash,
	Sentence: "its worker ended while another implementation was timed in it",
}

// step makes one request. The slot must be locked. A failure of the candidate is an outcome, as for a run.
func (m *candidate) step(ctx context.Context, args backend.MeasureArgs, deadline time.Duration,
	phase string, reply any,
	ended func() (op.Status, string, bool),
) (backend.Outcome, error) {
	if m.slot.worker != m.worker {
		return workerGone, nil
	}
	args.Candidate = m.number
	what := "timing " + m.job.Implementation.Name
	if m.job.Implementation.Name == "" {
		what = "measuring what the device does at best"
	}
	defer m.adapter.opts.Pending.begin(what, deadline)()
	err := m.worker.call(ctx, backend.Request{Do: backend.DoMeasure, Measure: &args}, deadline, phase, reply)
	if d := asDeath(err); d != nil && ctx.Err() == nil {
		m.adapter.lost(m.slot, m.worker, d)
		return backend.Outcome{Status: d.Status, Sentence: d.Sentence, Log: d.Log, Wedged: d.Wedged}, nil
	}
	if err != nil && ctx.Err() == nil && panics.In(err) == nil {
		// Whatever stopped the worker, it timed this candidate: the others go on.
		return backend.Outcome{Status: op.StatusCrash, Sentence: "the worker could not time it: " +
			printable(err.Error()), Log: m.worker.log.Tail()}, nil
	}
	if err != nil {
		m.worker.end() // it may have answered just now
		m.slot.worker = nil
		return backend.Outcome{}, fmt.Errorf("measure %s %s/%s: %w", args.Step, m.job.Implementation.Op,
			m.job.Implementation.Name, err)
	}
	status, sentence, fatal := ended()
	if status == op.StatusUnknown && !fatal {
		return backend.Outcome{}, nil
	}
	outcome := backend.Outcome{Status: status, Sentence: sentence, Log: m.worker.log.Tail()}
	if status != op.StatusUnknown && !mayReport(status) {
		outcome.Status, outcome.Sentence = op.StatusCrash,
			fmt.Sprintf("the worker says %v, which is not for a worker to say", status)
	}
	if fatal {
		if status == op.StatusUnknown {
			outcome.Status, outcome.Sentence = op.StatusCrash, "the worker ended after it was asked to "+
				string(args.Step)
		}
		m.worker.child.Wait(m.worker.grace.Term)
		outcome.Wedged = !m.worker.end()
		m.adapter.lost(m.slot, m.worker, &Death{Wedged: outcome.Wedged})
	}
	return outcome, nil
}

// Facts returns the findings of its preparation.
func (m *candidate) Facts() backend.PrepareReply { return m.facts }

// Time makes calls and returns their times.
func (m *candidate) Time(ctx context.Context, args backend.TimeArgs) (
	backend.TimeReply, backend.Outcome, error,
) {
	m.slot.mu.Lock()
	defer m.slot.mu.Unlock()
	var reply backend.TimeReply
	calls := m.facts.EstimateNS * float64(m.facts.Calls*(args.Samples+args.Discard))
	// the estimate is the worker's own word
	expected := time.Duration(math.Min(calls, float64(time.Hour))) + time.Duration(args.SettleNS)
	outcome, err := m.step(ctx, backend.MeasureArgs{Step: backend.StepTime, Time: &args}, 10*expected+margin,
		"call", &reply,
		func() (op.Status, string, bool) { return reply.Status, reply.Message, reply.Fatal })
	if err == nil && outcome.Status == op.StatusUnknown && len(reply.SamplesNS) != args.Samples {
		outcome = backend.Outcome{
			Status: op.StatusCrash,
			Sentence: fmt.Sprintf("the worker gave %d samples, asked for %d", len(reply.SamplesNS),
				args.Samples),
		}
	}
	return reply, outcome, err
}

// Finish returns what the timed calls wrote and frees the candidate's memory.
func (m *candidate) Finish(ctx context.Context) (backend.Outcome, []backend.Differing, error) {
	m.slot.mu.Lock()
	defer m.slot.mu.Unlock()
	if m.slot.worker != m.worker { // its memory is gone with it
		return workerGone, nil, nil
	}
	job := m.job
	job.Inputs, job.Launches = nil, nil
	if len(job.Outputs) > 0 {
		job.Launches = []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}}
	}
	args, places, err := layOut(job, m.worker.memory)
	if err != nil {
		return backend.Outcome{Status: op.StatusSkipped, Sentence: err.Error()}, nil, nil
	}
	var reply backend.FinishReply
	outcome, err := m.step(ctx, backend.MeasureArgs{
		Step:   backend.StepFinish,
		Finish: &backend.FinishArgs{Launches: args.Launches},
	},
		m.adapter.opts.Limits.First, "first", &reply, func() (op.Status, string, bool) {
			if len(reply.Launches) > 0 {
				return reply.Launches[0].Status, printable(reply.Launches[0].Message), reply.Fatal
			}
			return op.StatusUnknown, "", reply.Fatal
		})
	if err != nil || outcome.Status != op.StatusUnknown || len(job.Launches) == 0 {
		return outcome, nil, err
	}
	args.Inputs = m.inputs
	return collect(job, args, places, reply.RunReply, 0), reply.Differing, nil
}
