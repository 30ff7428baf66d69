package run

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// cached returns a way that repeats its first output, whatever the inputs.
func cached() way {
	var first []float64
	return func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if first == nil {
			first = softmax(x)
		}
		if int64(len(first)) != x.Elements() {
			return softmax(x), nil
		}
		return first, nil
	}
}

// unshifted is right as long as no row's largest value is above 10: it subtracts no maximum, and its
// exponentials lose what fp16 cannot hold.
func unshifted(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	y := softmax(x)
	if slices.Max(x.Float64s()) > 10 {
		for i := range y {
			y[i] = math.NaN()
		}
	}
	return y, nil
}

// crashing crashes on every call but the judged one; refusing accepts only the sizes of the case.
func crashing(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	if run > 0 {
		return nil, &backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}
	}
	return softmax(x), nil
}

func refusing(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	if !slices.Equal(x.Shape, []int64{5, 33}) {
		return nil, &backend.Outcome{Status: op.StatusUnsupported, Sentence: "5 rows of 33 columns alone"}
	}
	return softmax(x), nil
}

// shy declines every call but the judged one: that is no answer to a relation between two calls of one case.
func shy(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	if run > 0 {
		return nil, &backend.Outcome{Status: op.StatusUnsupported, Sentence: "once is enough"}
	}
	return softmax(x), nil
}

// TestRelationsBetweenCalls: a fault that no other gate can see, because it shows only in a second call, is a
// FAIL of G6 that names the relation, the element and what was accepted.
func TestRelationsBetweenCalls(t *testing.T) {
	kept := &memory{}
	ways := map[string]way{
		"fake/right": right, "fake/cached": cached(), "fake/unshifted": unshifted,
		"fake/crashing": crashing, "fake/refusing": refusing, "fake/shy": shy,
	}
	if _, err := compare(t, kept, nil, fakes(ways)); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		status   op.Status
		sentence string
		planned  int
	}{
		"fake/right": {op.StatusPass, "", 7},
		"fake/cached": {
			op.StatusFail,
			`y breaks the relation "adding 16 to every input changes nothing": at y[`, 7,
		},
		"fake/unshifted": {
			op.StatusFail,
			`y breaks the relation "adding 16 to every input changes nothing": at y[0,0] it is NaN, ` +
				"accepted is", 7,
		},
		"fake/crashing": {op.StatusFail, "a further call ended CRASH: exited 7", 7},
		"fake/refusing": {op.StatusPass, "", 5},
		"fake/shy":      {op.StatusFail, "a further call ended UNSUPPORTED: once is enough", 5},
	}
	if len(kept.records) != len(want) {
		t.Fatalf("%d records, want %d", len(kept.records), len(want))
	}
	for _, r := range kept.records {
		w, o := want[r.Impl], r.Outputs[0]
		if r.Status != w.status || !strings.Contains(r.Message, w.sentence) || o.Status != w.status ||
			w.status == op.StatusFail && o.Gate != "G6" {
			t.Errorf("%s: %v %s (%s), want %v %s", r.Impl, r.Status, o.Gate, r.Message, w.status, w.sentence)
		}
		if o.RelationsPlanned != w.planned || len(o.Relations) != w.planned {
			t.Errorf("%s: %d relations planned, %d evaluated, want %d", r.Impl, o.RelationsPlanned,
				len(o.Relations), w.planned)
		}
		for _, relation := range o.Relations {
			if relation.Holds != (relation.Message == "") || relation.Holds && (relation.NCompared == 0 ||
				relation.NCompared != relation.N) {
				t.Errorf("%s: %+v", r.Impl, relation)
			}
		}
	}
}

// gone loses the device after the judged call: another kernel broke it.
func gone(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	if run > 0 {
		return nil, &backend.Outcome{Status: op.StatusUnavailable, Sentence: "the GPU does not recover"}
	}
	return softmax(x), nil
}

// TestRelationsWithoutADevice: if the device is gone before the relations are evaluated, a right
// implementation neither fails nor passes.
func TestRelationsWithoutADevice(t *testing.T) {
	kept := &memory{}
	if _, err := compare(t, kept, nil, fakes(map[string]way{"fake/gone": gone})); err != nil {
		t.Fatal(err)
	}
	if r := kept.records[0]; r.Status != op.StatusUnavailable ||
		r.Message != "before its relations were evaluated: the GPU does not recover" || r.Outputs != nil {
		t.Errorf("%v %q %+v, want UNAVAILABLE and no verdict", r.Status, r.Message, r.Outputs)
	}
}

// TestRelationsThatFindingsExplain: a relation that does not hold is KNOWN if a finding names its gate; a
// further call that crashes is not.
func TestRelationsThatFindingsExplain(t *testing.T) {
	for _, c := range []struct {
		way  way
		gate string
		want op.Status
	}{
		{unshifted, "G6", op.StatusKnown},
		{unshifted, "G2", op.StatusFail},
		{crashing, "G6", op.StatusFail},
	} {
		o, kept := *faked(t), &memory{}
		o.Findings = []op.Finding{{
			ID: "shown", Pass: "forward", Implementations: []string{"fake/row"}, Outputs: []string{"y"},
			Gates: []string{c.gate},
			Wrong: []op.Wrong{{Kind: "finite"}, {Kind: "nan gained"}}, Happens: "it loses the sum",
		}}
		r := &Runner{
			Backends: []backend.Backend{fakes(map[string]way{"fake/row": c.way})},
			Recorder: kept, Stop: t.Context(),
		}
		if _, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{&o}, Seed: 1,
			Options: op.Options{
				Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
				Dims: map[string]int64{"rows": 5, "cols": 33}, Distributions: []string{"normal"},
			},
		}); err != nil {
			t.Fatal(err)
		}
		if got := kept.records[0]; got.Status != c.want {
			t.Errorf("%s: %v %s, want %v", c.gate, got.Status, got.Message, c.want)
		}
	}
}

// TestRelationsOfARejectedRow: what another gate rejects is not launched again for relations; its record says
// that they were planned.
func TestRelationsOfARejectedRow(t *testing.T) {
	kept := &memory{}
	b := fakes(map[string]way{"fake/zeros": zeros})
	if _, err := compare(t, kept, nil, b); err != nil {
		t.Fatal(err)
	}
	if o := kept.records[0].Outputs[0]; o.Gate == "G6" || o.RelationsPlanned != 7 || o.Relations != nil ||
		b.runs["fake/zeros"] != 1 {
		t.Errorf("%s, %d planned, %v, %d jobs", o.Gate, o.RelationsPlanned, o.Relations, b.runs["fake/zeros"])
	}
}

// TestRelationsAreExplained: --explain shows the results of the relations.
func TestRelationsAreExplained(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	r := &Runner{
		Backends: []backend.Backend{fakes(map[string]way{"fake/unshifted": unshifted})},
		Recorder: kept, Stop: t.Context(),
	}
	if _, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Explain: true,
		Options: op.Options{
			Level:  op.LevelQuick,
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}, Dims: map[string]int64{
				"rows": 5,
				"cols": 33,
			}, Distributions: []string{"normal"},
		},
	}); err != nil {
		t.Fatal(err)
	}
	e := kept.records[0].Explained[0]
	broken := slices.IndexFunc(e.Relations, func(r record.Relation) bool { return !r.Holds })
	if e.Gate != "G6" || e.Sentence != kept.records[0].Message || len(e.Relations) != 7 || broken < 0 ||
		e.Relations[broken].Worst == nil {
		t.Errorf("%+v", e)
	}
}

// TestRelationsArePlanned: every relation between calls is evaluated once a dtype and pass on the quick
// level, more often beyond, on cases that are not trivially small; the choice does not depend on the order of
// a map.
func TestRelationsArePlanned(t *testing.T) {
	for level, most := range map[op.Level]int{
		op.LevelQuick:   relatedQuick,
		op.LevelDefault: 2 * relatedDefault, op.LevelFull: 2 * relatedFull,
	} {
		for _, o := range truth.All() {
			plan, err := o.Spec.Expand(op.Options{Level: level})
			if err != nil {
				t.Fatal(err)
			}
			mark := func() []work {
				planned := make([]work, len(plan.Cases))
				for i, c := range plan.Cases {
					planned[i] = work{operator: o, Case: c, entries: []entry{{}}}
				}
				if err := markRelations(planned, level); err != nil {
					t.Fatal(err)
				}
				return planned
			}
			count := map[string]int{}
			first := mark()
			for i, w := range mark() {
				if fmt.Sprint(w.between) != fmt.Sprint(first[i].between) {
					t.Fatalf("%s: another choice of cases the second time", o.Spec.Name)
				}
				for name := range w.between {
					count[fmt.Sprint(w.Pass, " ", w.DType, " ", name)]++
				}
			}
			for _, pass := range o.Spec.Passes() {
				for _, dtype := range o.Spec.PassDTypes(pass) {
					for _, r := range truth.Relations(o.Spec.Name) {
						key := fmt.Sprint(pass, " ", dtype, " ", r.Name)
						if n := count[key]; r.Pass == pass && r.Second != nil && (n < 1 || n > most) {
							t.Errorf("%v %s %s: asked on %d cases, want 1 to %d", level, o.Spec.Name, key, n,
								most)
						}
					}
				}
			}
		}
	}
}
