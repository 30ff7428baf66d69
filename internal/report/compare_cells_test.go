package report

import (
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// TestCellsOfTheTable: a cell says how far a good implementation is off, neutral runs are counted by their
// kinds, and an implementation without the pass has a row only if it was asked for.
func TestCellsOfTheTable(t *testing.T) {
	with := func(r record.Record, errorMargin, ulp record.Float) record.Record {
		for i := range r.Outputs {
			r.Outputs[i].ErrorMargin, r.Outputs[i].ULPMax = &errorMargin, &ulp
		}
		return r
	}
	lacks := softmax(6, "cuda/online", "fp32", 5, op.StatusMissing)
	lacks.Message = "cuda/online has no forward pass"
	records := []record.Record{
		with(softmax(1, "cuda/vec", "fp32", 5, op.StatusPass), 4, 2.5),
		with(softmax(2, "cuda/vec", "bf16", 5, op.StatusPass), 1, 0.5),
		softmax(3, "cuda/vec", "fp32", 7, op.StatusUnsupported),
		softmax(4, "cuda/vec", "fp32", 1, op.StatusNoPower),
		with(softmax(5, "cuda/warp", "fp32", 5, op.StatusPass), 4, 364295),
		softmax(7, "cuda/warp", "bf16", 5, op.StatusDifferentContract),
		lacks,
	}
	table := func(impls ...string) string {
		var out strings.Builder
		if err := Compare(&out, Style{}, records, nil, Summary{Impls: impls}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	text := table()
	for _, want := range []string{
		"good not taken cannot tell excused bad",
		"cuda/vec PASS 2.50 ulp PASS 0.50 ulp 2 1 1 0",
		"cuda/warp PASS 25 % of bound DIFFERENT_CONTRACT 1 0 0 1 0",
		"7 runs: 3 good, 2 not taken, 1 cannot tell, 1 excused, 0 bad.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "online") {
		t.Errorf("a row that nobody asked for:\n%s", text)
	}
	if text := table("cuda/online", "cuda/vec"); !strings.Contains(text, "cuda/online MISSING") {
		t.Errorf("a row that was asked for is left out:\n%s", text)
	}
}
