package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestResolveFillsInDefaults(t *testing.T) {
	s := loadScale(t)
	dims, attributes, err := s.Resolve(map[string]int64{"rows": 8, "groups": 2},
		map[string]string{"mode": "fp32"})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Dims{{"rows", 8}, {"groups", 2}, {"cols", 4}}); !reflect.DeepEqual(dims, want) {
		t.Errorf("dims %v, want %v", dims, want)
	}
	if want := (Attrs{
		{"factor", 0.5, "0.5"},
		{"mode", 1, "fp32"},
		{"flip", 0, "false"},
	}); !reflect.DeepEqual(attributes, want) {
		t.Errorf("attributes %v, want %v", attributes, want)
	}
	_, attributes, err = s.Resolve(map[string]int64{"rows": 8, "groups": 2},
		map[string]string{"factor": "0.1"})
	if a, _ := attributes.Lookup("factor"); err != nil || a.Number != float64(float32(0.1)) ||
		a.Text != "0.1" {
		t.Errorf("factor %v, %v", a, err)
	}
}

func TestTensorsOfACase(t *testing.T) {
	s := loadScale(t)
	c, err := s.NewCase(Case{Pass: Backward, DType: "bf16", Saved: "own"}, map[string]int64{
		"rows":   8,
		"groups": 2,
	}, map[string]string{"mode": "fp32"})
	if err != nil {
		t.Fatal(err)
	}
	types := func(list []TensorType, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, x := range list {
			words = append(words, x.Name+" "+x.DType.String())
		}
		return strings.Join(words, ", ")
	}
	for _, l := range []struct{ got, want string }{
		{types(s.Inputs(c)), "y fp32, grad_y fp32"},
		{types(s.Outputs(c)), "grad_x bf16"},
		{types(s.ForwardInputs(c)), "x bf16, w fp32"},
		{types(s.ForwardOutputs(c)), "y fp32"},
		{types(s.Upstream(c)), "grad_y fp32"},
	} {
		if l.got != l.want {
			t.Errorf("%s, want %s", l.got, l.want)
		}
	}
	in, _ := s.ForwardInputs(c)
	if in[1].Shape[0] != 8 || !in[0].Strided || in[1].Strided {
		t.Errorf("inputs %+v", in)
	}
	c.Pass = Forward
	if bytes, flops, err := s.Cost(c); bytes != 32*(2+4) || flops != 32 || err != nil {
		t.Errorf("cost %d bytes, %d operations, %v", bytes, flops, err)
	}
}

func TestContracts(t *testing.T) {
	s := loadScale(t)
	if !s.Permits("bf16", "eager") || !s.Permits("bf16", "fp32") || s.Permits("bf16", "tf32") ||
		s.Permits("bf16", "") || s.Permits("fp64", "") {
		t.Error("permits something else than it says")
	}
}

// wrongOptions are invalid options, each with its error.
var wrongOptions = []struct {
	options Options
	want    string
}{
	{Options{DTypes: []string{"fp8"}}, `scale: unknown dtype "fp8": want one of fp32, bf16`},
	{
		Options{Dims: map[string]int64{"row": 3}},
		`scale: unknown dim "row": want one of rows, groups, cols`,
	},
	{Options{Dims: map[string]int64{"rows": -3}}, `scale: dim rows = -3: want 0 to 2^40`},
	{Options{Dims: map[string]int64{"groups": 0}}, `scale: dim groups = 0: want 1 to 2^40`},
	{
		Options{Dims: map[string]int64{"rows": 7, "groups": 2}},
		`scale: rows = 7, groups = 2: want rows % groups == 0`,
	},
	{
		Options{Dims: map[string]int64{"rows": 1 << 40, "groups": 1}},
		`scale: x [1099511627776 2]: want at most 2^40 elements`,
	},
	{
		Options{Dims: map[string]int64{"rows": 1 << 40, "groups": 1, "cols": 1 << 40}},
		`scale: x [1099511627776 1099511627776]: want at most 2^40 elements`,
	},
	{
		Options{Dims: map[string]int64{"cols": 1<<63 - 1}},
		`scale: dim cols = 9223372036854775807: want 1 to 2^40`,
	},
	{
		Options{Attributes: map[string]string{"mod": "fp16"}},
		`scale: unknown attribute "mod": want one of factor, mode, flip`,
	},
	{
		Options{Attributes: map[string]string{"mode": "fp64"}},
		`scale: attribute mode = "fp64": want one of fp16, fp32`,
	},
	{
		Options{Attributes: map[string]string{"flip": "yes"}},
		`scale: attribute flip = "yes": want true or false`,
	},
	{
		Options{Attributes: map[string]string{"factor": "NaN"}},
		`scale: attribute factor = "NaN": want a finite number of fp32`,
	},
	{
		Options{Attributes: map[string]string{"factor": "1e39"}},
		`scale: attribute factor = "1e39": want a finite number of fp32`,
	},
	{
		Options{Distributions: []string{"ties"}},
		`scale forward: unknown distribution "ties": want one of normal, scaled, zeros`,
	},
	{Options{Layouts: []string{"diagonal"}}, `scale forward: unknown layout "diagonal": want one of ` +
		`contiguous, offset, offset_one, sliced, transposed, expanded, padded`},
	{
		Options{Passes: []Pass{Backward}, Saved: []string{"mine"}},
		`scale backward: unknown saved "mine": want one of driver, own`,
	},
}

// TestUsageErrors: an invalid option is an error of one sentence with the allowed values.
func TestUsageErrors(t *testing.T) {
	s := loadScale(t)
	for _, c := range wrongOptions {
		_, err := s.Expand(c.options)
		var usage *UsageError
		if !errors.As(err, &usage) || usage.Message != c.want {
			t.Errorf("%+v: %v, want %s", c.options, err, c.want)
		}
	}
	s.Backward = nil
	if _, err := s.Expand(Options{Passes: []Pass{Backward}}); err == nil ||
		err.Error() != "scale has no backward pass: want one of [forward]" {
		t.Error(err)
	}
}

func TestExpandIsDeterministicAndWhole(t *testing.T) {
	s := loadScale(t)
	for _, level := range []Level{LevelQuick, LevelDefault, LevelFull} {
		first, err := s.Expand(Options{Level: level})
		again, _ := s.Expand(Options{Level: level})
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Fatalf("%s: %v, twice the same: %t", level, err, reflect.DeepEqual(first, again))
		}
		for _, c := range first.Cases {
			if c.Distribution == "zeros" && c.Attrs.Text("flip") != "false" {
				t.Errorf("%v breaks a pin", c)
			}
		}
	}
	full, _ := s.Expand(Options{Level: LevelFull})
	if len(full.Skipped) == 0 || full.Skipped[0].Reason != "the shape is judged on a GPU only" {
		t.Errorf("skipped %v", full.Skipped)
	}
	gpu, _ := s.Expand(Options{Level: LevelFull, Device: "gpu"})
	if len(gpu.Skipped) != 0 || len(gpu.Cases) != len(full.Cases)+len(full.Skipped) {
		t.Errorf("a GPU skips %v", gpu.Skipped)
	}
	small, _ := s.Expand(Options{Level: LevelFull, Device: "gpu", Memory: 100})
	if len(small.Skipped) == 0 || !strings.Contains(small.Skipped[0].Reason, "the device holds 100") {
		t.Errorf("skipped %v", small.Skipped)
	}
}

// TestNamedDims: a given dim replaces that of every shape; duplicates are removed, and so are shapes that
// break a condition only by their other dims.
func TestNamedDims(t *testing.T) {
	s := loadScale(t)
	plan, err := s.Expand(Options{
		Dims: map[string]int64{"rows": 8}, Passes: []Pass{Forward},
		DTypes: []string{"fp32"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cases {
		if c.Dims.Get("rows") != 8 || c.Dims.Get("groups") == 3 {
			t.Errorf("dims %v", c.Dims)
		}
	}
	if len(plan.Skipped) != 0 {
		t.Errorf("skipped %v: the mark spoke of another size", plan.Skipped)
	}
	plan, err = s.Expand(Options{
		Dims:   map[string]int64{"rows": 1 << 33, "groups": 1},
		Passes: []Pass{Forward}, DTypes: []string{"fp32"},
	})
	if err != nil || len(plan.Cases) != 0 || !strings.Contains(plan.Skipped[0].Reason,
		"a CPU takes at most 2^31") {
		t.Errorf("%v, %v", plan, err)
	}
}

// TestEveryCaseCanBeNamed: with everything given the plan is that single case: a stored run is repeated so.
func TestEveryCaseCanBeNamed(t *testing.T) {
	s := loadScale(t)
	plan, _ := s.Expand(Options{Level: LevelFull})
	for _, c := range plan.Cases {
		dims, attributes := map[string]int64{}, map[string]string{}
		for _, d := range c.Dims {
			dims[d.Name] = d.Value
		}
		for _, a := range c.Attrs {
			attributes[a.Name] = a.Text
		}
		o := Options{
			DTypes: []string{c.DType}, Passes: []Pass{c.Pass}, Dims: dims, Attributes: attributes,
			Distributions: []string{c.Distribution}, Layouts: []string{c.Layout},
		}
		if c.Pass == Backward {
			o.Upstreams, o.Saved = []string{c.Upstream}, []string{c.Saved}
		}
		again, err := s.Expand(o)
		if err != nil || len(again.Cases) != 1 || again.Cases[0].Key() != c.Key() {
			t.Errorf("%v: %v, %v", c, again.Cases, err)
		}
		text, _ := json.Marshal(c)
		if parsed, err := parseCase(s, text); err != nil || !reflect.DeepEqual(parsed, c) {
			t.Errorf("%s came back as %v, %v", text, parsed, err)
		}
	}
}

func TestCaseKeyIsStable(t *testing.T) {
	c := Case{
		Op: "softmax", Pass: Forward, DType: "bf16", Dims: Dims{{"rows", 3}, {"cols", 7}},
		Layout: "contiguous", Distribution: "normal",
	}
	text, _ := json.Marshal(c)
	want := `{"op":"softmax","pass":"forward","dtype":"bf16","dims":{"rows":3,"cols":7},"attributes":{},` +
		`"layout":"contiguous","distribution":"normal","upstream":null,"saved":null}`
	if string(text) != want {
		t.Errorf("%s", text)
	}
	if c.Key() != "e6ebc5bf9a2d332c" {
		t.Errorf("key %s", c.Key())
	}
}

// parseCase reads the JSON that Case.MarshalJSON writes, and checks it against the spec: the result has the
// key of the stored case.
func parseCase(s *Spec, text []byte) (Case, error) {
	var stored struct {
		Op           string            `json:"op"`
		Pass         Pass              `json:"pass"`
		DType        string            `json:"dtype"`
		Dims         map[string]int64  `json:"dims"`
		Attributes   map[string]string `json:"attributes"`
		Layout       string            `json:"layout"`
		Distribution string            `json:"distribution"`
		Upstream     string            `json:"upstream"`
		Saved        string            `json:"saved"`
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&stored); err != nil {
		return Case{}, Usagef("read case of %s: %v", s.Name, err)
	}
	if stored.Op != s.Name {
		return Case{}, Usagef("read case of %s: it is one of %q", s.Name, stored.Op)
	}
	return s.NewCase(Case{
		Pass: stored.Pass, DType: stored.DType, Layout: stored.Layout, Distribution: stored.Distribution,
		Upstream: stored.Upstream,
		Saved:    stored.Saved,
	}, stored.Dims, stored.Attributes)
}

// FuzzCaseKey: a case that is read back has its former key, and nothing else is read.
func FuzzCaseKey(f *testing.F) {
	s := loadScale(f)
	plan, err := s.Expand(Options{Level: LevelFull})
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range plan.Cases {
		text, _ := json.Marshal(c)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := parseCase(s, text)
		if err != nil {
			return
		}
		again, _ := json.Marshal(c)
		back, err := parseCase(s, again)
		if err != nil || back.Key() != c.Key() || len(c.Key()) != 16 {
			t.Errorf("%s: %v, key %s then %s", text, err, c.Key(), back.Key())
		}
	})
}

// TestShapesBesideTheLevel: sizes in addition to those of the level meet every distribution of it, and leave
// the others unchanged.
func TestShapesBesideTheLevel(t *testing.T) {
	s := softmaxSpec(t)
	o := Options{Level: LevelQuick, DTypes: s.DTypes[:1], Passes: []Pass{Forward}}
	plain, err := s.Expand(o)
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{}
	for i, d := range s.Dims {
		dims[d.Name] = int64(640 + 64*i)
	}
	o.Shapes = []map[string]int64{dims}
	more, err := s.Expand(o)
	if err != nil {
		t.Fatal(err)
	}
	met, others := map[string]bool{}, 0
	for _, c := range more.Cases {
		if c.Dims[0].Value == 640 {
			met[c.Distribution] = true
		} else {
			others++
		}
	}
	if others != len(plain.Cases) || len(met) != 1+len(s.Check.Quick) {
		t.Errorf("%d other cases, want %d; distributions %v", others, len(plain.Cases), met)
	}
}

// TestSavedFrom: saved tensors come from where some backward takes them; a source selected by name is used.
func TestSavedFrom(t *testing.T) {
	s := softmaxSpec(t)
	for _, c := range []struct {
		from, asked []string
		own, driver bool
	}{
		{nil, nil, true, true},
		{[]string{"own", "driver"}, nil, true, true},
		{[]string{"driver"}, nil, false, true},
		{[]string{"own"}, nil, true, false},
		{[]string{"own"}, []string{"driver"}, false, true},
	} {
		for _, level := range []Level{LevelQuick, LevelDefault, LevelFull} {
			plan, err := s.Expand(Options{
				Level: level, Passes: []Pass{Backward}, DTypes: []string{"fp32"},
				SavedFrom: c.from, Saved: c.asked,
			})
			if err != nil {
				t.Fatal(err)
			}
			from := func(where string) bool {
				return slices.ContainsFunc(plan.Cases, func(c Case) bool { return c.Saved == where })
			}
			if from("own") != c.own || from("driver") != c.driver {
				t.Errorf("%v from %v, asked for %v: own %t, driver %t", level, c.from, c.asked, from("own"),
					from("driver"))
			}
		}
	}
}

// TestLeftOutDistributions: a distribution that is left out occurs in no case of a level, unless it is
// selected by name.
func TestLeftOutDistributions(t *testing.T) {
	s := softmaxSpec(t)
	for _, level := range []Level{LevelQuick, LevelDefault, LevelFull} {
		o := Options{Level: level, DTypes: s.DTypes[:1], Passes: []Pass{Forward}, LeftOut: s.Check.Quick[:1]}
		plan, err := s.Expand(o)
		if err != nil {
			t.Fatal(err)
		}
		met := func(p Plan) bool {
			return slices.ContainsFunc(p.Cases, func(c Case) bool { return c.Distribution == o.LeftOut[0] })
		}
		if met(plan) || len(plan.Cases) < 5 {
			t.Errorf("%v: %d cases, among them some of %v", level, len(plan.Cases), o.LeftOut)
		}
		o.Distributions = o.LeftOut
		if plan, err = s.Expand(o); err != nil || !met(plan) {
			t.Errorf("%v: error %v, or no case of %v that is asked for", level, err, o.LeftOut)
		}
	}
}

// TestQuickBackwardTakesTheEnds: a backward under --quick judges the first four shapes and the last one.
func TestQuickBackwardTakesTheEnds(t *testing.T) {
	var shapes []site
	for i := range int64(7) {
		shapes = append(shapes, site{dims: map[string]int64{"n": i}})
	}
	var taken []int64
	s := new(Spec)
	for _, x := range s.ends(shapes) {
		taken = append(taken, x.dims["n"])
	}
	if want := []int64{0, 1, 2, 3, 6}; !slices.Equal(taken, want) || len(s.ends(shapes[:5])) != 5 {
		t.Errorf("shapes %v, want %v", taken, want)
	}
}
