package op

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// scale is a small operator with everything that a spec can contain.
const scale = `
name = "scale"
summary = "a product with a number"
formula = "y = factor * x"
source = "none"
dtypes = ["fp32", "bf16"]
require = ["rows % groups == 0"]
[[dims]]
name = "rows"
may_be_empty = true
[[dims]]
name = "groups"
[[dims]]
name = "cols"
default = "2 * groups"
[[attributes]]
name = "factor"
type = "float"
default = "1 / sqrt(cols)"
[[attributes]]
name = "mode"
type = "enum"
values = ["fp16", "fp32"]
default = "fp16"
[[attributes]]
name = "flip"
type = "bool"
default = false
[[inputs]]
name = "x"
shape = ["rows", "cols"]
differentiable = true
[[inputs]]
name = "w"
shape = { mode = { fp16 = ["1"], fp32 = ["rows"] } }
dtype = "fp32"
fill = "weight"
[[outputs]]
name = "y"
shape = ["rows", "cols"]
dtype = "$mode"
[backward]
inputs = ["y", "grad_y"]
outputs = ["grad_x"]
chained = true
[contract]
default = { fp32 = "fp32", bf16 = "fp32" }
permits = ["eager"]
[limits.forward]
fp32 = ["x * rows"]
[cost.forward]
bytes = "rows * cols * (size + size_y)"
flops = "rows * cols"
[cost.backward]
bytes = "rows * cols * size"
flops = "rows * cols"
[check]
distributions = ["normal", "scaled", "zeros"]
quick = ["scaled"]
pins = { zeros = { flip = false } }
shapes = [{ rows = 4, groups = 2, all = true, quick = true }, { rows = 6, groups = 3, factor = 0.5 },
  { rows = 64, groups = 1, device = "gpu" }]
[[bench]]
name = "one"
dims = { rows = 1024, groups = 4 }
`

func loadScale(t testing.TB) *Spec {
	t.Helper()
	s, err := Load("scale.toml", []byte(scale))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// badSpecs are edits that make a spec wrong, with the expected error.
var badSpecs = []struct{ from, to, want string }{
	{`name = "scale"`, `name = "Scale"`, "want a name of lower-case"},
	{`summary = "a product with a number"`, `sumary = ""`, "scale.toml:3:1: unknown key sumary"},
	{`may_be_empty = true`, `may_be_emtpy = true`, "scale.toml:10:1: unknown key dims.may_be_emtpy"},
	{`may_be_empty = true`, `may_be_empty = 3`, "scale.toml:10:"},
	{`source = "none"`, `source = ""`, "want a text"},
	{`["fp32", "bf16"]`, `["fp32", "bf17"]`, `dtype "bf17"`},
	{`["fp32", "bf16"]`, `[]`, "at least one"},
	{`[[bench]]`, "[[absent]]\nroom = \"attic\"\nreason = \"none\"\n[[bench]]", "want cuda or triton"},
	{`[[bench]]`, "[check.truth]\nsampled = { rows = 5 }\n[[bench]]", "check.truth, shape 1: "},
	{
		`[[bench]]`, "[check.truth]\nby_rows = [{ rows = 4, groups = 2 }, { rows = 4 }]\n[[bench]]",
		"check.truth, shape 3: ",
	},
	{`[[bench]]`, "[[compile]]\ndims = { rows = 5 }\n[[bench]]", "compile, entry 1: "},
	{
		`[[bench]]`, "[[compile]]\ndims = { rows = 4, groups = 2 }\nlayouts = [\"sliced\"]\n[[bench]]",
		"want contiguous or transposed",
	},
	{`[[bench]]`, "[[compile]]\ndims = { rows = 4, groups = 2 }\ndtypes = [\"fp8\"]\n[[bench]]", "dtypes"},
	{`[[bench]]`, "[synonyms]\nz = \"w\"\n[[bench]]", "synonyms: \"z\": z is no dim"},
	{`[[bench]]`, "[synonyms]\n\"rows * factor\" = \"w\"\n[[bench]]", "are of dims"},
	{`[[bench]]`, "[synonyms]\nrows = \"M | n n\"\n[[bench]]", "each once"},
	{`[[bench]]`, "[synonyms]\nrows = \"|\"\n[[bench]]", "at least one word"},
	{`[[bench]]`, "[torch]\nautocast = { cuda = \"wide\" }\n[[bench]]", "rules of fp32, lower"},
	{`[[bench]]`, "[torch]\nautocast = { tpu = \"fp32\" }\n[[bench]]", "devices of cpu, cuda"},
	{`["fp32", "bf16"]`, `["fp32", "fp32"]`, "each once"},
	{`"rows % groups == 0"`, `"rows % group == 0"`, `unknown name "group"`},
	{`"rows % groups == 0"`, `"rows < 5"`, "check.shapes, entry 2: scale: rows = 6: want rows < 5"},
	{`name = "groups"`, `name = "rows"`, "occurs twice"},
	{`name = "groups"`, `name = "size"`, "taken by the format"},
	{`name = "groups"`, `name = "range"`, "want a name"},
	{`"2 * groups"`, `"2 * cols"`, "has a default itself"},
	{`"2 * groups"`, `"2.5 * groups"`, "no integer"},
	{`"1 / sqrt(cols)"`, `nan`, "finite"},
	{`"1 / sqrt(cols)"`, `inf`, "finite"},
	{`"1 / sqrt(cols)"`, `"1 / (cols - 4)"`, "finite"},
	{`"1 / sqrt(cols)"`, `1e39`, "finite"},
	{`type = "float"`, `type = "real"`, "want bool, int, float or enum"},
	{`type = "float"`, `type = "enum"`, "has values"},
	{`default = false`, "default = false\npositive = true", `type "bool" is positive: only a float is`},
	{`default = false`, "default = false\ndraws = true", `type "bool" draws: only an int does`},
	{`default = false`, "default = false\nleast = 0", `type "bool" has bounds: only an int or a float has`},
	{`default = "fp16"`, `default = "fp8"`, "want one of fp16, fp32"},
	{`default = false`, ``, "default: want one"},
	{`values = ["fp16", "fp32"]`, `values = ["fp16", "fp16"]`, "occurs twice"},
	{`name = "x"`, `name = "rows"`, "occurs twice"},
	{`shape = ["rows", "cols"]
differentiable`, `shape = ["rows", 3]
differentiable`, "in quotes"},
	{`shape = ["rows", "cols"]
differentiable`, `shape = ["rows", "0-cols"]
differentiable`, "negative"},
	{`shape = ["rows", "cols"]
differentiable`, `shape = ["1","1","1","1","1","1","1"]
differentiable`, "rank 7"},
	{`{ fp16 = ["1"], fp32 = ["rows"] }`, `{ fp16 = ["1"] }`, "each of its values"},
	{`mode = { fp16 = ["1"]`, `flip = { fp16 = ["1"]`, "want an enumeration"},
	{`dtype = "$mode"`, `dtype = "$flip"`, "enumeration of dtypes"},
	{`fill = "weight"`, "fill = \"weight\"\nmay_be_neg_inf = true", "belong to outputs"},
	{`fill = "weight"`, "fill = \"weight\"\ngiven = true", "belong to outputs"},
	{`dtype = "$mode"`, `dtype = "fp31"`, "fp31"},
	{`fill = "weight"`, `fill = "heavy"`, "want addend, weight, bias"},
	{`inputs = ["y", "grad_y"]`, `inputs = ["z", "grad_y"]`, `"z" is no input`},
	{`inputs = ["y", "grad_y"]`, `inputs = ["y", "y"]`, "occurs twice"},
	{`outputs = ["grad_x"]`, `outputs = ["grad_w"]`, "grad_x is wanted"},
	{`outputs = ["grad_x"]`, `outputs = ["grad_x", "grad_w"]`, "differentiable input"},
	{`chained = true`, `chained = false`, "want true"},
	{`default = { fp32 = "fp32", bf16 = "fp32" }`, `default = { fp32 = "fp32" }`, "contract.default of bf16"},
	{
		`default = { fp32 = "fp32", bf16 = "fp32" }`,
		`default = { fp32 = "fp32", bf16 = "fp32", fp16 = "fp32" }`, `"fp16" is none`,
	},
	{`permits = ["eager"]`, `permits = ["sloppy"]`, `contract "sloppy"`},
	{`fp32 = ["x * rows"]`, `fp32 = ["v * rows"]`, `unknown name "v"`},
	{`flops = "rows * cols"`, `flops = ""`, "flops"},
	{"[cost.forward]", "[cost]\nproducts = \"fp9\"\n[cost.forward]", "products: "},
	{`flops = "rows * cols"`, `flops = "4611686018427387904 * rows * cols"`, "does not fit 64 bits"},
	{`["normal", "scaled", "zeros"]`, `["scaled", "zeros"]`, "want normal first"},
	{`["normal", "scaled", "zeros"]`, `["normal", "gauss"]`, `"gauss"`},
	{`quick = ["scaled"]`, `quick = ["shifted"]`, `"shifted"`},
	{`quick = ["scaled"]`, "quick = [\"scaled\"]\nnon_finite = \"many\"", "want each"},
	{
		`quick = ["scaled"]`, "quick = [\"scaled\"]\nno_upstreams = [\"normal\"]",
		`check.no_upstreams: "normal" is none of`,
	},
	{`pins = { zeros = { flip = false } }`, `pins = { zeros = { flip = 3 } }`, "true or false"},
	{`pins = { zeros = { flip = false } }`, `pins = { ties = { flip = false } }`, "check.distributions"},
	{`all = true, quick = true`, `quick = true`, "marked all"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = -6, groups = 3 }`, "rows = -6"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 6, groups = 0 }`, "groups = 0: want 1"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 6 }`, "groups has no value"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 6.0, groups = 3 }`, "want an integer"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 6, groups = 3, depth = 1 }`, `unknown key "depth"`},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 1073741823, groups = 3, cols = 4096 }`, "2^40"},
	{`{ rows = 6, groups = 3, factor = 0.5 }`, `{ rows = 6, groups = 3, factor = nan }`, "finite"},
	{`device = "gpu"`, `device = "tpu"`, "for device"},
	{
		`dims = { rows = 1024, groups = 4 }`, `dims = { rows = 1024, groups = 5 }`,
		"rows = 1024, groups = 5: want rows % groups == 0",
	},
	{`name = "one"`, `name = ""`, "want a name"},
}

// TestBadSpecsAreRefused: each change of one thing is rejected, in words that name it.
func TestBadSpecsAreRefused(t *testing.T) {
	loadScale(t)
	for _, c := range badSpecs {
		if !strings.Contains(scale, c.from) {
			t.Fatalf("the spec holds no %q", c.from)
		}
		_, err := Load("scale.toml", []byte(strings.Replace(scale, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.to, err, c.want)
		}
	}
}

func TestSpecIsTooLarge(t *testing.T) {
	if _, err := Load("big.toml", make([]byte, maxSpecSize+1)); err == nil ||
		!strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
}

// FuzzLoad: any text ends in a spec or a sentence that begins with the file.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(scale))
	files, _ := filepath.Glob("../catalog/*/*.toml")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Load("fuzz.toml", text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "read spec fuzz.toml") {
				t.Errorf("%v", err)
			}
			return
		}
		if _, err := s.Expand(Options{Level: LevelFull}); err != nil {
			t.Errorf("a proven spec does not expand: %v", err)
		}
	})
}

// TestTrivialCasesAreProven: whatever a spec marks as trivial by design must exist.
func TestTrivialCasesAreProven(t *testing.T) {
	for _, c := range []struct {
		trivial TrivialSpec
		wrong   string
	}{
		{TrivialSpec{
			Distributions: []string{"zeros"}, Upstreams: []string{"ones"},
			Shapes: []string{"cols <= 1"},
		}, ""},
		{TrivialSpec{Distributions: []string{"none"}}, "none"},
		{TrivialSpec{Distributions: []string{"zeros", "zeros"}}, "twice"},
		{TrivialSpec{Upstreams: []string{"two"}}, "two"},
		{TrivialSpec{Shapes: []string{"columns <= 1"}}, "columns"},
	} {
		s := &Spec{
			Dims:  []DimSpec{{Name: "cols"}},
			Check: CheckSpec{Distributions: []string{"normal", "zeros"}},
		}
		err := c.trivial.compile(s)
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %v, want %q", c.trivial, err, c.wrong)
		}
	}
}
