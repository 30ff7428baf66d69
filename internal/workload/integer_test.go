package workload

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// integerSpec is an operator of one matrix in every integer dtype.
const integerSpec = `
name = "counted"
summary = "a matrix of integers"
formula = "y = x"
source = "none"
dtypes = ["uint8", "int8", "int32", "int64"]
[[dims]]
name = "rows"
[[dims]]
name = "cols"
[[inputs]]
name = "x"
shape = ["rows", "cols"]
strided = true
[[outputs]]
name = "y"
shape = ["rows", "cols"]
[contract]
default = { uint8 = "exact", int8 = "exact", int32 = "exact", int64 = "exact" }
[cost.forward]
bytes = "2 * rows * cols * size"
flops = "0"
[check]
distributions = ["normal", "zeros", "integers", "constant", "ties", "extremes", "sparse"]
shapes = [{ rows = 3, cols = 5, all = true, quick = true }]
`

func loadIntegers(t *testing.T) *op.Spec {
	t.Helper()
	s, err := op.Load("counted.toml", []byte(integerSpec))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Integers are drawn over the range of their dtype, in every distribution according to its name.
func TestIntegers(t *testing.T) {
	s := loadIntegers(t)
	for dtype, bounds := range map[string][2]float64{
		"uint8": {0, 255}, "int8": {-128, 127}, "int32": {math.MinInt32, math.MaxInt32},
		"int64": {-largestExact, largestExact},
	} {
		draw := func(distribution string) []float64 {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: dtype, Distribution: distribution},
				map[string]int64{"rows": 40, "cols": 100}, nil)
			x := inputs(t, s, c, defaultSeed)["x"].Float64s()
			if slices.Min(x) < bounds[0] || slices.Max(x) > bounds[1] ||
				slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) }) {
				t.Errorf("%s %s: %v to %v", dtype, distribution, slices.Min(x), slices.Max(x))
			}
			return x
		}
		low, high := bounds[0], bounds[1]
		normal := draw("normal")
		mean := 0.0
		for _, v := range normal {
			mean += v / float64(len(normal))
		}
		if math.Abs(mean-(low/2+high/2)) > (high/2-low/2)/20 || slices.Max(normal) < high-(high/100-low/100) {
			t.Errorf("%s: uniform integers have the mean %v and reach %v", dtype, mean, slices.Max(normal))
		}
		counts := map[float64]int{}
		for _, v := range draw("extremes") {
			counts[v]++
		}
		if len(counts) != 2 || counts[low] < 1000 || counts[high] < 1000 {
			t.Errorf("%s: extremes are %v", dtype, counts)
		}
		if x := draw("ties"); slices.Min(x) != slices.Max(x) {
			t.Errorf("%s: ties are %v to %v", dtype, slices.Min(x), slices.Max(x))
		}
		if x := draw("zeros"); slices.Min(x) != 0 || slices.Max(x) != 0 {
			t.Errorf("%s: zeros are not all 0", dtype)
		}
		if x := draw("integers"); slices.Max(x) != 8 || slices.Min(x) != max(low, -8) {
			t.Errorf("%s: integers are %v to %v", dtype, slices.Min(x), slices.Max(x))
		}
		if x := draw("constant"); x[0] != x[99] || slices.Min(x) == slices.Max(x) {
			t.Errorf("%s: rows of one value are %v", dtype, x[:4])
		}
		zeros := 0
		for _, v := range draw("sparse") {
			if v == 0 {
				zeros++
			}
		}
		if zeros < 3900 || zeros == 4000 {
			t.Errorf("%s: %d of 4000 are zero, want about 99 of 100", dtype, zeros)
		}
	}
}

// The storage around a view of integers holds no value that a right answer has everywhere, such as 0.
func TestIntegersBesideAView(t *testing.T) {
	s := loadIntegers(t)
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "uint8", Layout: "sliced", Distribution: "zeros"},
		map[string]int64{"rows": 4, "cols": 5}, nil)
	x := inputs(t, s, c, defaultSeed)["x"]
	want := append(make([]byte, 5), tensor.PoisonPattern(op.U8, "a")...)
	if !bytes.Equal(x.Data, bytes.Repeat(want, 4)) || x.Stride[0] != 6 {
		t.Errorf("sliced zeros lie in %v with strides %v", x.Data, x.Stride)
	}
}

// indexSpec is an operator of offsets and classes.
const indexSpec = `
name = "indexed"
summary = "elements of groups"
formula = "y = x"
source = "none"
dtypes = ["fp32"]
require = ["min(n, 1) <= groups"]
[[dims]]
name = "n"
may_be_empty = true
[[dims]]
name = "groups"
may_be_empty = true
[[dims]]
name = "classes"
[[attributes]]
name = "ignored"
type = "int"
default = -100
[[inputs]]
name = "x"
shape = ["n"]
[[inputs]]
name = "offsets"
shape = ["groups + 1"]
dtype = "int64"
fill = "offsets of n"
[[inputs]]
name = "target"
shape = ["n"]
dtype = "int64"
fill = "classes of classes ignoring ignored"
[[outputs]]
name = "y"
shape = ["n"]
[contract]
default = { fp32 = "fp32" }
[cost.forward]
bytes = "2 * n * size"
flops = "0"
[check]
distributions = ["normal", "constant", "outlier", "sparse", "zeros", "scaled"]
shapes = [{ n = 300, groups = 5, classes = 7, all = true, quick = true }]
`

// Offsets rise from 0 to n whatever the distribution, and are as uneven as it says; a target is a class, or
// the number that is ignored.
func TestOffsetsAndClasses(t *testing.T) {
	s, err := op.Load("indexed.toml", []byte(indexSpec))
	if err != nil {
		t.Fatal(err)
	}
	for _, distribution := range s.Check.Distributions {
		for _, size := range [][3]int64{{3000, 50, 7}, {10, 100, 1}, {0, 0, 3}, {0, 4, 3}, {9, 1, 9}} {
			n, groups, classes := size[0], size[1], float64(size[2])
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
				map[string]int64{"n": n, "groups": groups, "classes": size[2]}, nil)
			in := inputs(t, s, c, defaultSeed)
			x := in["offsets"].Float64s()
			if !slices.IsSorted(x) || x[0] != 0 || x[len(x)-1] != float64(n) {
				t.Errorf("%s %v: offsets are %v", distribution, size, x)
			}
			empty, largest := 0, 0.0
			for i := range x[1:] {
				if x[i+1] == x[i] {
					empty++
				}
				largest = max(largest, x[i+1]-x[i])
			}
			if n != 3000 {
				continue
			}
			if got := map[string]bool{
				"normal": 0 < empty && empty < 20 && largest > 100, "constant": largest == 60,
				"outlier": largest == 3000, "sparse": empty > 35, "zeros": true,
				"scaled": largest == 1500 && empty > 30,
			}; !got[distribution] {
				t.Errorf("%s: %d of 50 groups are empty, one has %v elements", distribution, empty, largest)
			}
			counts := map[float64]int{}
			for _, v := range in["target"].Float64s() {
				if v != -100 && !(0 <= v && v < classes && v == math.Trunc(v)) {
					t.Errorf("%s: a target is %v", distribution, v)
				}
				counts[v]++
			}
			least, most, kinds := 250, 500, 8
			switch distribution {
			case "zeros":
				least, most, kinds = 3000, 3000, 1
			case op.NoneIgnored:
				least, most, kinds = 0, 0, 7
			case "sparse":
				least, most = 2700, 2900
			}
			if n := counts[-100]; n < least || n > most || len(counts) != kinds {
				t.Errorf("%s: targets are %v", distribution, counts)
			}
		}
	}
}

// Of a few targets one at least is ignored: a kernel that takes it for a class is found in every case.
func TestOneOfAFewTargetsIsIgnored(t *testing.T) {
	s, err := op.Load("indexed.toml", []byte(indexSpec))
	if err != nil {
		t.Fatal(err)
	}
	for _, distribution := range s.Check.Distributions {
		for seed := range uint64(40) {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
				map[string]int64{"n": 3, "groups": 5, "classes": 7}, nil)
			targets := inputs(t, s, c, seed)["target"].Float64s()
			if ignored := slices.Contains(targets, -100); ignored == (distribution == op.NoneIgnored) {
				t.Errorf("%s, seed %d: targets are %v", distribution, seed, targets)
			}
		}
	}
}

// Without an ignored class every target is a class, under each distribution.
func TestClassesOfWhichNoneIsIgnored(t *testing.T) {
	s, err := op.Load("indexed.toml", []byte(indexSpec))
	if err != nil {
		t.Fatal(err)
	}
	for _, distribution := range s.Check.Distributions {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
			map[string]int64{"n": 3000, "groups": 50, "classes": 7},
			map[string]string{"ignored": strconv.Itoa(op.IgnoringNothing)})
		for _, v := range inputs(t, s, c, defaultSeed)["target"].Float64s() {
			if v < 0 || v > 6 {
				t.Fatalf("%s: a target is %v", distribution, v)
			}
		}
	}
}

// Lengths lie between 0 and the size or the attribute that they belong to, both ends included.
func TestLengths(t *testing.T) {
	for _, longest := range []string{"classes", "ignored"} {
		text := strings.Replace(indexSpec, "classes of classes ignoring ignored", "lengths of "+longest, 1)
		s, err := op.Load("indexed.toml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		for distribution, kinds := range map[string]int{"normal": 8, "zeros": 1, "constant": 1} {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
				map[string]int64{"n": 3000, "groups": 5, "classes": 7},
				map[string]string{"ignored": "7"})
			counts := map[float64]int{}
			for _, v := range inputs(t, s, c, defaultSeed)["target"].Float64s() {
				if !(0 <= v && v <= 7 && v == math.Trunc(v)) {
					t.Errorf("%s: a length is %v", distribution, v)
				}
				counts[v]++
			}
			if len(counts) != kinds || distribution != "constant" && counts[0] < 375 ||
				distribution != "zeros" && counts[7] < 375 {
				t.Errorf("%s of %s: lengths are %v", distribution, longest, counts)
			}
		}
	}
}

// With a least length, the first one is the shortest and the last one the longest, however few there are.
func TestLengthsFromALeast(t *testing.T) {
	text := strings.Replace(indexSpec, "classes of classes ignoring ignored",
		"lengths of classes from ignored", 1)
	s, err := op.Load("indexed.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	drawn := func(distribution, least string) ([]float64, error) {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution},
			map[string]int64{"n": 300, "groups": 5, "classes": 7}, map[string]string{"ignored": least})
		made, err := Inputs(s, c, defaultSeed)
		if err != nil {
			return nil, err
		}
		for _, x := range made {
			if x.Name == "target" {
				return x.Float64s(), nil
			}
		}
		return nil, nil
	}
	ends := map[string][2]float64{"normal": {3, 7}, "zeros": {3, 3}, "constant": {7, 7}}
	for distribution, want := range ends {
		x, err := drawn(distribution, "3")
		if err != nil || slices.Min(x) < 3 || slices.Max(x) > 7 ||
			[2]float64{x[0], x[len(x)-1]} != want {
			t.Errorf("%s: lengths %v, %v: want the ends %v", distribution, x, err, want)
		}
	}
	if _, err := drawn("normal", "8"); err == nil {
		t.Error("lengths from 8 to 7 were drawn")
	}
}

// Places are different integers, never in their rising order; more than there are cannot be drawn.
func TestPlaces(t *testing.T) {
	text := strings.Replace(indexSpec, "classes of classes ignoring ignored", "places of classes", 1)
	s, err := op.Load("indexed.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for n := int64(1); n < 40; n++ {
		for _, more := range []int64{0, 3} {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"},
				map[string]int64{"n": n, "groups": 5, "classes": n + more}, nil)
			x := inputs(t, s, c, defaultSeed)["target"].Float64s()
			sorted := slices.Clone(x)
			slices.Sort(sorted)
			if int64(len(slices.Compact(sorted))) != n || sorted[0] < 0 || sorted[n-1] >= float64(n+more) ||
				n > 1 && slices.IsSorted(x) {
				t.Errorf("%d of %d places are %v", n, n+more, x)
			}
		}
	}
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32"},
		map[string]int64{"n": 3, "groups": 3, "classes": 2}, nil)
	if _, err := Inputs(s, c, defaultSeed); err == nil {
		t.Error("three different places of two were drawn")
	}
}

// Choices are different integers, or -1 for none, as even as the distribution says; more than there are
// integers cannot be chosen.
func TestChoices(t *testing.T) {
	text := strings.Replace(indexSpec, `shape = ["n"]
dtype = "int64"
fill = "classes of classes ignoring ignored"`, `shape = ["n", "groups"]
dtype = "int64"
fill = "choices of classes"`, 1)
	s, err := op.Load("indexed.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{"n": 4000, "groups": 3, "classes": 12}
	none := map[string][2]int{ // at least and at most so many of 12000 choices
		"normal": {1700, 2600}, "constant": {0, 0}, "outlier": {8000, 8000}, "sparse": {11000, 11500},
		"zeros": {12000, 12000}, "scaled": {1700, 2600},
	}
	for distribution, want := range none {
		c := op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution}
		x := inputs(t, s, makeCase(t, s, c, dims, nil), defaultSeed)["target"].Float64s()
		counts := map[float64]int{}
		for i, v := range x {
			counts[v]++
			if !(v >= -1 && v < 12 && v == math.Trunc(v)) || v >= 0 && slices.Contains(x[i/3*3:i], v) {
				t.Fatalf("%s: the choices of a row are %v", distribution, x[i/3*3:i/3*3+3])
			}
		}
		if n := counts[-1]; n < want[0] || n > want[1] {
			t.Errorf("%s: %d choices are none, want %d to %d", distribution, n, want[0], want[1])
		}
		if distribution == "constant" && (counts[0] != 1000 || counts[11] != 1000) {
			t.Errorf("the choices are not even: %v", counts)
		}
	}
	for seed := range uint64(10) { // one row has a single one, however few there are
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"},
			map[string]int64{"n": 3, "groups": 3, "classes": 12}, nil)
		x, single := inputs(t, s, c, seed)["target"].Float64s(), false
		for row := range slices.Chunk(x, 3) {
			single = single || row[0] >= 0 && row[1] == -1 && row[2] == -1
		}
		if !single {
			t.Errorf("seed %d: no row of %v has a single choice", seed, x)
		}
	}
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{
		"n": 1, "groups": 3,
		"classes": 2,
	}, nil)
	if _, err := Inputs(s, c, defaultSeed); err == nil {
		t.Error("three different integers of two were drawn")
	}
}

// Blocks are different ones, in most rows of those that have begun at the row's token and as many as there
// are; some rows have none, and some blocks of the whole sequence.
func TestBlocks(t *testing.T) {
	text := strings.Replace(indexSpec, `shape = ["n"]
dtype = "int64"
fill = "classes of classes ignoring ignored"`, `shape = ["1", "n", "groups", "classes"]
dtype = "int64"
fill = "blocks of block"`, 1)
	text = strings.Replace(text, "[[attributes]]", `[[attributes]]
name = "block"
type = "int"
default = 8
[[attributes]]`, 1)
	s, err := op.Load("indexed.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	const tokens, heads, places, size = 400, 2, 5, 8
	dims := map[string]int64{"n": tokens, "groups": heads, "classes": places}
	for _, distribution := range []string{"normal", "zeros", "outlier"} {
		c := op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution}
		x := inputs(t, s, makeCase(t, s, c, dims, nil), defaultSeed)["target"].Float64s()
		kinds := map[string]int{}
		for r := range tokens * heads {
			row, own, kind := x[r*places:][:places], float64(r/heads/size), "full"
			seen := 0
			for i, v := range row {
				if !(v >= -1 && v <= (tokens-1)/size) || v >= 0 && slices.Contains(row[:i], v) {
					t.Fatalf("%s: the blocks of a row are %v", distribution, row)
				}
				if v > own {
					kind = "later"
				}
				seen += int(min(v+1, 1))
			}
			if kind == "full" && seen < min(places, int(own)+1) {
				kind = map[bool]string{true: "none", false: "some"}[seen == 0]
			}
			if distribution == "outlier" && seen > 0 && row[0] != own && row[1] != own {
				t.Errorf("outlier: the blocks of token %d are %v", r/heads, row)
			}
			kinds[kind]++
		}
		full := map[string][2]int{"normal": {600, 790}, "zeros": {0, 0}, "outlier": {0, 100}}[distribution]
		if n := kinds["full"]; n < full[0] || n > full[1] || kinds["none"] == 0 ||
			distribution == "normal" && kinds["later"] == 0 {
			t.Errorf("%s: rows are %v", distribution, kinds)
		}
	}
}

// A size or an attribute that a fill names must be there.
func TestFillsOfUnknownSizes(t *testing.T) {
	for wrong, says := range map[string]string{
		"offsets of m": "m is no dim", "classes of m ignoring ignored": "m is no dim",
		"classes of classes ignoring n": "n is no attribute of type int", "offsets n": `fill "offsets n"`,
		"places of m": "m is no dim", "lengths of n from m": "m is neither a dim nor an attribute",
		"lengths of m": "m is neither a dim nor an attribute of type int",
	} {
		text := strings.Replace(indexSpec, `fill = "offsets of n"`, `fill = "`+wrong+`"`, 1)
		if _, err := op.Load("indexed.toml", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %s", wrong, err, says)
		}
	}
}

// Rows of a padded view begin at multiples of 16 bytes where those of a contiguous tensor do.
func TestPaddedRows(t *testing.T) {
	s := loadIntegers(t)
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "uint8", Layout: "padded", Distribution: "zeros"},
		map[string]int64{"rows": 4, "cols": 32}, nil)
	x := inputs(t, s, c, defaultSeed)["x"]
	if x.Stride[0] != 48 || x.Stride[1] != 1 || len(x.Data) != 4*48 {
		t.Errorf("strides %v in %d bytes, want rows of 48", x.Stride, len(x.Data))
	}
}
