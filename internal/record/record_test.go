package record

import (
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"triad/internal/op"
)

func sample() Record {
	return Record{
		ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV",
		Case: op.Case{
			Op: "softmax", Pass: op.Forward, DType: "bf16", Dims: op.Dims{
				{Name: "rows", Value: 8},
				{Name: "cols", Value: 1000},
			},
			Layout: "contiguous", Distribution: "normal",
		},
		DTypes: Members[op.DType]{{"x", op.BF16}, {"y", op.BF16}}, Seed: math.MaxUint64, Impl: "cuda/warp",
		Backend: "cuda", Variant: "warp",
		Device: "emulator", Status: op.StatusFail, Contract: "fp32",
		Outputs: []Verdict{{
			Name: "y", Status: op.StatusFail, Gate: "G2", N: 8000, NCompared: 8000, NWrong: 3,
			ErrorMargin: new(Float(0.25)),
			ULPMax:      new(Float(math.Inf(1))), Worst: &Element{
				[]int64{3, 999},
				Float(math.NaN()), 0.5, 0.25,
				Float(math.Inf(-1)),
			},
		}},
	}
}

func TestARecordAsJSONKeepsOrderAndNonFiniteNumbers(t *testing.T) {
	text, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"dims":{"rows":8,"cols":1000}`, `"dtypes":{"x":"bf16","y":"bf16"}`, `"attributes":{}`,
		`"upstream":null,"saved":null`,
		`"seed":18446744073709551615`, `"status":"FAIL"`, `"ulp_max":"inf"`, `"headroom":0.25`,
		`"worst":{"index":[3,999],"got":"nan","want":0.5,"low":0.25,"high":"-inf"}`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nlacks %s", text, want)
		}
	}
}

func TestFloatsSurviveJSON(t *testing.T) {
	for _, v := range []float64{
		0, math.Copysign(0, -1), 1, -1.5, 5e-324, math.MaxFloat64, 0.1, math.Inf(1),
		math.Inf(-1), math.NaN(),
	} {
		text, err := json.Marshal(Float(v))
		if err != nil {
			t.Fatal(err)
		}
		var back Float
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%v as %s: %v", v, text, err)
		}
		if math.Float64bits(float64(back)) != math.Float64bits(v) &&
			!(math.IsNaN(v) && math.IsNaN(float64(back))) {
			t.Errorf("%v went through %s and became %v", v, text, back)
		}
	}
	for _, text := range []string{`"NaN"`, `"infinity"`, `null`, `"1"`, `[]`} {
		if err := new(Float).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s was read as a number", text)
		}
	}
}

func TestMembersRefuseANameThatOccursTwice(t *testing.T) {
	var m Members[int64]
	if err := json.Unmarshal([]byte(`{"rows":1,"cols":2}`), &m); err != nil ||
		!reflect.DeepEqual(m, Members[int64]{{"rows", 1}, {"cols", 2}}) {
		t.Errorf("got %v, %v", m, err)
	}
	for _, text := range []string{`{"rows":1,"rows":2}`, `[1]`, `{"rows":"a"}`} {
		if err := json.Unmarshal([]byte(text), &m); err == nil {
			t.Errorf("%s was read as %v", text, m)
		}
	}
}

func TestRepeatNamesEveryPartOfTheCase(t *testing.T) {
	r := sample()
	r.Case.Pass, r.Case.Upstream, r.Case.Saved = op.Backward, "one_hot", "own"
	r.Case.Attrs = op.Attrs{{Name: "eps", Number: 1e-5, Text: "1e-05"}}
	want := "triad compare softmax --full --pass backward --dtype bf16 --dims rows=8,cols=1000 --attr " +
		"eps=1e-05 --layout contiguous " +
		"--distribution normal --upstream one_hot --saved own --impl cuda/warp --seed 18446744073709551615 " +
		"--device cpu --add 'my kernel'\\''s.cu'"
	if got := Repeat(r, []string{"my kernel's.cu"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Every JSON name that a struct of this package writes is in docs/json.md as `name`.
func TestEveryFieldIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var check func(reflect.Type)
	check = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(string(page), "`"+name+"`") {
				t.Errorf("docs/json.md does not name `%s` of %s", name, typ)
			}
			check(typ.Field(i).Type)
		}
	}
	for _, v := range []any{
		object{},
		Verdict{},
		Relation{},
		Broken{},
		Element{},
		Where{},
		Build{},
		Kernel{},
		Difference{},
		Disparity{},
		Machine{},
		runObject{},
		Timing{},
		Ceiling{},
		Comparison{},
	} {
		check(reflect.TypeOf(v))
	}
	if len(seen) < 9 {
		t.Errorf("looked at %d structs, want at least 9", len(seen))
	}
}

func TestEveryStatusIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range op.Statuses() {
		if !strings.Contains(string(page), "`"+s.String()+"`") {
			t.Errorf("docs/json.md does not name the status %s", s)
		}
	}
}
