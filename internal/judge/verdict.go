package judge

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"triad/internal/op"
)

// Verdict is the result for one output. Its zero value has the unknown status and never passes.
type Verdict struct {
	Output   string
	Status   op.Status
	Gate     string // the gate that rejects or warns: "G0" ... "G7"; "" where none does
	Contract string // the contract it was judged under
	Version  string // of the judge's constants
	N        int64  // elements planned to be compared
	Compared int64  // elements compared
	Wrong    int64  // elements rejected
	Elements int64  // elements of the whole output: larger than N where it is judged by sample
	// elements that were not compared one by one, but whose rows' sums under random signs were: see Freivalds
	Covered     int64
	Worst       Element
	Worst16     []Element // the worst 16, worst first
	ErrorMargin float64   // min of (T + half an ulp of y) / |y-R|: larger is better; it never decides
	ULPMax      float64   // largest |y-R| in ulps of the dtype at R
	ULPMean     float64
	AbsoluteMax float64 // largest |y-R|; infinite where NaN or an infinity replaces another value
	RelativeMax float64 // largest |y-R| / (|R| + 1e-8)
	ULPs        Histogram
	Independent bool // G4 and G5 apply: the target is Independent
	RMS         RMS
	// the blocks of G4 that came closest to their limits, closest first; none where G4 does not apply
	Blocks    []RMS
	Bias      Bias
	Digest    string   // of the output's bytes: see tensor.Digest; "" where its values were not judged
	DType     op.DType // this and the next fields determine an interval
	Saturate  bool
	FTZ       bool
	Exact     bool
	Bits      bool
	Expected  int        // relations (G6) planned to be evaluated on this output
	Relations []Relation // their results, in the order of the plan
	Sentence  string     // why it is not PASS, in one sentence
}

// Element is one judged element: the returned value, the correctly rounded truth, and the lowest and highest
// accepted value, all as stored values of the dtype; R and T in fp64.
type Element struct {
	Index                []int64
	Got, Want, Low, High float64
	R, T                 float64
}

// Histogram counts errors in ulps: bucket 0 holds those up to half an ulp, bucket i those up to 2^(i-1) ulps,
// the last those that are larger or not finite. Elements whose truth is not finite are left out.
type Histogram [18]int64

// add puts one error into its bucket.
func (h *Histogram) add(ulps float64) {
	i := 0
	if !(ulps <= 0.5) {
		bits := math.Float64bits(ulps)
		i = int(bits>>52) - 1022
		if bits&(1<<52-1) != 0 {
			i++ // above the power of two
		}
	}
	h[min(i, len(h)-1)]++
}

// rowOrder is the order of badness in which a row takes the status of its worst output. RACE comes next to
// FAIL: the output is wrong, and the reason is known.
var rowOrder = []op.Status{
	op.StatusFail, op.StatusRace, op.StatusInconclusive, op.StatusNoPower, op.StatusDifferentContract,
	op.StatusWarn, op.StatusPass,
}

// Row returns the status of an implementation on a case: the worst of its outputs'. Optional outputs that are
// MISSING and outputs without an element are left out unless nothing else remains. A status that no output
// may have makes the row unknown, which never passes.
func Row(verdicts []Verdict) op.Status {
	worst, left := len(rowOrder), op.StatusUnknown
	for _, v := range verdicts {
		switch v.Status {
		case op.StatusMissing, op.StatusEmptyOK:
			if left != op.StatusEmptyOK {
				left = v.Status
			}
			continue
		}
		place := -1
		for i, s := range rowOrder {
			if s == v.Status {
				place = i
			}
		}
		if place < 0 {
			return op.StatusUnknown
		}
		worst = min(worst, place)
	}
	if worst < len(rowOrder) {
		return rowOrder[worst]
	}
	return left
}

// number formats a value for a table.
func number(x float64) string {
	if math.IsNaN(x) {
		return "NaN"
	}
	return strings.Replace(strconv.FormatFloat(x, 'g', 9, 64), "+Inf", "inf", 1)
}

// numberOf formats a value of a dtype: an integer with all its digits.
func numberOf(d op.DType, x float64) string {
	if d == op.DTypeUnknown || d.IsFloat() || math.IsNaN(x) {
		return number(x)
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// place formats an element's name: y[3,17].
func place(output string, index []int64) string {
	parts := make([]string, len(index))
	for i, x := range index {
		parts[i] = strconv.FormatInt(x, 10)
	}
	return output + "[" + strings.Join(parts, ",") + "]"
}

// rejected returns the sentence of an output whose elements are wrong.
func rejected(v Verdict) string {
	accepted := "accepted is " + numberOf(v.DType, v.Worst.Low) + " to " + numberOf(v.DType, v.Worst.High)
	if math.IsNaN(v.Worst.Want) || v.Worst.Low == v.Worst.High {
		accepted = "accepted is that alone"
	}
	return fmt.Sprintf("%s is %s, want %s, %s; %s",
		place(v.Output, v.Worst.Index), numberOf(v.DType, v.Worst.Got), numberOf(v.DType, v.Worst.Want),
		accepted, wrongOf(v.Wrong, v.Compared))
}

// wrongOf formats the number of wrong elements.
func wrongOf(wrong, compared int64) string {
	return ElementsThat(wrong, compared, "is wrong", "are wrong")
}

// ElementsThat counts the elements of an output of which something holds: n of all, with the verb for one and
// for more.
func ElementsThat(n, of int64, one, more string) string {
	noun, verb := "elements", more
	if of == 1 {
		noun = "element"
	}
	if n == 1 {
		verb = one
	}
	return fmt.Sprintf("%d of %d %s %s", n, of, noun, verb)
}
