package cfacts

import (
	"regexp"
	"slices"
	"strconv"
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
