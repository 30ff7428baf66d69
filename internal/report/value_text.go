package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// value formats a judged number with nine digits, which distinguish all fp32 numbers; an integer, such as an
// element of an integer dtype, with all of its digits.
func value(f record.Float) string {
	if f.Class() != "finite" {
		return strings.Replace(f.Class(), "nan", "NaN", 1)
	}
	if x := float64(f); math.Abs(x) >= 1e9 && math.Abs(x) < 1<<53 && x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(f), 'g', 9, 64)
}

// figure formats a measure with three digits; "" if there is none.
func figure(f *record.Float) string {
	if f == nil {
		return ""
	}
	if v := float64(*f); !math.IsInf(v, 0) && !math.IsNaN(v) && v != 0 && math.Abs(v) >= 1e-3 &&
		math.Abs(v) < 1e6 {
		digits := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
		words := strconv.FormatFloat(v, 'f', digits, 64)
		if strings.Contains(words, ".") {
			words = strings.TrimRight(strings.TrimRight(words, "0"), ".")
		}
		return words
	}
	if f.Class() != "finite" {
		return value(*f)
	}
	return strconv.FormatFloat(float64(*f), 'g', 3, 64)
}

// element formats an index: y[3, 999].
func element(output string, index []int64) string {
	parts := make([]string, len(index))
	for i, x := range index {
		parts[i] = strconv.FormatInt(x, 10)
	}
	return output + "[" + strings.Join(parts, ",") + "]"
}

// caseWords describes a case after its operator, pass and dtype: sizes, attributes, then what differs from
// the usual.
func caseWords(c op.Case) string {
	var words []string
	for _, d := range c.Dims {
		words = append(words, fmt.Sprintf("%s=%d", d.Name, d.Value))
	}
	for _, a := range c.Attrs {
		words = append(words, a.Name+"="+a.Text)
	}
	words = append(words, c.Distribution)
	if c.Layout != "contiguous" {
		words = append(words, c.Layout)
	}
	if c.Upstream != "" {
		words = append(words, "upstream "+c.Upstream)
	}
	if c.Saved != "" {
		words = append(words, "saved by "+c.Saved)
	}
	return strings.Join(words, " ")
}

// counted returns "1 run", "2 runs".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// status returns a status in the colour of its weight.
func (s Style) status(status op.Status) string {
	switch status.Weight() {
	case op.Good:
		return s.paint(good, status.String())
	case op.Neutral:
		return s.paint(mild, status.String())
	}
	return s.paint(bad, status.String())
}

// whereParts returns what is known of a place in a kernel, from the kernel to the line.
func whereParts(w *record.Where) []string {
	if w == nil {
		return nil
	}
	var parts []string
	if w.Kernel != "" {
		parts = append(parts, "kernel "+w.Kernel)
	}
	if w.Block != nil {
		parts = append(parts, fmt.Sprintf("block (%d, %d, %d)", w.Block[0], w.Block[1], w.Block[2]))
	}
	if w.Thread != nil {
		parts = append(parts, fmt.Sprintf("thread (%d, %d, %d)", w.Thread[0], w.Thread[1], w.Thread[2]))
	}
	if w.File != "" {
		place := w.File
		if w.Line > 0 {
			place += ":" + strconv.Itoa(w.Line)
		}
		parts = append(parts, place)
	}
	return parts
}

// whereWords describes the place in a kernel, as far as it is known.
func whereWords(w *record.Where) string { return clean(strings.Join(whereParts(w), ", ")) }

// whereBeyond is whereWords without what a message already says.
func whereBeyond(message string, w *record.Where) string {
	packed := func(s string) string { return strings.ReplaceAll(s, " ", "") }
	parts := slices.DeleteFunc(whereParts(w),
		func(part string) bool { return strings.Contains(packed(message), packed(part)) })
	return clean(strings.Join(parts, ", "))
}

// verdictWords returns what is wrong with an output, in the judge's words, or its verdict.
func verdictWords(v record.Verdict) string {
	if v.Worst == nil || v.NWrong == 0 || v.Gate == "G0" || v.Gate == "G6" || v.Gate == "G7" {
		// it was not rejected by a comparison of single elements: it has its own words
		words := clean(v.Message)
		if strings.HasPrefix(words, v.Name+"[") || strings.HasPrefix(words, v.Name+" ") ||
			strings.HasPrefix(words, v.Name+":") {
			return words
		}
		return v.Name + ": " + words
	}
	e := v.Worst
	accepted := fmt.Sprintf("accepted is %s to %s", value(e.Low), value(e.High))
	if e.Want.Class() == "nan" || e.Low == e.High {
		accepted = "accepted is that alone"
	}
	words := fmt.Sprintf("%s is %s, want %s, %s; %s (%s)", element(v.Name, e.Index), value(e.Got),
		value(e.Want), accepted, judge.ElementsThat(v.NWrong, v.NCompared, "is wrong", "are wrong"), v.Gate)
	if v.Pattern != "" {
		words += "; " + clean(v.Pattern)
	}
	return words
}
