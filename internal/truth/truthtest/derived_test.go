package truthtest

import (
	"math"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
)

// TestSurvivorsOnlyFall: a survivor that is not listed is a complaint, and so is a listed one that is killed:
// the list only shrinks.
func TestSurvivorsOnlyFall(t *testing.T) {
	list, err := SurvivorsIn("# why\n\nforward | x is wrong | no case: none\n" +
		"forward | y is wrong | no case: none\n" +
		"forward | z is wrong | some seeds: drawn\nforward | w is wrong | permitted: by all\n")
	if err != nil || len(list) != 4 {
		t.Fatalf("%v, %v", list, err)
	}
	alive := func(seeds ...uint64) *fates {
		f := &fates{survivedIn: map[uint64]bool{}, why: "why not"}
		for _, s := range seeds {
			f.survivedIn[s] = true
		}
		return f
	}
	judged := map[string]*fates{
		"forward | x is wrong": alive(1, 2), "forward | y is wrong": alive(), "forward | z is wrong": alive(),
		"forward | w is wrong": alive(1, 2), "forward | new": alive(1, 2), "forward | rare": alive(2),
	}
	right, complaints := compared(list, judged, 2, true)
	want := "# Derived mutants that no case kills: docs/judge.md, \"Mutants that specs lead to\".\n" +
		"forward | new | no case: why not\nforward | rare | some seeds: why not\n" +
		"forward | w is wrong | permitted: by all\nforward | x is wrong | no case: none\n" +
		"forward | z is wrong | some seeds: drawn\n"
	if got := Text(right); got != want || len(complaints) != 3 {
		t.Errorf("%s%q", got, complaints)
	}
	if !strings.HasPrefix(complaints[0], "forward | y is wrong: it is killed") ||
		complaints[1] != "forward | new | no case: why not: it survives" {
		t.Errorf("%q", complaints)
	}
	judged["forward | x is wrong"] = alive(2)
	if right, _ := compared(list, judged, 2, true); right[0].Reason != "some seeds: none" {
		t.Errorf("what one seed of two kills is %v", right[0])
	}
	if right, _ := compared(list, judged, manySeeds, true); strings.Contains(Text(right), "z is wrong") {
		t.Errorf("no seed of many lets z live: %v", right)
	}
	delete(judged, "forward | new")
	delete(judged, "forward | rare")
	if _, complaints := compared(list, judged, 2, false); len(complaints) != 0 {
		t.Errorf("one dtype alone: %q", complaints)
	}
}

// TestSurvivorsHaveReasons: a line without a reason, with an unknown kind of reason, or twice in the list is
// an error.
func TestSurvivorsHaveReasons(t *testing.T) {
	for _, text := range []string{
		"forward | x is wrong", "forward | x is wrong | because", "forward | x is wrong | permitted: ",
		"softmax | forward | x is wrong | permitted: by all",
		"forward | x is wrong | no case: a\nforward | x is wrong | no case: b",
	} {
		if list, err := SurvivorsIn(text); err == nil {
			t.Errorf("%q gives %v", text, list)
		}
	}
}

// TestOffIsAnotherNumber: a mutant replaces a number by another number of the dtype.
func TestOffIsAnotherNumber(t *testing.T) {
	for _, d := range []op.DType{op.FP32, op.BF16, op.E4M3, op.I8, op.I64, op.Bool} {
		for _, x := range []float64{0, 1} {
			if y := off(judge.Target{DType: d}, x); y == x || d == op.Bool && y != 1-x {
				t.Errorf("%v: %v becomes %v", d, x, y)
			}
		}
	}
	if y := off(judge.Target{DType: op.FP32}, math.NaN()); y != 0 {
		t.Errorf("NaN becomes %v", y)
	}
	if y := off(judge.Target{DType: op.I8}, 127); y != 126 {
		t.Errorf("the largest int8 becomes %v", y)
	}
}

// TestHalfAway: a tie rounds away from zero, any other value to the nearest.
func TestHalfAway(t *testing.T) {
	for r, want := range map[float64]float64{
		257: 258, -257: -258, 259: 260, 258: 258, 257.5: 258, 256.5: 256, 1: 1, 0x1p-140: 0,
		0x1p-134: 0x1p-133, math.Inf(1): 7,
	} {
		if got := halfAway(judge.Target{DType: op.BF16}, r, 7); got != want {
			t.Errorf("%v becomes %v, want %v", r, got, want)
		}
	}
	if got := halfAway(judge.Target{DType: op.FP16}, 2049, 7); got != 2050 {
		t.Errorf("2049 becomes %v in fp16", got)
	}
}
