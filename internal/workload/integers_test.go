package workload

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// isTie reports whether a number lies halfway between two of a dtype, and its even neighbour is nearer to 0:
// rounding halves away from 0 then gives the other one.
func isTie(d op.DType, v float64) bool {
	near := tensor.Round(d, v, false)
	f, _ := tensor.FormatOf(d)
	return math.Abs(v)-math.Abs(near) == f.ULP(near)/2
}

// Integers of an operator whose 16-bit results may lie halfway between two numbers make such results, under
// every seed: sums of two elements often, a total always.
func TestIntegersMakeTies(t *testing.T) {
	kinds := map[string]int{}
	for _, s := range everySpec(t) {
		kind := s.Check.Integers
		if kind != "wide" && kind != "total" && kind != "apart" {
			continue
		}
		kinds[kind]++
		for _, dtype := range []string{"fp16", "bf16"} {
			for seed := range uint64(10) {
				dims := map[string]int64{}
				for _, d := range s.Dims {
					dims[d.Name] = []int64{4096, 70, 4099}[seed%3]
				}
				if len(s.Dims) == 2 {
					dims = map[string]int64{s.Dims[0].Name: 9, s.Dims[1].Name: 33}
				}
				c := makeCase(t, s,
					op.Case{Pass: op.Forward, DType: dtype, Distribution: "integers"}, dims, nil)
				drawn := inputs(t, s, c, seed)
				d := drawn[s.InputSpecs[0].Name].DType
				var rows [][]float64
				for _, in := range s.InputSpecs {
					rows = append(rows, drawn[in.Name].Float64s())
				}
				x, size, total, ties := rows[0], 0.0, 0.0, 0
				for i, v := range x {
					switch {
					case kind == "apart":
						v = (v - rows[1][i]) * (v - rows[1][i])
					case kind == "wide":
						if v += rows[1][i%len(rows[1])]; isTie(d, v) {
							ties++
						}
					case len(rows) > 1:
						v *= rows[1][i]
					}
					size += math.Abs(v)
					total += v
				}
				if size > 1<<24 {
					t.Errorf("%s %s: sums of %v, of which fp32 has not all", s.Name, dtype, size)
				}
				short := kind == "apart" && (len(x) == 70 || dtype == "fp16" && len(x) < 4096)
				if kind == "wide" && ties < len(x)/32 || kind != "wide" && !short && !isTie(d, total) {
					t.Errorf("%s %s, %d elements: the total is %v, and %d sums are ties", s.Name, dtype,
						len(x), total, ties)
				}
			}
		}
	}
	if len(kinds) != 3 {
		t.Errorf("operators by kind: %v, want some of wide, total and apart", kinds)
	}
}

// Factors of a product have a NaN or an infinity that meets a 0 of the other one, under every seed, and a
// vector has no NaN, which would be in every result.
func TestNonFiniteFactorsMeetZeros(t *testing.T) {
	all := everySpec(t)
	s := all[slices.IndexFunc(all, func(s *op.Spec) bool {
		return s.Check.NonFinite == "products" && len(s.InputSpecs) == 2 && len(s.Dims) == 2
	})]
	rows, cols := s.Dims[0].Name, s.Dims[1].Name
	for seed := range uint64(20) {
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: "non_finite"},
			map[string]int64{rows: 7, cols: 13}, nil)
		drawn := inputs(t, s, c, seed)
		a, x := drawn[s.InputSpecs[0].Name].Float64s(), drawn[s.InputSpecs[1].Name].Float64s()
		lost := 0
		for r := range 7 {
			whole, skipped := 0.0, 0.0
			for i, v := range x {
				product := a[13*r+i] * v
				whole += product
				if v != 0 {
					skipped += product
				}
			}
			if math.IsNaN(whole) && !math.IsNaN(skipped) {
				lost++
			}
		}
		if lost == 0 || slices.ContainsFunc(x, math.IsNaN) {
			t.Errorf("seed %d: %d results lose a NaN where products with 0 are left out; x = %v", seed,
				lost, x)
		}
	}
}

// Sliced vectors are every second element in memory, with NaN in between. If an operator has sliced rows, its
// vectors have no gaps.
func TestSlicedVectors(t *testing.T) {
	vectors, beside := 0, 0
	for _, s := range everySpec(t) {
		if slices.Contains(s.Layouts(), "sliced") != (len(s.Laid(op.Forward)) > 0) {
			t.Errorf("%s: layouts %v", s.Name, s.Layouts())
		}
		dims := map[string]int64{}
		for _, d := range s.Dims {
			dims[d.Name] = 16
		}
		c, err := s.NewCase(op.Case{Pass: op.Forward, DType: s.DTypes[0], Layout: "sliced"}, dims, nil)
		if err != nil {
			continue // sizes that do not fit together
		}
		types, err := s.Inputs(c)
		if err != nil {
			t.Fatal(err)
		}
		drawn := inputs(t, s, c, defaultSeed)
		for _, in := range types {
			x := drawn[in.Name]
			switch ofRows := slices.Contains(s.Layouts(), "padded"); {
			case len(in.Shape) != 1 || !in.Strided:
			case ofRows && x.Stride[0] == 1:
				beside++
			case ofRows || x.Stride[0] != 2 || int64(len(x.Data)) != 32*x.DType.Size():
				t.Errorf("%s: %s has strides %v in %d bytes", s.Name, in.Name, x.Stride, len(x.Data))
			default:
				vectors++
				x.Offset = 1
				if gap := x.Float64s(); x.DType.IsFloat() && !math.IsNaN(gap[0]) {
					t.Errorf("%s: between elements of %s lie %v", s.Name, in.Name, gap)
				}
			}
		}
	}
	if vectors < 11 || beside == 0 {
		t.Errorf("%d vectors, and %d beside rows", vectors, beside)
	}
}

// Under offset_one one of several inputs begins at an odd place, and over the dtypes each of up to three.
func TestOneOffset(t *testing.T) {
	all := everySpec(t)
	s := all[slices.IndexFunc(all, func(s *op.Spec) bool {
		return len(s.InputSpecs) == 2 && len(s.Laid(op.Forward)) == 2 && len(s.Laid(op.Backward)) > 0
	})]
	dims := map[string]int64{}
	for _, d := range s.Dims {
		dims[d.Name] = 5
	}
	for _, pass := range s.Passes() {
		begun := map[string]bool{}
		for _, dtype := range s.DTypes {
			c := makeCase(t, s, op.Case{Pass: pass, DType: dtype, Layout: "offset_one"}, dims, nil)
			odd := 0
			for name, x := range inputs(t, s, c, defaultSeed) {
				if x.Offset == 1 {
					odd++
					begun[name] = true
				}
			}
			if odd != 1 {
				t.Errorf("%v %s: %d inputs begin at an odd place, want 1", pass, dtype, odd)
			}
		}
		if len(begun) != len(s.Laid(pass)) {
			t.Errorf("%v: of %v these begin at an odd place: %v", pass, s.Laid(pass), begun)
		}
	}
}

// Under balanced the experts of a router, rows of parameters, are chosen about equally often.
func TestBalanced(t *testing.T) {
	all := everySpec(t)
	s := all[slices.IndexFunc(all, func(s *op.Spec) bool {
		return slices.Contains(s.Check.Distributions, "balanced")
	})]
	dims := map[string]int64{}
	for i, d := range s.Dims { // tokens, experts, columns, columns between
		dims[d.Name] = []int64{240, 5, 24, 3}[i]
	}
	c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: "balanced"}, dims, nil)
	drawn := inputs(t, s, c, defaultSeed)
	x, router := drawn[s.InputSpecs[0].Name].Float64s(), drawn[s.InputSpecs[1].Name].Float64s()
	chosen := make([]int, 5)
	for row := range slices.Chunk(x, 24) {
		best, most := 0, math.Inf(-1)
		for e := range 5 {
			score := 0.0
			for i, v := range row {
				score += v * router[24*e+i]
			}
			if score > most {
				best, most = e, score
			}
		}
		chosen[best]++
	}
	if slices.Min(chosen) < 24 || slices.Max(chosen) > 80 {
		t.Errorf("of 240 tokens the experts have %v", chosen)
	}
}

// Of numbers of the kind order, the sum in fp32 depends on the order: that of three rows is another from the
// end in a tenth of the columns under every seed. A column is -0 throughout.
func TestOrderedSumsDiffer(t *testing.T) {
	some := false
	for _, s := range everySpec(t) {
		if s.Check.Integers != "order" {
			continue
		}
		some = true
		for seed := range uint64(10) {
			const rows, cols = 3, 64
			dims := map[string]int64{}
			for _, d := range s.Dims {
				dims[d.Name] = 1
			}
			dims["tokens"], dims["dim"] = rows, cols
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "fp16", Distribution: "integers"}, dims, nil)
			x := inputs(t, s, c, seed)[s.InputSpecs[0].Name].Float64s()
			differ, zeros := 0, 0
			for i := range cols {
				a, b, c := float32(x[i]), float32(x[cols+i]), float32(x[2*cols+i])
				if (a+b)+c != (c+b)+a {
					differ++
				}
				if a == 0 && b == 0 && c == 0 && math.Signbit(x[i]) && math.Signbit(x[cols+i]) &&
					math.Signbit(x[2*cols+i]) {
					zeros++
				}
			}
			if differ < cols/10 || zeros != cols/8 {
				t.Errorf("%s, seed %d: %d of %d sums differ, %d columns of -0", s.Name, seed, differ, cols,
					zeros)
			}
		}
	}
	if !some {
		t.Error("no operator has the kind order")
	}
}

// Under the integers of a scale of fp8, the number of the largest magnitude is negative in every row that has
// one: a kernel that takes no magnitudes has another scale.
func TestLargestIsNegative(t *testing.T) {
	some := false
	for _, s := range everySpec(t) {
		if s.Check.Integers != "midpoints" {
			continue
		}
		some = true
		c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: "integers"},
			map[string]int64{s.Dims[0].Name: 40, s.Dims[1].Name: 40}, nil)
		for seed := range uint64(10) {
			x := inputs(t, s, c, seed)[s.InputSpecs[0].Name].Float64s()
			if most := slices.Max(x); slices.Min(x) != -76 || most >= 76 {
				t.Errorf("%s, seed %d: numbers from %v to %v", s.Name, seed, slices.Min(x), most)
			}
		}
	}
	if !some {
		t.Error("no operator has the kind midpoints")
	}
}
