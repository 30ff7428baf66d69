package worker

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// measuring answers the steps of a timing as a fake worker.
func measuring(mode string, r backend.Request, reply func(int64, any)) {
	switch m := r.Measure; {
	case mode == "cannot be timed":
		reply(r.ID, backend.PrepareReply{Status: op.StatusUnsupported, Message: "it moves"})
	case m.Step == backend.StepPrepare:
		reply(r.ID, backend.PrepareReply{Mode: "graph", Sets: 3, Calls: 6, EstimateNS: 1000})
	case m.Step == backend.StepTime && mode == "dies while it is timed":
		syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -SEGV $$"}, nil)
	case m.Step == backend.StepTime && mode == "hangs while it is timed":
	case m.Step == backend.StepTime && mode == "breaks while it is timed":
		reply(r.ID, backend.TimeReply{Status: op.StatusCrash, Message: "illegal address", Fatal: true})
	case m.Step == backend.StepTime && mode == "judges itself while it is timed":
		reply(r.ID, backend.TimeReply{Status: op.StatusPass, Message: "all is well"})
	case m.Step == backend.StepTime && mode == "ends while it is timed":
		reply(r.ID, backend.TimeReply{SamplesNS: make([]float64, m.Time.Samples), Fatal: true})
		os.Exit(0)
	case m.Step == backend.StepTime && mode == "stumbles while it is timed":
		text, _ := json.Marshal(backend.Reply{
			ID:    r.ID,
			Error: "measure: KeyError: 'tile'\n  fake/good  PASS",
		})
		syscall.Write(3, append(text, '\n'))
	case m.Step == backend.StepTime && mode == "gives too few samples":
		reply(r.ID, backend.TimeReply{SamplesNS: []float64{1}})
	case m.Step == backend.StepTime:
		reply(r.ID, backend.TimeReply{SamplesNS: make([]float64, m.Time.Samples)})
	case m.Step == backend.StepFinish && strings.HasPrefix(mode, "fails when it is finished"):
		var failed backend.FinishReply
		failed.Launches, failed.Fatal = []backend.LaunchReply{{
			Status:  op.StatusCrash,
			Message: "KeyError: 'rows' (mine.py:7)",
		}}, strings.HasSuffix(mode, "for good")
		reply(r.ID, failed)
		if failed.Fatal {
			os.Exit(0)
		}
	case m.Step == backend.StepFinish:
		var all backend.FinishReply
		for _, l := range m.Finish.Launches {
			out := l.Outputs[0]
			sharedFile().WriteAt(make([]byte, out.Bytes), out.Offset)
			all.Launches = append(all.Launches,
				backend.LaunchReply{
					Inputs: []uint32{crc32.ChecksumIEEE(make([]byte, 24))},
					Outputs: []backend.OutputRef{{
						Name:    out.Name,
						Present: true, DType: out.DType.String(), Shape: out.Shape, Stride: out.Stride,
						CRC32: crc32.ChecksumIEEE(make([]byte, out.Bytes)),
					}},
				})
		}
		all.Differing = []backend.Differing{{Output: "y", Set: 2, Bytes: 5, Inputs: []string{"x"}}}
		reply(r.ID, all)
	}
}

func measured(t *testing.T, mode string) (*Adapter, backend.Candidate, backend.Outcome) {
	t.Helper()
	a := fakeAdapter(t, mode, nil)
	a.GPU = true
	m, outcome, err := a.Measure(t.Context(), backend.MeasureJob{Job: fakeJob(), Cold: true, GraphNS: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return a, m, outcome
}

// A candidate, from its preparation to the outputs of its timed calls.
func TestMeasure(t *testing.T) {
	a, m, _ := measured(t, "works")
	if m.Facts().Sets != 3 || m.Facts().Calls != 6 {
		t.Errorf("%+v", m.Facts())
	}
	reply, outcome, err := m.Time(t.Context(), backend.TimeArgs{Samples: 4})
	if err != nil || outcome.Status != op.StatusUnknown || len(reply.SamplesNS) != 4 {
		t.Errorf("%+v %+v %v", reply, outcome, err)
	}
	outcome, differing, err := m.Finish(t.Context())
	if err != nil || outcome.Status != op.StatusUnknown || len(outcome.Launches) != 2 ||
		len(outcome.Launches[0].Changed) != 0 || fmt.Sprint(differing) != "[{y 2 5 [x]}]" {
		t.Errorf("%+v %v %v", outcome, differing, err)
	}
	ceiling, outcome, err := a.Measure(t.Context(), backend.MeasureJob{Ceiling: backend.CeilingCopy})
	if err != nil || ceiling == nil {
		t.Fatalf("%+v %v", outcome, err)
	}
	if outcome, _, err := ceiling.Finish(t.Context()); err != nil || outcome.Status != op.StatusUnknown ||
		len(outcome.Launches) != 0 {
		t.Errorf("a ceiling has nothing to judge: %+v %v", outcome, err)
	}
}

// A candidate that is being timed is listed as pending.
func TestWhatIsTimedIsPending(t *testing.T) {
	var pending Pending
	a := fakeAdapter(t, "hangs while it is timed", func(o *Options) { o.Pending = &pending })
	a.GPU = true
	m, _, err := a.Measure(t.Context(), backend.MeasureJob{Job: fakeJob()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	seen := make(chan string, 1)
	go func() {
		for pending.String() == "" {
			time.Sleep(time.Millisecond)
		}
		seen <- pending.String()
		interrupt()
	}()
	if _, _, err := m.Time(ctx, backend.TimeArgs{Samples: 2}); err == nil {
		t.Error("a timing that was interrupted gave no error")
	}
	if text := <-seen; !strings.HasPrefix(text, "timing "+fakeJob().Implementation.Name+", at most ") {
		t.Errorf("pending: %q", text)
	}
	if text := pending.String(); text != "" {
		t.Errorf("afterwards pending: %q", text)
	}
}

// The cause of a candidate's death is its outcome; a candidate of an ended worker reports that, and the next
// one gets a fresh worker.
func TestMeasureMisbehaviour(t *testing.T) {
	for mode, want := range map[string]string{
		"dies while it is timed":   "died by signal segmentation fault",
		"breaks while it is timed": "illegal address",
		"stumbles while it is timed": "the worker could not time it: measure: measure: KeyError: " +
			"'tile'; fake/good  PASS",
		"judges itself while it is timed": "the worker says PASS, which is not for a worker to say",
		"ends while it is timed":          "the worker ended after it was asked to time",
		"gives too few samples":           "1 samples, asked for 2",
	} {
		_, m, _ := measured(t, mode)
		_, outcome, err := m.Time(t.Context(), backend.TimeArgs{Samples: 2})
		if err != nil || outcome.Status != op.StatusCrash || !strings.Contains(outcome.Sentence, want) {
			t.Errorf("%s: %+v %v", mode, outcome, err)
		}
		if first, _, _ := strings.Cut(mode, " "); first == "gives" || first == "stumbles" ||
			first == "judges" {
			continue
		}
		if outcome, _, err := m.Finish(t.Context()); err != nil || outcome.Status != op.StatusCrash {
			t.Errorf("%s, afterwards: %+v %v", mode, outcome, err)
		}
		_, outcome, err = m.Time(t.Context(), backend.TimeArgs{Samples: 2})
		if err != nil || outcome.Sentence != workerGone.Sentence {
			t.Errorf("%s, timed again: %+v %v", mode, outcome, err)
		}
	}
	for _, mode := range []string{"fails when it is finished", "fails when it is finished, for good"} {
		_, m, _ := measured(t, mode)
		if outcome, _, err := m.Finish(t.Context()); err != nil || outcome.Status != op.StatusCrash ||
			outcome.Sentence != "KeyError: 'rows' (mine.py:7)" {
			t.Errorf("%s: %+v %v", mode, outcome, err)
		}
	}
	if _, m, outcome := measured(t, "cannot be timed"); m != nil || outcome.Status != op.StatusUnsupported ||
		outcome.Sentence != "it moves" {
		t.Errorf("%+v", outcome)
	}
	cpu := fakeAdapter(t, "works", nil)
	if m, outcome, err := cpu.Measure(t.Context(), backend.MeasureJob{Job: fakeJob()}); m != nil ||
		err != nil || outcome.Status != op.StatusUnsupported {
		t.Errorf("without a GPU: %+v %v", outcome, err)
	}
}

// A request of the wire is read as it was written.
func TestMeasureOnTheWire(t *testing.T) {
	text, err := json.Marshal(backend.Request{
		ID: 7, Do: backend.DoMeasure,
		Measure: &backend.MeasureArgs{
			Step: backend.StepTime, Candidate: 2,
			Time: &backend.TimeArgs{Samples: 3},
		},
	})
	if want := `{"id":7,"do":"measure","measure":{"step":"time","arm":2,"time":{"samples":3}}}`; err != nil ||
		string(text) != want {
		t.Errorf("%s, want %s", text, want)
	}
}
