package op

import (
	"os"
	"strings"
	"testing"
)

const someFinding = `
[[findings]]
id = "loses-nan"
implementations = ["torch/scale"]
device = "cpu"
cpu = "AVX512"
versions = { torch = ">= 2.9, < 2.12" }
pass = "forward"
dtypes = ["bf16"]
distributions = ["non_finite"]
require = ["rows > 4"]
outputs = ["y"]
gates = ["G1"]
wrong = [{ kind = "nan lost", where = ["a row of x holds NaN or inf"] }]
calls = ["aten.softmax"]
happens = "it loses a NaN"
why = "it compares with it"
seen = "torch 2.11"
command = "triad compare softmax"
enough = 1
`

func softmaxSpec(t *testing.T) *Spec {
	t.Helper()
	text, err := os.ReadFile("../catalog/softmax/softmax.toml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Load("softmax.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFindingCovers: a finding covers what it names, and nothing else.
func TestFindingCovers(t *testing.T) {
	found, err := LoadFindings("f.toml", []byte(someFinding), softmaxSpec(t))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	right := func() (Case, string, string, map[string]string) {
		return Case{
				Op: "softmax", Pass: Forward, DType: "bf16", Distribution: "non_finite",
				Dims: Dims{{"rows", 5}, {"cols", 7}},
			}, "torch/scale", "cpu",
			map[string]string{"torch": "2.11.0+cu130", CPUVersion: "AVX512"}
	}
	if c, impl, device, versions := right(); !found[0].Covers(c, impl, device, versions) {
		t.Error("it does not cover its own case")
	}
	for name, change := range map[string]func(c *Case, impl, device *string, versions map[string]string){
		"another implementation": func(_ *Case, impl, _ *string,
			_ map[string]string,
		) {
			*impl = "torch/scale_fast"
		},
		"ours": func(_ *Case, impl, _ *string,
			_ map[string]string,
		) {
			*impl = "cuda/scale"
		},
		"another CPU": func(_ *Case, _, _ *string, versions map[string]string) {
			versions[CPUVersion] = "AVX2"
		},
		"a CPU that nobody named": func(_ *Case, _, _ *string, versions map[string]string) {
			delete(versions, CPUVersion)
		},
		"another device":   func(_ *Case, _, device *string, _ map[string]string) { *device = "gpu" },
		"a later torch":    func(_ *Case, _, _ *string, v map[string]string) { v["torch"] = "2.12.0" },
		"an earlier torch": func(_ *Case, _, _ *string, v map[string]string) { v["torch"] = "2.8.1" },
		"an unknown torch": func(_ *Case, _, _ *string, v map[string]string) { delete(v, "torch") },
		"no version":       func(_ *Case, _, _ *string, v map[string]string) { v["torch"] = "main" },
		"another pass":     func(c *Case, _, _ *string, _ map[string]string) { c.Pass = Backward },
		"another dtype":    func(c *Case, _, _ *string, _ map[string]string) { c.DType = "fp16" },
		"other data": func(c *Case, _, _ *string,
			_ map[string]string,
		) {
			c.Distribution = "normal"
		},
		"a condition not met": func(c *Case, _, _ *string, _ map[string]string) { c.Dims[0].Value = 4 },
	} {
		c, impl, device, versions := right()
		change(&c, &impl, &device, versions)
		if found[0].Covers(c, impl, device, versions) {
			t.Errorf("%s: covered", name)
		}
	}
}

// TestFindingsAreProven: an invalid finding is an error with its place.
func TestFindingsAreProven(t *testing.T) {
	spec := softmaxSpec(t)
	for _, c := range []struct{ from, to, want string }{
		{`device = "cpu"`, `devise = "cpu"`, `f.toml:5:1: unknown key findings.devise: want of `},
		{`device = "cpu"`, `device = "tpu"`, `f.toml:2: finding "loses-nan": device "tpu"`},
		{`device = "cpu"`, `device = "gpu"`, `cpu "AVX512": want device = "cpu" with it`},
		{`"torch/scale"`, `"cuda/warp"`, `only what a library brings has findings`},
		{`"torch/scale"`, `"mine/mine"`, `only what a library brings has findings`},
		{`">= 2.9, < 2.12"`, `"2.9 or so"`, `versions of torch: "2.9 or so"`},
		{`pass = "forward"`, `pass = "sideways"`, `pass "sideways": want one of [forward backward]`},
		{`["bf16"]`, `["int8"]`, `dtypes: "int8"`},
		{`["non_finite"]`, `["odd"]`, `distributions: "odd"`},
		{`rows > 4`, `lines > 4`, `unknown name "lines"`},
		{`["y"]`, `["z"]`, `outputs: "z": want of y`},
		{`["G1"]`, `["G9"]`, `gates: "G9"`},
		{`"nan lost"`, `"odd"`, `wrong: kind: "odd": want of nan lost, nan gained, infinite, finite`},
		{`wrong = [`, "wrong = []\nxs = [", `unknown key findings.xs`},
		{
			`wrong = [{ kind = "nan lost", where = ["a row of x holds NaN or inf"] }]`, ``,
			`outputs, gates and wrong: want at least one of each, or raises`,
		},
		{`"nan lost", where`, `"finite", where`, `wrong: finite: want a bound: ulps, `},
		{`"nan lost", where`, `"nan lost", ulps = 2, where`, `nan lost: NaN has no size`},
		{`where = ["a row of x holds NaN or inf"]`, `where = []`, `where: want conditions on the element`},
		{`a row of x holds`, `a row of z holds`, `"a row of z holds NaN or inf": want one of everywhere; `},
		{`a row of x holds NaN or inf`, `index lines < 3`, `unknown name "lines"`},
		{`"nan lost", where`, `"finite", rounded_before = "2 * x", where`, `rounded_before "2 * x": want an`},
		{`"nan lost", where`, `"finite", parts = "z", where`, `parts: unknown input "z"`},
		{`"nan lost", where`, `"finite", within = "z", where`, `within: unknown input "z"`},
		{`"aten.softmax"`, `"softmax"`, `calls "softmax": want an operation of torch's dispatcher`},
		{`why = "it compares with it"`, ``, `happens, why and seen: want a text for each`},
		{`enough = 1`, ``, `enough: want the number of covered cases`},
		{`enough = 1`, "enough = 1\n" + someFinding, `the id occurs twice`},
		{`outputs = ["y"]`, `raises = "x"` + "\noutputs = [\"y\"]", `a call that raises gives no outputs`},
		{`"triad compare softmax"`, `"python x.py"`, `command: want the command that shows it`},
		{`"triad compare softmax"`, `"rm x; triad compare softmax"`, `command: want the command`},
	} {
		_, err := LoadFindings("f.toml", []byte(strings.Replace(someFinding, c.from, c.to, 1)), spec)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "f.toml:") {
			t.Errorf("%s for %s: %v, want %s", c.to, c.from, err, c.want)
		}
	}
}
