// Package match scores names: how well a parameter fits a word of a spec, and whether a function may be
// judged by what it is called.
package match

import (
	"slices"
	"strings"

	"triad/internal/op"
)

// Scores of a name: the spec's own, one of its synonyms (earlier ones score higher), and a weak one that has
// another meaning elsewhere.
const (
	Exact = 100
	First = 90
	Weak  = 30
)

// Snake converts a name to snake case: "numRows" becomes num_rows.
func Snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if c >= 'A' && c <= 'Z' {
			small := func(at int) bool { return at < len(name) && name[at] >= 'a' && name[at] <= 'z' }
			digit := func(at int) bool { return name[at] >= '0' && name[at] <= '9' }
			capital := func(at int) bool { return name[at] >= 'A' && name[at] <= 'Z' }
			if i > 0 && (small(i-1) || digit(i-1) || capital(i-1) && small(i+1)) {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return strings.Trim(b.String(), "_")
}

// forms returns a name in snake case, then without common prefixes and suffixes: "d_input" is also input,
// "n_rows" also rows.
func forms(name string) []string {
	s := Snake(name)
	all := []string{s}
	add := func(x string) {
		if x != "" && !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	for i := 0; i < len(all) && len(all) < 24; i++ {
		w := all[i]
		for _, prefix := range []string{
			"d_", "dev_", "device_", "gpu_", "g_", "n_", "num_", "p_", "ptr_",
			"in_", "the_", "h_", "total_", "mat_", "matrix_", "vec_", "arr_",
		} {
			if rest, ok := strings.CutPrefix(w, prefix); ok {
				add(rest)
			}
		}
		for _, suffix := range []string{
			"_d", "_dev", "_device", "_gpu", "_ptr", "_pointer", "_data", "_tensor", "_size",
			"_dim", "_len", "_count", "_matrix", "_vector", "_array", "_buf", "_f32", "_half", "_fp16",
			"_h", "_host", "_mat", "_vec", "_arr",
		} {
			if rest, ok := strings.CutSuffix(w, suffix); ok {
				add(rest)
			}
		}
		add(strings.ReplaceAll(w, "_", ""))
	}
	return all
}

// Score returns how well a parameter's name fits the spec's name target, 0 if it does not.
func Score(spec *op.Spec, pass op.Pass, name, target string) int {
	best := scoreSide(spec, name, target)
	for i, form := range forms(name) {
		best = max(best, scoreForm(spec, pass, form, target)-3*i)
	}
	return best
}

// Sides lists names of the last two sizes of a tensor, the last one second.
var Sides = [2][]string{{"rows", "row", "height", "h"}, {"cols", "columns", "col", "column", "width", "w"}}

// scoreSide returns how well a name fits a dim as a side of a tensor: numARows, a_cols, b_width.
func scoreSide(spec *op.Spec, name, dim string) int {
	for _, form := range forms(name) {
		before, side, found := cutLast(form)
		if !found {
			continue
		}
		for _, t := range spec.InputSpecs {
			shape, _ := t.Shape.([]any)
			if len(shape) < 2 || scoreForm(spec, op.Forward, before, t.Name) <= Weak {
				continue
			}
			for i, words := range Sides {
				if slices.Contains(words, side) && shape[len(shape)-2+i] == dim {
					return First
				}
			}
		}
	}
	return 0
}

// cutLast cuts a name at its last underscore.
func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return name, "", false
	}
	return name[:i], name[i+1:], true
}

// sideWords lists further names of rows and columns, for any operator.
var sideWords = map[string][]string{
	"rows": {"nrows", "row_num"}, "cols": {"columns", "column", "ncols", "ncolumns", "col_num"},
}

func scoreForm(spec *op.Spec, pass op.Pass, form, target string) int {
	if form == target || strings.ReplaceAll(form, "_", "") == strings.ReplaceAll(target, "_", "") {
		return Exact
	}
	if of, ok := strings.CutPrefix(target, "grad_"); ok {
		return scoreGradient(spec, form, of)
	}
	if slices.Contains(sideWords[target], form) {
		return First
	}
	return scoreIn(spec.Synonyms[target], form)
}

func scoreIn(words, form string) int {
	strong, weak, _ := strings.Cut(words, "|")
	if i := slices.Index(strings.Fields(strong), form); i >= 0 {
		return First - i
	}
	if i := slices.Index(strings.Fields(weak), form); i >= 0 {
		return Weak - i
	}
	return 0
}

// scoreGradient returns how well a form names the gradient of a tensor: dx, d_x, x_grad, dgamma, and for
// outputs the upstream names.
func scoreGradient(spec *op.Spec, form, of string) int {
	names := append([]string{of}, strings.Fields(strings.ReplaceAll(spec.Synonyms[of], "|", " "))...)
	for i, name := range names {
		for _, pattern := range []string{
			"grad_" + name, "d" + name, "d_" + name, name + "_grad", "g" + name,
			"grad" + name, "g_" + name, name + "_gradient",
		} {
			if form == pattern && i == 0 {
				return Exact // rather than d_o without its d_
			} else if form == pattern {
				return First - i
			}
		}
	}
	upstream := []string{"upstream", "grad", "gradient", "dl"}
	if _, output := spec.Output(of); output && slices.Contains(upstream, form) {
		return Weak
	}
	return 0
}
