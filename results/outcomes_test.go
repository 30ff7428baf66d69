package results

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

// Outcomes returns those of the session's recorded runs, in the order of the plan, without looking at every
// run for every entry: there are tens of thousands of both.
func TestOutcomes(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	defer s.Close()
	other := start(t, s, "another")
	x := start(t, s, "all of it", plan(4)...)
	for _, i := range []int{2, 0, 1} {
		r := failed(i)
		if i == 1 {
			r.Status = op.StatusPass
		}
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := failed(3)
	if err := other.Record(ctx, &elsewhere); err != nil {
		t.Fatal(err)
	}
	var got []op.Status
	if err := s.Outcomes(ctx, x.ID(), func(o Outcome) {
		if o.Impl == "" || o.Run == "" || o.Message == "" {
			t.Errorf("%+v", o)
		}
		got = append(got, o.Status)
	}); err != nil {
		t.Fatal(err)
	}
	if want := []op.Status{op.StatusFail, op.StatusPass, op.StatusFail}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	rows, err := s.writer.Query("EXPLAIN QUERY PLAN "+outcomesOf, x.ID())
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(step, "SCAN") {
			t.Errorf("the database reads a whole table for each row of another: %s", step)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}
