package shrink

import (
	"math"
	"slices"
	"strings"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
)

// brokenRelation reports whether only gate G6, the relations between calls, rejects a record.
func brokenRelation(r record.Record) bool {
	relation := func(v record.Verdict) bool { return rejects(v) && v.Gate == "G6" }
	other := func(v record.Verdict) bool { return rejects(v) && v.Gate != "G6" }
	return slices.ContainsFunc(r.Outputs, relation) && !slices.ContainsFunc(r.Outputs, other)
}

func rejects(v record.Verdict) bool { return v.Status.Weight() == op.Bad }

// exchanged returns the output of a record that holds the truth of the transposed positions, or "" if none
// does.
func exchanged(r *record.Record) string {
	if r == nil {
		return ""
	}
	for _, v := range r.Outputs {
		if strings.Contains(v.Pattern, judge.Exchanged) {
			return v.Name
		}
	}
	return ""
}

// layoutOf names the tensors of a pass with their shapes: "x [rows, cols], y [rows, cols]".
func layoutOf(spec *op.Spec, pass op.Pass) string {
	inputs, outputs := spec.Tensors(pass)
	var words []string
	for _, t := range slices.Concat(inputs, outputs) {
		words = append(words, t.Name+" "+t.ShapeText())
	}
	return strings.Join(words, ", ")
}

// sentenceOf returns the message of the first wrong output, a wrong choice before others, or of the record if
// there is none.
func sentenceOf(r record.Record) string {
	sentence := r.Message
	for _, v := range slices.Backward(r.Outputs) {
		if rejects(v) && v.Gate != "G7" {
			sentence = v.Message
		}
	}
	for _, v := range r.Outputs {
		if rejects(v) && v.Gate == "G7" {
			return v.Message
		}
	}
	return sentence
}

// farthest returns the largest error among the wrong outputs, in units in the last place, or NaN if there is
// none.
func farthest(r record.Record) float64 {
	worst := math.NaN()
	for _, v := range r.Outputs {
		if rejects(v) && v.ULPMax != nil && !(float64(*v.ULPMax) <= worst) {
			worst = float64(*v.ULPMax)
		}
	}
	return worst
}
