package params

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// GuessedParameters returns the parameters with names that say too little, and what they were taken for.
func GuessedParameters(b *binding.Binding) (words, parameters []string) {
	onlyInput := len(b.Args) == 1 && len(b.InputSpecs) == 1 && b.Function.MayReturn() // under whatever name
	for _, a := range b.Args {
		matched := a.Role == binding.Input || a.Role == binding.Output || a.Role == binding.Size ||
			a.Role == binding.Attribute
		_, stride := strideOf(a.Name)
		named := match.Score(b.Spec, b.Pass, a.Name, a.Target) > match.Weak || byElimination(b, a) ||
			a.Over != "" && match.Score(b.Spec, b.Pass, a.Name, a.Over) > match.Weak ||
			a.Role == binding.Output && b.ScoreOutput(a.Param, a.Target) > match.Weak
		clear := stride || named && !b.Open[a.Name] && !b.Contrary(a) || extents.ShownByRows(b, a) ||
			a.Adapter != layout.AsItLies && a.Adapter != layout.Narrow ||
			adapters.OnlyTensor(b, a) || onlyInput && a.Role == binding.Input || shownByWrites(b, a) ||
			b.Squared[a.Name] && strings.Contains(a.Target, "=") ||
			a.Share > 0 && adapters.Multiplied(b, a, binding.Size) ||
			a.Role == binding.Size && b.IsShapeOfWeights(a.Param) || strings.HasPrefix(a.Target, "2 *") ||
			a.Role == binding.Size && len(b.Spec.Dims) == 1 &&
				adapters.CountSizes(b) == 1 // there is no other meaning
		if b.Stated(a) || b.WrittenAlone(a.Param) || !matched || clear || a.Optional {
			continue
		}
		words = append(words, fmt.Sprintf("%s is %s", a.Name, a.Target))
		parameters = append(parameters, a.Name)
	}
	return words, parameters
}

// Unclear reports whether the names of some parameters do not say what they stand for.
func Unclear(b *binding.Binding) bool { words, _ := GuessedParameters(b); return words != nil }

// shownByWrites reports whether the lines of a function show which of its two pointers is the operator's only
// input and which its only output: they write one of them.
func shownByWrites(b *binding.Binding, a binding.Argument) bool {
	if b.Function.Kind == cfacts.Python || len(b.InputSpecs) != 1 || len(b.OutputSpecs) != 1 {
		return false
	}
	var pointers, written []string
	for _, p := range b.Function.Params {
		if p.Pointer {
			pointers = append(pointers, p.Name)
		}
		if p.Writing.Any() {
			written = append(written, p.Name)
		}
	}
	return len(pointers) == 2 && len(written) == 1 && a.Pointer &&
		(a.Role == binding.Output) == a.Writing.Any()
}

// byElimination reports whether a weakly matching size name is unambiguous because every better match is
// taken by a parameter whose name cannot stand for this one. In (N, D) the D is the columns, so N is the
// rows.
func byElimination(b *binding.Binding, a binding.Argument) bool {
	if a.Role != binding.Size || match.Score(b.Spec, b.Pass, a.Name, a.Target) == 0 {
		return false
	}
	better := 0
	for _, d := range b.Spec.Dims {
		if d.Name == a.Target || match.Score(b.Spec, b.Pass, a.Name, d.Name) <= match.Weak {
			continue
		}
		better++
		fixed := func(o binding.Argument) bool {
			return o.Role == binding.Size && o.Target == d.Name && o.Name != a.Name &&
				b.Score(o.Param, a.Target) == 0 && b.Score(o.Param, d.Name) > match.Weak
		}
		if !slices.ContainsFunc(b.Args, fixed) {
			return false
		}
	}
	return better > 0
}
