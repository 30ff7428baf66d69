package run

import (
	"fmt"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// TestUnavailableByPrefix: a prefix that only matches what is missing is a reason, for each operator; one
// that matches a row that is there is none. A plan and the records of its run say the same.
func TestUnavailableByPrefix(t *testing.T) {
	for _, of := range []struct {
		impls []string
		want  string
	}{
		{nil, "[]"},
		{[]string{"fake"}, "[]"},
		{[]string{"fake/right"}, "[]"},
		{[]string{"fake/right", "fake/pair"}, "[fake/pair_a: not here fake/pair_b is not here]"},
		{[]string{"fake/pair_a"}, "[fake/pair_a: not here]"},
		{[]string{"fake", "gone/row"}, "[no Python]"},
	} {
		f := fakes(map[string]way{"fake/right": right})
		f.failed = []backend.LoadFailure{
			{Implementation: "fake/pair_a", Status: op.StatusUnavailable, Message: "not here"},
			{Implementation: "fake/pair_b", Status: op.StatusUnavailable, Message: "fake/pair_b is not here"},
		}
		gone := &fake{family: "gone", load: &backend.Unavailable{Sentence: "no Python"}}
		result, err := compare(t, &memory{}, of.impls, f, gone)
		if err != nil || fmt.Sprint(result.Unavailable) != of.want {
			t.Errorf("%q: %v, %q, want %s", of.impls, err, result.Unavailable, of.want)
		}
		if said := fmt.Sprint(Unavailable(of.impls, result.Records)); said != fmt.Sprint(result.Unavailable) {
			t.Errorf("its records say %s", said)
		}
	}
	row := func(operator, impl string, status op.Status) record.Record {
		return record.Record{Case: op.Case{Op: operator}, Impl: impl, Status: status, Message: operator}
	}
	rows := []record.Record{
		row("a", "fake/x", op.StatusUnavailable), row("a", "fake/xy", op.StatusPass),
		row("b", "fake/x", op.StatusFail), row("b", "fake/x", op.StatusUnavailable),
	}
	for prefix, want := range map[string]string{"fake/x": "[fake/x: a]", "fake": "[]", "fake/xy": "[]"} {
		if got := fmt.Sprint(Unavailable([]string{prefix}, rows)); got != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
}
