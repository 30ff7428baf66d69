package judgeloop

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// wrong returns a record whose every field that can hold a value holds one of the truth.
func wrong(status op.Status, gate, message string) record.Record {
	float := func(x float64) record.Float { return record.Float(x) }
	broken := &record.Broken{Got: float(31.0625), Low: float(32.1875), High: float(33.4375)}
	return record.Record{
		Case: op.Case{
			Op: "f", Pass: op.Forward, DType: "fp32", Distribution: "normal",
			Dims: []op.Dim{{Name: "n", Value: 5}},
		},
		Status: status, Message: message, LogTail: "34.5625", Device: "cpu", Seed: 7,
		Outputs: []record.Verdict{{
			Name: "y", Status: status, Gate: gate, Message: message, Pattern: "every 35.6875",
			N: 5, NWrong: 2,
			Worst: &record.Element{
				Got: float(36.1875), Want: float(37.3125), Low: float(38.4375),
				High: float(39.5625),
			},
			Relations: []record.Relation{{Name: "r", Message: "41.0625", Worst: broken}},
		}},
		Explained: []record.Explanation{{Sentence: "42.1875"}},
		Diagnosis: &record.Diagnosis{},
	}
}

// TestBlindResultsHoldNoValue: with blind no number of the truth, of what was accepted or of what was got is
// in a result, whatever gate rejects. Without blind the message names them: so the test would see them.
func TestBlindResultsHoldNoValue(t *testing.T) {
	number := regexp.MustCompile(`\d+\.\d+`)
	for gate := range refusals {
		for _, status := range []op.Status{
			op.StatusFail, op.StatusRace, op.StatusInconclusive, op.StatusFlaky,
		} {
			done := Found{Records: []record.Record{wrong(status, gate,
				"y[0] is 36.1875, want 37.3125, accepted is 38.4375 to 39.5625")}}
			text, err := json.Marshal(ResultOf(done, true))
			if err != nil {
				t.Fatal(err)
			}
			if found := number.FindAllString(string(text), -1); len(found) > 0 {
				t.Errorf("%v by %s: %v in %s", status, gate, found, text)
			}
			if r := ResultOf(done, true); r.Message == "" || r.Right || r.Bad != 1 {
				t.Errorf("%v by %s: %+v", status, gate, r)
			}
			if seeing := ResultOf(done, false); !strings.Contains(seeing.Message, "37.3125") {
				t.Errorf("without blind: %q", seeing.Message)
			}
		}
	}
	// what the candidate's own process says, which never sees the truth, stays
	done := Found{Records: []record.Record{wrong(op.StatusCrash, "", "ValueError: mine 1.5")}}
	if r := ResultOf(done, true); r.Message != "ValueError: mine 1.5" {
		t.Errorf("a crash: %q", r.Message)
	}
}

// TestVerdictOfSeveralCases: one wrong case decides, neutral ones alone are not right.
func TestVerdictOfSeveralCases(t *testing.T) {
	of := func(all ...op.Status) *Result {
		var done Found
		for _, s := range all {
			done.Records = append(done.Records, wrong(s, "G2", ""))
		}
		return ResultOf(done, false)
	}
	for _, c := range []struct {
		statuses []op.Status
		verdict  string
		right    bool
	}{
		{[]op.Status{op.StatusPass, op.StatusNoPower, op.StatusUnsupported}, "PASS", true},
		{[]op.Status{op.StatusPass, op.StatusUnsupported, op.StatusFail}, "FAIL", false},
		{[]op.Status{op.StatusUnsupported, op.StatusEmptyOK}, "UNSUPPORTED", false},
		{[]op.Status{op.StatusPass, op.StatusHang}, "HANG", false},
		{[]op.Status{op.StatusNoPower}, "NO_POWER", false},
	} {
		if r := of(c.statuses...); r.Verdict != c.verdict || r.Right != c.right || r.Judge != judge.Version {
			t.Errorf("%v: %+v", c.statuses, r)
		}
	}
}

// counting is a truth that counts how often it is computed.
type counting struct {
	truth.Reference
	n int
}

func (c *counting) Compute(op.Case, string, []tensor.Tensor) ([]truth.Computed, error) {
	c.n++
	return []truth.Computed{{R: []float64{float64(c.n)}, T: []float64{0}, Simulated: []float64{0}}}, nil
}

// TestTruthIsRemembered: it is computed once for the same case, contract and inputs, and nobody changes what
// another gets.
func TestTruthIsRemembered(t *testing.T) {
	of := &counting{}
	r := Remember(of, RoomOf(1<<20))
	ask := func(contract string, data byte) float64 {
		got, err := r.Compute(op.Case{Op: "f"}, contract, []tensor.Tensor{{Name: "x", Data: []byte{data}}})
		if err != nil {
			t.Fatal(err)
		}
		value := got[0].R[0]
		got[0].R[0] = -1
		return value
	}
	if a, b, c := ask("fp32", 1), ask("fp32", 1), ask("fp32", 1); a != 1 || b != 1 || c != 1 {
		t.Errorf("the same inputs: %v, then %v and %v", a, b, c)
	}
	if other, contract := ask("fp32", 2), ask("eager", 1); other != 2 || contract != 3 || of.n != 3 {
		t.Errorf("other inputs %v, another contract %v, %d computed", other, contract, of.n)
	}
	if _, err := r.Draw(op.Case{Op: "f"}, 1); err == nil {
		t.Error("inputs of a problem that draws none")
	}
}

// drawing counts what it draws, and is slow.
type drawing struct {
	truth.Reference
	n atomic.Int32
}

func (d *drawing) Draw(op.Case, uint64) (map[string]tensor.Tensor, error) {
	n := d.n.Add(1)
	time.Sleep(20 * time.Millisecond)
	if n == 1 {
		return nil, errors.New("it fails once")
	}
	return map[string]tensor.Tensor{"x": {Data: make([]byte, 100)}}, nil
}

// TestDrawnInputsAreRemembered: a problem draws the inputs of a case once also if several lanes ask, again
// after an error, and each time if there is no room; a problem that closes gives its room back.
func TestDrawnInputsAreRemembered(t *testing.T) {
	of, room := &drawing{}, RoomOf(150)
	r := Remember(of, room)
	draw := func(seed uint64) error {
		got, err := r.Draw(op.Case{Op: "f"}, seed)
		if err == nil && got["x"].Data[0] != 0 {
			t.Error("somebody changed what is remembered")
		}
		if err == nil {
			got["x"].Data[0] = 1
		}
		return err
	}
	if err := draw(1); err == nil {
		t.Error("no error")
	}
	var group panics.Group
	for range 4 {
		group.Go(func() {
			if err := draw(1); err != nil {
				t.Error(err)
			}
		})
	}
	if err := group.Wait(); err != nil || of.n.Load() != 2 {
		t.Errorf("%v, drawn %d times", err, of.n.Load())
	}
	twice := func() error { return errors.Join(draw(2), draw(2)) }
	if err := twice(); err != nil || of.n.Load() != 4 {
		t.Errorf("without room: %v, drawn %d times", err, of.n.Load())
	}
	r.Forget()
	if err := twice(); err != nil || of.n.Load() != 5 {
		t.Errorf("with the room again: %v, drawn %d times", err, of.n.Load())
	}
}
