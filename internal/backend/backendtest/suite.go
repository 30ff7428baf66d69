// Package backendtest is the suite of every backend's promises: the workers of CUDA and of Python pass it,
// and so does the fake in the tests of the driver's side. A backend that speaks to a worker also has a golden
// transcript of the wire (transcript.go).
package backendtest

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Behaviour names a behaviour of an implementation of the suite's operator, which is y = 2x in fp32.
type Behaviour string

// The behaviours that a backend is tested with.
const (
	Right     Behaviour = "right"
	Declines  Behaviour = "declines the call"
	Silent    Behaviour = "writes nothing"
	Scribbles Behaviour = "changes its input"
	Fails     Behaviour = "ends with an error, and its process is sound"
	Dies      Behaviour = "ends its process"
	Hangs     Behaviour = "never returns"
	Full      Behaviour = "gets no memory"
)

var behaviours = []Behaviour{Right, Declines, Silent, Scribbles, Fails, Dies, Hangs, Full}

// Subject is a backend under test.
type Subject struct {
	Operator string // whose implementations are loaded
	Family   string // the first part of their names
	// Names maps behaviours to implementations; Without maps those that the backend lacks to the reason.
	Names   map[Behaviour]string
	Without map[Behaviour]string
	Outputs []op.TensorType // as the spec declares them; the first is y
	// OwnMemory: implementations allocate their outputs themselves, so unwritten elements hold whatever the
	// worker fills memory with, and not the poison of the launch.
	OwnMemory bool
	// New makes a backend with the given limit of a call and a writer that gets every line of the wire.
	New func(t *testing.T, call time.Duration, transcript io.Writer) backend.Backend
	// Golden is the file with the transcript of a short session.
	Golden string
	// Elsewhere: the suite asks the same program, started in a cheaper way, all promises. Where none of these
	// inputs changed, this subject's tests start few workers.
	Elsewhere []string
}

// patience is for calls that return; a call that hangs is ended after its deadline.
const (
	patience = time.Minute
	deadline = 10 * time.Second
)

// Suite runs every promise against a subject.
func Suite(t *testing.T, s Subject) {
	for _, b := range behaviours {
		if (s.Names[b] == "") == (s.Without[b] == "") {
			t.Fatalf("an implementation that %q: want either a name or the reason why there is none", b)
		}
	}
	b := s.New(t, patience, nil)
	u := &user{t: t, Subject: s, backend: b, loaded: s.loads(t, b)}
	t.Run("a right call", u.right)
	t.Run("every call is a fresh one", u.again)
	t.Run("a refusal", u.refuses)
	t.Run("an output that is not written shows poison", u.untouched)
	t.Run("a changed input is reported", u.changed)
	t.Run("an error costs no worker", u.fails)
	t.Run("a death costs one worker", u.dies)
	t.Run("no memory", u.full)
	t.Run("an unknown implementation is no outcome", u.unknown)
	t.Run("a call is broken off", u.cancelled)
	t.Run("no call begins after the end", u.stopped)
	t.Run("close", u.closes)
	t.Run("a call that hangs", s.hangs)
	t.Run("the wire", s.wire)
}

// loads asks for the operator, and for one that does not exist.
func (s Subject) loads(t *testing.T, b backend.Backend) []backend.Implementation {
	t.Helper()
	reply, hello, err := b.Load(t.Context(), s.Operator)
	if err != nil || len(reply.Failed) > 0 {
		t.Fatalf("load: %+v %v", reply.Failed, err)
	}
	if hello.Protocol != backend.Protocol || hello.PID == 0 || hello.Device == "" {
		t.Errorf("hello: %+v", hello)
	}
	for behaviour, name := range s.Names {
		at := slices.IndexFunc(reply.Implementations,
			func(i backend.Implementation) bool { return i.Name == name && i.Pass == op.Forward })
		if at < 0 {
			t.Fatalf("load does not list %s, which %s", name, behaviour)
		}
		i := reply.Implementations[at]
		if i.Op != s.Operator || i.Contract == "" || i.Device == "" || !slices.Contains(i.DTypes, "fp32") ||
			!slices.Contains(i.Outputs, s.Outputs[0].Name) {
			t.Errorf("load says of %s: %+v", name, i)
		}
	}
	other, _, err := b.Load(t.Context(), "no_such_operator")
	if err == nil && len(other.Implementations) > 0 {
		t.Errorf("an operator that there is not has %+v", other.Implementations)
	}
	return reply.Implementations
}

// user is a caller of the backend.
type user struct {
	Subject
	t       *testing.T
	backend backend.Backend
	loaded  []backend.Implementation
}

// elements of the suite's input.
const elements = 8

// job returns a call of the implementation that behaves so, launched under each poison.
func (u *user) job(b Behaviour) backend.Job {
	x := tensor.New("x", op.FP32, []int64{elements})
	values := make([]float64, elements)
	for i := range values {
		values[i] = float64(i + 1)
	}
	x.SetFloat64s(values)
	at := slices.IndexFunc(u.loaded,
		func(i backend.Implementation) bool { return i.Name == u.Names[b] && i.Pass == op.Forward })
	return backend.Job{
		Implementation: u.loaded[at], DType: "fp32", Contract: u.loaded[at].Contract,
		Inputs: []tensor.Tensor{x}, Outputs: u.Outputs,
		Launches: []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}},
	}
}

// run runs the job of a behaviour; ok is false if the subject has no such implementation.
func (u *user) run(t *testing.T, b Behaviour) (got backend.Outcome, ok bool) {
	t.Helper()
	if why := u.Without[b]; why != "" {
		t.Logf("no implementation %s: %s", b, why)
		return got, false
	}
	got, err := u.backend.Run(t.Context(), u.job(b))
	if err != nil {
		t.Fatalf("%s: %v", u.Names[b], err)
	}
	return got, true
}

// isRight runs the right implementation: whatever happened before, the next call succeeds.
func (u *user) isRight(t *testing.T) {
	t.Helper()
	got, _ := u.run(t, Right)
	if got.Status != op.StatusUnknown || len(got.Launches) != 2 || got.Ended || got.Wedged {
		t.Fatalf("the right implementation: %+v", got)
	}
	for i, l := range got.Launches {
		y := l.Outputs[0]
		if len(l.Outputs) != len(u.Outputs) || !y.Present || y.Name != u.Outputs[0].Name ||
			y.OutputRef.DType != "fp32" || !slices.Equal(y.OutputRef.Shape, []int64{elements}) {
			t.Fatalf("launch %d: %+v", i, l.Outputs)
		}
		for k, v := range y.Tensor.Float64s() {
			if v != float64(2*(k+1)) {
				t.Errorf("launch %d: y[%d] is %v, want %d", i, k, v, 2*(k+1))
			}
		}
		if len(l.Changed) > 0 || len(l.Guards) > 0 || l.Fault != "" ||
			l.Plan.Poison != [2]string{"a", "b"}[i] {
			t.Errorf("launch %d: %+v", i, l)
		}
	}
}

func (u *user) right(t *testing.T) { u.isRight(t) }

func (u *user) again(t *testing.T) {
	for range 5 {
		u.isRight(t)
	}
}

// ends checks the status of a behaviour, whether it ends the worker, and that the backend goes on.
func (u *user) ends(t *testing.T, b Behaviour, status op.Status, ended bool) {
	t.Helper()
	times := 2 // the second finds what the first left
	if ended && len(u.Elsewhere) > 0 && !need.IsLongTier() {
		times = 1
	}
	for range times {
		got, ok := u.run(t, b)
		if !ok {
			return
		}
		if got.Status != status || got.Sentence == "" || got.Ended != ended || got.Wedged {
			t.Errorf("%s: %v %q, ended %t, want %v, ended %t", u.Names[b], got.Status, got.Sentence,
				got.Ended, status, ended)
		}
	}
	u.isRight(t)
}

func (u *user) refuses(t *testing.T) { u.ends(t, Declines, op.StatusUnsupported, false) }
func (u *user) fails(t *testing.T)   { u.ends(t, Fails, op.StatusCrash, false) }
func (u *user) dies(t *testing.T)    { u.ends(t, Dies, op.StatusCrash, true) }

func (u *user) full(t *testing.T) {
	if got, ok := u.run(t, Full); ok && (got.Status != op.StatusOOM || got.Sentence == "") {
		t.Errorf("%v %q, want OOM", got.Status, got.Sentence)
	}
	u.isRight(t)
}

func (u *user) untouched(t *testing.T) {
	got, ok := u.run(t, Silent)
	if !ok {
		return
	}
	if got.Status != op.StatusUnknown || len(got.Launches) != 2 {
		t.Fatalf("%+v", got)
	}
	for i, l := range got.Launches {
		if u.OwnMemory {
			for k, v := range l.Outputs[0].Tensor.Float64s() {
				if v == 0 || v == float64(2*(k+1)) {
					t.Errorf("launch %d: y[%d] is %v, which may be right", i, k, v)
				}
			}
			continue
		}
		want := make([]byte, 4*elements)
		tensor.Poison(want, op.FP32, l.Plan.Poison)
		if !slices.Equal(l.Outputs[0].Tensor.Data, want) {
			t.Errorf("launch %d: %x, want the poison %x", i, l.Outputs[0].Tensor.Data, want)
		}
	}
}

func (u *user) changed(t *testing.T) {
	got, ok := u.run(t, Scribbles)
	if ok && (len(got.Launches) == 0 || !slices.Equal(got.Launches[0].Changed, []string{"x"})) {
		t.Errorf("%+v, want x among what was changed", got)
	}
	u.isRight(t) // the driver's own input is as it was
}

func (u *user) unknown(t *testing.T) {
	job := u.job(Right)
	job.Implementation.Name = u.Family + "/no_such_implementation"
	if got, err := u.backend.Run(t.Context(), job); err == nil && got.Status == op.StatusUnknown {
		t.Errorf("it ran: %+v", got)
	}
	u.isRight(t)
}

// cancelled cancels a call that would never return: that is no fault, and no outcome.
func (u *user) cancelled(t *testing.T) {
	if u.Without[Hangs] != "" {
		t.Log(u.Without[Hangs])
		return
	}
	ctx, cancel := context.WithCancel(t.Context())
	timer := time.AfterFunc(500*time.Millisecond, cancel)
	defer timer.Stop()
	got, err := u.backend.Run(ctx, u.job(Hangs))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want the error of the context", got, err)
	}
	u.isRight(t)
}

func (u *user) stopped(t *testing.T) {
	_, before, err := u.backend.Load(t.Context(), u.Operator)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := u.backend.Run(ctx, u.job(Right)); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v, want the error of the context", got, err)
	}
	u.isRight(t)
	if _, after, err := u.backend.Load(t.Context(), u.Operator); err != nil || after.PID != before.PID {
		t.Errorf("process %d (%v), want %d: what did not begin ends no process", after.PID, err, before.PID)
	}
}

func (u *user) closes(t *testing.T) {
	for range 2 {
		if err := u.backend.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// hangs waits for a deadline, which is short here.
func (s Subject) hangs(t *testing.T) {
	if s.Without[Hangs] != "" {
		t.Log(s.Without[Hangs])
		return
	}
	if len(s.Elsewhere) > 0 {
		need.Covers(t, "", s.Elsewhere...)
	}
	b := s.New(t, deadline, nil)
	u := &user{t: t, Subject: s, backend: b, loaded: s.loads(t, b)}
	began := time.Now()
	got, err := b.Run(t.Context(), u.job(Hangs))
	if err != nil || got.Status != op.StatusHang || !got.Ended || got.Wedged {
		t.Errorf("%+v, %v, want HANG", got, err)
	}
	if took := time.Since(began); took > patience+deadline {
		t.Errorf("it took %v", took)
	}
	u.isRight(t)
	if err := b.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
