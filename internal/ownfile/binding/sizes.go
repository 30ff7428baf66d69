package binding

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// MostAdded is above each number that is added only to keep a divisor from 0.
const MostAdded = 1e-2

// PlainValue returns a number in its shortest form, or "" for any other text.
func PlainValue(text string) string {
	n, err := strconv.ParseFloat(strings.TrimRight(strings.Trim(text, "() "), "fFlL"), 64)
	if err != nil {
		return ""
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}

// Words of --map for a plain number in the place of the tensor that the output is multiplied by, or of one
// that is added.
const (
	WordFactor = "factor"
	WordAddend = "addend"
)

// DimsOf returns the dims in a size: one, the factors of a product, or several equal ones.
func DimsOf(size string) []string {
	return strings.FieldsFunc(size, func(r rune) bool { return strings.ContainsRune(" *=", r) })
}

// ConstantWord returns the number that is passed for a parameter, as a word of --map.
func ConstantWord(a Argument) string {
	if a.Number != "" {
		return a.Number
	}
	return strconv.Itoa(a.Index)
}

// GivesSize reports whether a parameter stands for a dim, alone or among equal ones or factors.
func (b *Binding) GivesSize(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == Size && slices.Contains(DimsOf(a.Target), dim)
	})
}

// TakesSizes reports whether a Python function is called like a CUDA one, with sizes besides the tensors.
func (b *Binding) TakesSizes() bool {
	return slices.ContainsFunc(b.Function.Params, func(p cfacts.Param) bool {
		return p.IsInteger() && !p.Optional && p.Place == cfacts.InCall && b.Function.Form != KernelForm
	})
}

// ConstantSize returns the value that a constant of the file gives a size by its name: #define HEAD_DIM 64.
func (b *Binding) ConstantSize(file *cfacts.File, dim string) (int64, bool) {
	name := ConstantOf(file, b, dim)
	n, err := strconv.ParseInt(strings.Trim(file.Defines[name], "() "), 0, 64)
	return n, err == nil
}

// ConstantOf returns the name of the file's constant that stands for a size, or "" if there is none.
func ConstantOf(f *cfacts.File, b *Binding, dim string) string {
	for _, name := range slices.Sorted(maps.Keys(f.Defines)) {
		n, err := strconv.ParseInt(strings.Trim(f.Defines[name], "() "), 0, 64)
		if err == nil && n > 0 && match.Score(b.Spec, b.Pass, name, dim) > match.Weak {
			return name
		}
	}
	return ""
}

// GivesAnySize reports whether some parameter stands for a size.
func (b *Binding) GivesAnySize() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == Size })
}

// Fixed returns the value of a size without a parameter: the user's, else the implied one.
func (b *Binding) Fixed(dim string) (n int64, ok bool) {
	if n, ok = b.Options.Dims[dim]; ok {
		return n, !b.GivesSize(dim)
	}
	n, ok = b.Implied[dim]
	return n, ok
}
