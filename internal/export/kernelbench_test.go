package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestKernelBench: a submission has one entry below its problem's number. It is correct where a case is right
// and none is wrong, compiled where no build failed, and has the time of the largest sizes in milliseconds.
func TestKernelBench(t *testing.T) {
	timed := records()[0]
	timed.Case.Op, timed.Impl, timed.Device = "kernelbench_level1_19_relu", "mine/right", "gpu"
	timed.Status, timed.Timings = op.StatusPass, slices.Clone(timed.Timings[:1])
	timed.Timings[0].Status, timed.Timings[0].Bytes = op.StatusPass, 1<<20
	timed.Timings[0].SamplesNS = []float64{2e6, 4e6}
	small := timed
	small.Timings = slices.Clone(timed.Timings)
	small.Timings[0].Bytes, small.Timings[0].SamplesNS = 64, []float64{1, 1}
	neutral, wrong, unbuilt, reference, other := timed, timed, timed, timed, timed
	neutral.Status, neutral.Timings = op.StatusUnsupported, nil
	wrong.Status, wrong.Impl, wrong.Timings, wrong.Message = op.StatusFail, "mine/wrong", nil, "y[3] is 2"
	unbuilt.Status, unbuilt.Impl, unbuilt.Timings = op.StatusBuildFail, "mine/unbuilt", nil
	unbuilt.Case.Op = "kernelbench_level1_2_product"
	reference.Impl = "torch/problem"
	other.Case.Op = "doubled"
	right := wrong
	right.Status = op.StatusPass
	m := record.Measured{Session: record.Session{ID: "S"}}
	m.Session.Machine.GPU = "a GPU"
	write := func(all ...record.Record) (string, error) {
		var out bytes.Buffer
		err := KernelBench(&out, []record.Measured{m}, [][]record.Record{all})
		return out.String(), err
	}
	text, err := write(small, timed, neutral, right, wrong, unbuilt, reference, other)
	if err != nil {
		t.Fatal(err)
	}
	var found map[string][]sample
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || len(found["19"]) != 2 || len(found["2"]) != 1 {
		t.Fatalf("%s", text)
	}
	first, second, third := found["19"][0], found["19"][1], found["2"][0]
	if !first.Compiled || !first.Correctness || first.Runtime != 3 || first.RuntimeStats["max"] != 4 ||
		first.RuntimeStats["num_trials"] != 2 || first.Metadata["hardware"] != "a GPU" ||
		first.Metadata["triad_cases"] != "(2 / 2)" {
		t.Errorf("a right submission: %+v", first)
	}
	if !second.Compiled || second.Correctness || second.SampleID != 1 || second.Runtime != -1 ||
		second.Metadata["triad_message"] != "y[3] is 2" || second.Metadata["triad_cases"] != "(1 / 2)" {
		t.Errorf("a wrong submission: %+v", second)
	}
	if third.Compiled || third.Correctness {
		t.Errorf("one that did not compile: %+v", third)
	}
	if _, err := write(reference, other); !errors.Is(err, ErrNoProblem) {
		t.Errorf("without a submission: %v", err)
	}
	other = timed
	other.Case.Op = "kernelbench_level2_19_gelu"
	if _, err := write(timed, other); !errors.Is(err, errLevels) {
		t.Errorf("of two levels: %v", err)
	}
}
