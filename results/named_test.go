package results

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// recorded returns a database in which every named query has an answer.
func recorded(t *testing.T) string {
	t.Helper()
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return old }
	worse := passed(1, "cuda/worse")
	worse.Case.DType = "fp32"
	worse.Outputs[0].ErrorMargin = new(record.Float(1.25))
	recordSession(t, s, "aaaaaaa1", "NVIDIA H200", worse, passed(2, "cuda/flaky"))
	s.now = time.Now
	wrong, only, flaky := failed(1), failed(3), failed(2)
	wrong.Impl, wrong.Case.DType = "cuda/worse", "fp32"
	only.Impl, flaky.Impl = "cuda/only", "cuda/flaky"
	fine := passed(3, "cuda/only")
	fine.Case.DType = "fp16"
	slow := passed(4, "cuda/slow")
	slow.Timings[0].Roofline = new(record.Float(0.25))
	recordSession(t, s, "bbbbbbb2", "NVIDIA H200", &wrong, &only, fine, &flaky, slow)
	return s.Path()
}

// Every query that comes with triad runs within the limits of typed SQL and answers its question.
func TestNamedQueries(t *testing.T) {
	path := recorded(t)
	want := map[string]string{ // words of the first row
		"changed":        "cuda/worse PASS FAIL",
		"disagree":       "cuda/flaky FAIL",
		"flaky":          "cuda/flaky",
		"least-headroom": "fp16 cuda/only",
		"only-in":        "cuda/only 1",
		"slowest":        "cuda/slow 25",
	}
	all, err := NamedQueries(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(want) {
		t.Errorf("%d queries, %d are tested", len(all), len(want))
	}
	for _, n := range all {
		params := map[string]any{}
		for _, p := range n.Params {
			params[p.Name] = p.Default
		}
		answer, err := Query(ctx, path, n.SQL, params, Limits{HeapBytes: 1 << 30})
		if err != nil {
			t.Errorf("%s: %v", n.Name, err)
			continue
		}
		if len(answer.Rows) == 0 || n.Question == "" {
			t.Errorf("%s (%s): no row", n.Name, n.Question)
			continue
		}
		row := fmt.Sprint(answer.Rows)
		at := 0
		for _, word := range strings.Fields(want[n.Name]) {
			i := strings.Index(row[at:], word)
			if i < 0 {
				t.Errorf("%s: rows %s, want %q in this order", n.Name, row, want[n.Name])
				break
			}
			at += i
		}
	}
}

func TestParametersOfAStatement(t *testing.T) {
	path := recorded(t)
	ask := func(statement string, params map[string]any) (*Answer, error) {
		return Query(ctx, path, statement, params, Limits{HeapBytes: 1 << 30})
	}
	answer, err := ask("SELECT count(*) FROM latest WHERE dtype = :dtype AND ':no' <> /* :comment */ :x "+
		"-- :end",
		map[string]any{"dtype": "fp32", "x": int64(3)})
	if err != nil || answer.Rows[0][0] != int64(1) {
		t.Errorf("with parameters: %v, %v", answer, err)
	}
	for _, c := range []struct {
		statement string
		params    map[string]any
		want      string
	}{
		{"SELECT :a", nil, "query: parameter :a has no value: give one with --param a=VALUE"},
		{
			"SELECT :a",
			map[string]any{"a": "1", "b": "2"},
			"query: the statement has no parameter :b: it has :a",
		},
		{"SELECT 1", map[string]any{"a": "1"}, "query: the statement has no parameter :a, and no other"},
	} {
		if _, err := ask(c.statement, c.params); err == nil || err.Error() != c.want {
			t.Errorf("%s with %v: %v, want %s", c.statement, c.params, err, c.want)
		}
	}
}

// only-in does not list what is wrong in other dtypes too.
func TestOnlyInSaysNothingOfWhatIsWrongEverywhere(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	a, b := failed(1), failed(1)
	b.Case.DType = "fp32"
	recordSession(t, s, "aaaaaaa1", "", &a, &b)
	all, err := NamedQueries(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range all {
		if n.Name != "only-in" {
			continue
		}
		params := map[string]any{"dtype": "bf16"}
		answer, err := Query(ctx, s.Path(), n.SQL, params, Limits{HeapBytes: 1 << 30})
		if err != nil || len(answer.Rows) != 0 {
			t.Errorf("%v, %v: it is wrong in fp32 too", answer, err)
		}
	}
	if a.Status != op.StatusFail {
		t.Fatal("the record is not wrong")
	}
}
