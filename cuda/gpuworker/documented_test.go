package gpuworker

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// accusation is a kind of accusing record: how many there were, and one of them.
type accusation struct {
	Count   int             `json:"count"`
	Example json.RawMessage `json:"example"`
}

// kindOf returns the key by which accusations are grouped.
func kindOf(r *record.Record) string {
	return fmt.Sprintf("%s %s %s %s %s %s", r.Impl, r.Case.Op, r.Case.Pass, r.Case.DType, r.Status,
		r.Case.Distribution)
}

// document counts a record under each documented finding that explains it: its message names them.
func (a *alarmRun) document(r *record.Record) error {
	o, err := truth.Get(r.Case.Op)
	if err != nil {
		return err
	}
	for _, f := range o.Findings {
		if strings.Contains("; "+r.Message, "; "+f.ID+": ") {
			a.Documented[f.ID]++
		}
	}
	return nil
}

// accuse counts an accusing record, and keeps the first of each kind whole.
func (a *alarmRun) accuse(r *record.Record) error {
	a.Bad++
	kind, seen := kindOf(r), accusation{}
	if old, ok := a.Accused[kind]; ok {
		seen = old
	} else {
		text, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("keep an accusation of %s: %w", kind, err)
		}
		seen.Example = text
	}
	seen.Count++
	a.Accused[kind] = seen
	return nil
}

// Records that a documented finding explains are counted separately, by finding; all others accuse, and one
// example of each kind is kept, so that no kind hides behind many of another. The run decides which records
// those are: internal/run tests it on the same data.
func TestAccusations(t *testing.T) {
	of := func(impl string, status op.Status, message string) *record.Record {
		return &record.Record{Case: op.Case{
			Op: "flash_attention", Pass: op.Backward, DType: "bf16",
			Distribution: "non_finite",
		}, Impl: impl, Status: status, Message: message}
	}
	c := newTally(1)
	for i, r := range []*record.Record{
		of("torch/flash", op.StatusKnown, "flash-2-lse: it loses NaN"),
		of("torch/sdpa", op.StatusKnown, "flash-2-lse: it loses NaN; cudnn-nan-grad-q: -inf"),
		of("torch/cudnn", op.StatusFail, "grad_k is wrong"),
		of("torch/cudnn", op.StatusFail, "grad_q is wrong"),
		of("torch/cudnn", op.StatusCrash, ""),
		of("cuda/tiled", op.StatusFail,
			"flash-2-lse: whoever writes this into a message is not excused by it"),
		of("cuda/tiled", op.StatusPass, ""),
	} {
		r.Seed = uint64(i)
		if err := c.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if c.run.Bad != 4 || len(c.run.Documented) != 2 || c.run.Documented["flash-2-lse"] != 2 ||
		c.run.Documented["cudnn-nan-grad-q"] != 1 {
		t.Errorf("%d bad, documented %v", c.run.Bad, c.run.Documented)
	}
	two := c.run.Accused["torch/cudnn flash_attention backward bf16 FAIL non_finite"]
	if len(c.run.Accused) != 3 || two.Count != 2 {
		t.Errorf("%d kinds %+v, want 3, of which one occurred twice", len(c.run.Accused), c.run.Accused)
	}
	var example struct{ Seed uint64 }
	if err := json.Unmarshal(two.Example, &example); err != nil || example.Seed != 2 {
		t.Errorf("the example is of seed %d, %v: want the first, 2", example.Seed, err)
	}
}
