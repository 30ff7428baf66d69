package cfacts

import (
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	cComment      = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	PythonComment = regexp.MustCompile(`#[^\n]*`)
	realNumber    = regexp.MustCompile(`(?:^|[^\w.])((?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?)`)
)

// WithoutPythonComments returns a Python text without its comments.
func WithoutPythonComments(text string) string { return PythonComment.ReplaceAllString(text, "") }

// doubleNumber matches a number of C++ that has no f at its end.
var doubleNumber = regexp.MustCompile(
	`(?:^|[^\w.])((?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+)(?:[^\w.]|$)`)

// doubles returns the numbers of a CUDA text that are doubles and change when rounded to fp32.
func doubles(text string) []float64 {
	var all []float64
	for _, found := range doubleNumber.FindAllStringSubmatch(cComment.ReplaceAllString(text, " "), -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err == nil && float64(float32(n)) != n {
			all = append(all, n)
		}
	}
	return all
}

// WithSingles returns a CUDA text in which the numbers with some values are floats: 0.01 becomes 0.01f.
func WithSingles(text string, values []float64) string {
	for range 2 { // of two with one sign between them the first match takes that
		text = doubleNumber.ReplaceAllStringFunc(text, func(found string) string {
			at := doubleNumber.FindStringSubmatchIndex(found)
			n, err := strconv.ParseFloat(found[at[2]:at[3]], 64)
			if err != nil || !slices.Contains(values, n) {
				return found
			}
			return found[:at[3]] + "f" + found[at[3]:]
		})
	}
	return text
}

// Literals returns the numbers of a text outside of its comments, each once.
func Literals(comment *regexp.Regexp, text string) []float64 {
	var all []float64
	known := map[float64]bool{} // a table may have a million of them
	for _, found := range realNumber.FindAllStringSubmatch(comment.ReplaceAllString(text, " "), -1) {
		n, err := strconv.ParseFloat(found[1], 64)
		if err == nil && !known[n] {
			known[n] = true
			all = append(all, n)
		}
	}
	return all
}

// Constant returns the number that a name stands for, and the name that defines it: of "const int HIGH =
// WIDE" that is WIDE.
func (f *File) Constant(name string) (root string, value int64, ok bool) {
	for range maxConstants {
		text, defined := f.Defines[name]
		if !defined {
			return name, 0, false
		}
		if n, known := IntegerValue(text); known {
			return name, n, true
		}
		name = strings.Trim(text, "() ")
	}
	return name, 0, false
}

// IntegerValue returns the value of an integer expression such as "(1 << 20)". One with operators of bits and
// others has another order of precedence in Go than in C++.
func IntegerValue(text string) (int64, bool) {
	text = wholeSuffix.ReplaceAllString(text, "$1")
	if strings.ContainsAny(text, "<>&|^") && strings.ContainsAny(text, "+-*/%") {
		return 0, false
	}
	value, err := types.Eval(token.NewFileSet(), nil, token.NoPos, text)
	if err != nil || value.Value == nil || value.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value.Value)
}
