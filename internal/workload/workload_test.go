package workload

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
)

const defaultSeed = 20260801

func specNamed(t testing.TB, name string) *op.Spec {
	t.Helper()
	file := filepath.Join("..", "catalog", name, name+".toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := op.Load(file, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func everySpec(t testing.TB) []*op.Spec {
	t.Helper()
	files, err := filepath.Glob("../catalog/*/*.toml")
	if err != nil || len(files) < 6 {
		t.Fatalf("specs %v, %v: want six or more", files, err)
	}
	var all []*op.Spec
	for _, f := range files {
		if name := filepath.Base(filepath.Dir(f)); filepath.Base(f) == name+".toml" {
			all = append(all, specNamed(t, name))
		}
	}
	return all
}

func makeCase(t testing.TB, s *op.Spec, c op.Case, dims map[string]int64,
	attributes map[string]string,
) op.Case {
	t.Helper()
	made, err := s.NewCase(c, dims, attributes)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func inputs(t testing.TB, s *op.Spec, c op.Case, seed uint64) map[string]tensor.Tensor {
	t.Helper()
	list, err := Inputs(s, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]tensor.Tensor{}
	for _, x := range list {
		byName[x.Name] = x
	}
	return byName
}

// Every case of every operator up to --full can be made: right types, views within their storage, the layout
// asked for, and NaN or infinity only where the distribution declares it.
func TestEveryCaseCanBeMade(t *testing.T) {
	for _, s := range everySpec(t) {
		plan, err := s.Expand(op.Options{Level: op.LevelFull})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			list, err := Inputs(s, c, defaultSeed)
			if err != nil {
				t.Fatalf("%s %v: %v", s.Name, c, err)
			}
			checkTypes(t, s, c, list)
			for _, x := range list {
				if err := x.Check(); err != nil {
					t.Fatalf("%s %v: %v", s.Name, c, err)
				}
				for i, v := range x.Float64s() {
					if !c.DeclaresInfinity() && (math.IsNaN(v) || math.IsInf(v, 0)) {
						t.Fatalf("%s %s %s %s: %s[%d] = %v", s.Name, c.Pass, c.DType, c.Distribution, x.Name,
							i, v)
					}
				}
			}
		}
	}
}

// The bits of the inputs are the same on every machine and in every version. A change of these hashes changes
// the meaning of all stored seeds: write it into docs/decisions.md.
func TestGoldenHashes(t *testing.T) {
	for _, g := range []struct {
		op, dtype, distribution string
		dims                    map[string]int64
		want                    string
	}{
		{"softmax", "fp32", "normal", map[string]int64{"rows": 7, "cols": 33}, "25f2af669aa75024"},
		{"softmax", "bf16", "outlier", map[string]int64{"rows": 7, "cols": 33}, "4099c79c17fc4cb0"},
		{"softmax", "fp16", "neg_inf_mask", map[string]int64{"rows": 7, "cols": 33}, "3111b2ab879357ae"},
		{"layernorm", "fp16", "scaled", map[string]int64{"rows": 7, "cols": 33}, "51360a0f6842b25c"},
		{"rope", "fp32", "normal", map[string]int64{
			"batch": 1, "seq": 9, "heads_q": 2, "heads_k": 1,
			"head_dim": 10,
		}, "f87be6ac44a069b1"},
		{"fp8_gemm", "e5m2_e4m3", "extremes", map[string]int64{"m": 5, "n": 6, "k": 150}, "c19ace92cb39e764"},
		{"flash_attention", "bf16", "late_max", map[string]int64{
			"batch": 1, "heads_q": 2, "heads_kv": 1,
			"seq_q": 3, "seq_kv": 9, "head_dim": 8,
		}, "c7e5d813ed189945"},
	} {
		s := specNamed(t, g.op)
		h := sha256.New()
		list, err := Inputs(s, makeCase(t, s, op.Case{
			Pass: op.Forward, DType: g.dtype,
			Distribution: g.distribution,
		}, g.dims, nil), defaultSeed)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range list {
			h.Write(x.Data)
		}
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != g.want {
			t.Errorf("%s %s %s: %s, want %s", g.op, g.dtype, g.distribution, got, g.want)
		}
	}
}

func TestSeedsAndCasesDiffer(t *testing.T) {
	s := specNamed(t, "swiglu")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{"rows": 4, "cols": 9}, nil)
	a, again, other := inputs(t, s, c, 1), inputs(t, s, c, 1), inputs(t, s, c, 2)
	if !bytes.Equal(a["gate"].Data, again["gate"].Data) {
		t.Error("the same seed gives other bits")
	}
	if bytes.Equal(a["gate"].Data, other["gate"].Data) || bytes.Equal(a["gate"].Data, a["up"].Data) {
		t.Error("another seed or tensor gives the same bits")
	}
}

// Where rows stand alone, non_finite has each kind of number in a row of its own.
func TestEachNonFinite(t *testing.T) {
	s := specNamed(t, "copy")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: "non_finite"},
		map[string]int64{"rows": 16, "cols": 64}, nil)
	x, found := inputs(t, s, c, defaultSeed)["x"].Float64s(), map[string]int{}
	for r := range 16 {
		kinds := ""
		for _, v := range x[64*r : 64*r+64] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				kinds += fmt.Sprint(v)
			}
		}
		found[kinds]++
	}
	if want := map[string]int{"": 13, "NaN": 1, "+Inf": 1, "-Inf": 1}; !maps.Equal(found, want) {
		t.Errorf("rows by what they hold: %v, want %v", found, want)
	}
}

// The distributions agree with their names, row by row.
func TestDistributionsAreWhatTheySay(t *testing.T) {
	s := specNamed(t, "softmax")
	rows := func(distribution string) [][]float64 {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
			map[string]int64{"rows": 16, "cols": 64}, nil)
		x := inputs(t, s, c, defaultSeed)["x"].Float64s()
		var out [][]float64
		for r := range 16 {
			out = append(out, x[64*r:64*r+64])
		}
		return out
	}
	count := func(rows [][]float64, is func(row []float64) bool) int {
		n := 0
		for _, r := range rows {
			n += map[bool]int{true: 1}[is(r)]
		}
		return n
	}
	all := func(f func(float64) bool) func([]float64) bool {
		return func(row []float64) bool {
			return !slices.ContainsFunc(row, func(v float64) bool { return !f(v) })
		}
	}
	expect := func(what string, got, want int) {
		if got != want {
			t.Errorf("%s: %d rows, want %d", what, got, want)
		}
	}
	expect("constant",
		count(rows("constant"), func(r []float64) bool { return slices.Min(r) == slices.Max(r) }), 16)
	expect("zeros", count(rows("zeros"), all(func(v float64) bool { return v == 0 })), 16)
	expect("both zeros",
		count(rows("zeros"), func(r []float64) bool { return slices.ContainsFunc(r, math.Signbit) }), 16)
	expect("integers",
		count(rows("integers"),
			func(r []float64) bool { return slices.Max(r) == 1024 && slices.Min(r) == 0 }), 16)
	expect("low", count(rows("low_logits"), all(func(v float64) bool { return v < -5e4 })), 8)
	expect("negative", count(rows("low_logits"), all(func(v float64) bool { return v < 0 })), 16)
	isMasked := func(v float64) bool { return math.IsInf(v, -1) }
	expect("masked",
		count(rows("neg_inf_mask"), func(r []float64) bool { return slices.ContainsFunc(r, isMasked) }), 16)
	if n := count(rows("neg_inf_mask"), all(isMasked)); n < 4 || n == 16 {
		t.Errorf("neg_inf_mask: %d rows masked whole", n)
	}
	expect("late max",
		count(rows("late_max"), func(r []float64) bool { return slices.Max(r) == r[63] && r[63] == 12 }), 8)
	expect("ties", count(rows("ties"), func(r []float64) bool { return slices.Max(r) == 6 }), 16)
	if n := count(rows("outlier"),
		func(r []float64) bool { return slices.Max(r) > 100 || slices.Min(r) < -100 }); n < 6 {
		t.Errorf("outlier: %d rows stand out", n)
	}
}

// An addend has whole rows of NaN under non_finite: a kernel that reads it where it must not is detected,
// even if parts of the result are NaN already.
func TestAddendIsNotFinite(t *testing.T) {
	at := slices.IndexFunc(catalog.All(), func(o *catalog.Operator) bool {
		return slices.ContainsFunc(o.Spec.InputSpecs,
			func(in op.TensorSpec) bool { return in.Fill == "addend" })
	})
	if at < 0 {
		t.Fatal("no operator has such an input")
	}
	s := catalog.All()[at].Spec
	for seed := range uint64(20) {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: "non_finite"},
			map[string]int64{"m": 6, "n": 5, "k": 4}, map[string]string{"with_c": "true", "beta": "0"})
		drawn := inputs(t, s, c, seed)
		rows := 0
		for row := range slices.Chunk(drawn["c"].Float64s(), 5) {
			if !slices.ContainsFunc(row, func(v float64) bool { return !math.IsNaN(v) }) {
				rows++
			}
		}
		one := 0
		for _, v := range drawn["a"].Float64s() {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				one++
			}
		}
		if rows != 2 || one != 2 {
			t.Errorf("seed %d: %d rows of c are NaN, want 2; %d elements of a are not finite, want 2",
				seed, rows, one)
		}
	}
}

// If rows are independent, non_finite has rows with one NaN or infinity, rows with many, and rows of NaN.
func TestNonFiniteRows(t *testing.T) {
	at := slices.IndexFunc(catalog.All(),
		func(o *catalog.Operator) bool { return o.Spec.Check.NonFinite == "rows" && len(o.Spec.Dims) == 2 })
	if at < 0 {
		t.Fatal("no operator has such rows")
	}
	s := catalog.All()[at].Spec
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp16", Distribution: "non_finite"},
		map[string]int64{"rows": 30, "cols": 64}, nil)
	made := inputs(t, s, c, defaultSeed)["x"]
	x, kinds, seen, signs := made.Float64s(), map[string]int{}, map[float64]bool{}, map[byte]int{}
	for r := range 30 {
		numbers, nans := 0, 0
		for _, v := range x[r*64 : (r+1)*64] {
			if math.IsNaN(v) {
				nans++
			} else if !math.IsInf(v, 0) {
				numbers++
			} else {
				seen[v] = true
			}
		}
		switch {
		case nans == 64:
			kinds["NaN"]++
		case numbers == 63:
			kinds["one"]++
		case numbers > 16 && numbers < 48 && nans > 2:
			kinds["many"]++
		}
	}
	for i, v := range x {
		if math.IsNaN(v) {
			signs[made.Data[2*i+1]>>7]++
		}
	}
	if signs[0] < 300 || signs[1] < 300 {
		t.Errorf("%d NaN without and %d with a sign: want hundreds of both", signs[0], signs[1])
	}
	if kinds["NaN"] != 10 || kinds["one"] != 10 || kinds["many"] != 10 || len(seen) != 2 {
		t.Errorf("kinds of rows %v, infinities %v: want ten of each kind and both infinities", kinds, seen)
	}
}

// Bounded intermediates stay below their limits, in every dtype, and by no more than one power of two.
func TestLimitsHold(t *testing.T) {
	attention := specNamed(t, "flash_attention")
	c := makeCase(t, attention, op.Case{Pass: op.Forward, DType: "fp16", Distribution: "extremes"},
		map[string]int64{"batch": 1, "heads_q": 1, "heads_kv": 1, "seq_q": 9, "seq_kv": 12, "head_dim": 16},
		nil)
	x := inputs(t, attention, c, defaultSeed)
	magnitude := func(v tensor.Tensor) float64 {
		largest := 0.0
		for _, e := range v.Float64s() {
			largest = max(largest, math.Abs(e))
		}
		return largest
	}
	product := 16 * magnitude(x["q"]) * magnitude(x["k"])
	if !(product <= 65504.0/2 && product > 65504.0/16) {
		t.Errorf("head_dim * q * k = %v, want just below %v", product, 65504.0/2)
	}
	softmax := specNamed(t, "softmax")
	c = makeCase(t, softmax, op.Case{Pass: op.Backward, DType: "bf16", Upstream: "huge", Saved: "own"},
		map[string]int64{"rows": 3, "cols": 50}, nil)
	x = inputs(t, softmax, c, defaultSeed)
	if g := magnitude(x["grad_y"]); !(g <= 0x1p125 && g > 0x1p120) || magnitude(x["x"]) < 1 {
		t.Errorf("grad_y reaches %v, x %v", g, magnitude(x["x"]))
	}
}

// An operand times its scale equals the drawn value, to within one rounding of its dtype; the transposed
// operand is quantised from the same numbers.
func TestQuantisedOperands(t *testing.T) {
	s := specNamed(t, "fp8_gemm")
	for _, scaling := range []string{"tensor", "row", "block"} {
		dims := map[string]int64{"m": 130, "n": 140, "k": 150}
		c := makeCase(t, s, op.Case{Pass: op.Backward, DType: "e4m3"}, dims,
			map[string]string{"scaling": scaling})
		x := inputs(t, s, c, defaultSeed)
		g, gt := dequantised(t, x["g"], x["scale_g"]), dequantised(t, x["gt"], x["scale_gt"])
		for m := range int64(130) {
			for n := range int64(140) {
				a, b := g[m*140+n], gt[n*130+m]
				if !(math.Abs(a-b) <= math.Abs(a)/4+1e-2) {
					t.Fatalf("%s: g[%d,%d] = %v, transposed %v", scaling, m, n, a, b)
				}
			}
		}
		top := 0.0
		for _, v := range x["bt"].Float64s() {
			top = max(top, math.Abs(v))
		}
		if top != 448 {
			t.Errorf("%s: the largest code of bt is %v, want 448", scaling, top)
		}
	}
}

func dequantised(t *testing.T, codes, scales tensor.Tensor) []float64 {
	t.Helper()
	x, s := codes.Float64s(), scales.Float64s()
	group, err := grouping(scales.Shape, codes.Shape[0], codes.Shape[1])
	if err != nil {
		t.Fatal(err)
	}
	for i := range x {
		x[i] *= s[group(int64(i))]
	}
	return x
}

func TestExactOperandsHoldIntegers(t *testing.T) {
	s := specNamed(t, "fp8_gemm")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "e5m2_e4m3", Distribution: "integers"},
		map[string]int64{"m": 5, "n": 6, "k": 200},
		map[string]string{"scaling": "block"})
	x := inputs(t, s, c, defaultSeed)
	for _, v := range x["a"].Float64s() {
		if v != math.Trunc(v) || v < lowestInteger || v > highestInteger {
			t.Fatalf("a holds %v", v)
		}
	}
	for _, v := range x["scale_a"].Float64s() {
		if m, _ := math.Frexp(v); m != 0.5 {
			t.Fatalf("scale %v is no power of two", v)
		}
	}
}

func TestZeroBlocksHaveScaleZero(t *testing.T) {
	s := specNamed(t, "fp8_gemm")
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "e4m3", Distribution: "zeros"},
		map[string]int64{"m": 3, "n": 2, "k": 5}, nil)
	if v := inputs(t, s, c, defaultSeed)["scale_a"].Float64s()[0]; v != 0 {
		t.Errorf("scale %v", v)
	}
}

func TestRopeTables(t *testing.T) {
	s := specNamed(t, "rope")
	dims := map[string]int64{"batch": 1, "seq": 3, "heads_q": 1, "heads_k": 1, "head_dim": 8, "max_pos": 4096}
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16"}, dims, map[string]string{"offset": "4000"})
	x := inputs(t, s, c, defaultSeed)
	sine, cosine := x["sin"].Float64s(), x["cos"].Float64s()
	for p := range 4096 {
		for i := range 4 {
			angle := float64(p) * math.Pow(10000, -float64(2*i)/8)
			if math.Abs(sine[4*p+i]-math.Sin(angle)) > 4e-8 ||
				math.Abs(cosine[4*p+i]-math.Cos(angle)) > 4e-8 {
				t.Fatalf("position %d, pair %d: %v %v, want %v %v", p, i, sine[4*p+i], cosine[4*p+i],
					math.Sin(angle), math.Cos(angle))
			}
		}
	}
	c = makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: "integers"}, dims, nil)
	if x = inputs(t, s, c, defaultSeed); slices.Max(x["sin"].Float64s()) != 0 ||
		slices.Min(x["cos"].Float64s()) != 1 {
		t.Error("under integers the tables are not those of position 0")
	}
}

func TestUpstreamGradients(t *testing.T) {
	s := specNamed(t, "swiglu")
	for upstream, holds := range map[string]func(row []float64) bool{
		"ones":  func(r []float64) bool { return slices.Min(r) == 1 && slices.Max(r) == 1 },
		"zeros": func(r []float64) bool { return slices.Min(r) == 0 && slices.Max(r) == 0 },
		"one_hot": func(r []float64) bool {
			return slices.Max(r) == 1 &&
				!slices.Contains(r[1+slices.Index(r, 1):], 1)
		},
		"normal": func(r []float64) bool { return slices.Min(r) < 0 && slices.Max(r) > 0 },
		"huge":   func(r []float64) bool { return slices.Max(r) > 100 },
	} {
		c := makeCase(t, s, op.Case{Pass: op.Backward, DType: "fp16", Upstream: upstream},
			map[string]int64{"rows": 4, "cols": 32}, nil)
		x := inputs(t, s, c, defaultSeed)["grad_y"].Float64s()
		for r := range 4 {
			if !holds(x[32*r : 32*r+32]) {
				t.Errorf("%s: row %v", upstream, x[32*r:32*r+32])
			}
		}
	}
}

func BenchmarkInputs1M(b *testing.B) {
	s := specNamed(b, "softmax")
	c := makeCase(b, s, op.Case{Pass: op.Forward, DType: "bf16"}, map[string]int64{
		"rows": 1024,
		"cols": 1024,
	}, nil)
	for b.Loop() {
		if _, err := Inputs(s, c, 1); err != nil {
			b.Fatal(err)
		}
	}
}

// A tensor of one dim with independent elements is drawn as rows: one case has every kind of row, and also an
// incomplete row at the end.
func TestOneDimIsDrawnAsRows(t *testing.T) {
	for _, s := range everySpec(t) {
		row := s.Check.Row
		if row == 0 || !slices.Contains(s.Check.Distributions, "scaled") {
			continue
		}
		c, err := s.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: "scaled"},
			map[string]int64{s.Dims[0].Name: 40*row + 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		list, err := Inputs(s, c, defaultSeed)
		if err != nil {
			t.Fatal(err)
		}
		x, kinds := list[0].Float64s(), map[int]bool{}
		for r := int64(0); r < 40; r++ {
			kinds[int(math.Round(math.Log10(largest(x[r*row:(r+1)*row]))))] = true
		}
		if len(kinds) < 3 || largest(x[40*row:]) == 0 {
			t.Errorf("%s: the rows have magnitudes of %v, the end %v: want those of four factors", s.Name,
				kinds, x[40*row:])
		}
	}
}
