package binding

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/pyfacts"
)

// Request is a parsed `--add FILE[:function][@pass]`.
type Request struct {
	Path, Function string
	Stem           string   // stands for the file in its name; "": its name without its ending
	Arguments      []string // of a template
	Pass           op.Pass  // PassUnknown: every pass the file has a function for
	Inline         bool     // the text is the CUDA of a Python file, as InlineSources gives it
	Parse          pyfacts.Parser
	Operator       string // that is asked for
}

// Implementation returns the name under which the file is judged: mine/<stem>, or mine/<stem>:<function>
// where one is named.
func (r Request) Implementation() string {
	name := "mine/" + r.Stem
	if r.Stem == "" {
		name += Stems([]string{r.Path})[0]
	}
	if r.Function != "" {
		name += ":" + r.Function
	}
	return name
}

// IsPython reports whether the file is a .py that is judged as Python.
func (r Request) IsPython() bool { return filepath.Ext(r.Path) == ".py" && !r.Inline }

// Signs begin a comment.
const (
	CUDASign   = "//"
	PythonSign = "#"
)

// Stems returns for each path the last part of the name under which its file is judged: the file's name.
// Files of the same name get as many of the folders above them as are needed to distinguish them. The
// extension belongs to the name, so that k.cu and k.py differ, even if one is judged after the other. Blanks,
// commas, quotes and characters that cannot be displayed become underscores.
func Stems(paths []string) []string {
	names := make([][]string, len(paths)) // each part of a path
	for i, path := range paths {
		names[i] = strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/"), "/")
	}
	stems, folders := make([]string, len(paths)), make([]int, len(paths))
	for {
		alike := map[string][]int{}
		for i, parts := range names {
			stem := strings.Join(parts[max(len(parts)-1-folders[i], 0):], "/")
			stems[i] = harmless.Name(stem, " \t\"\\,")
			alike[stems[i]] = append(alike[stems[i]], i)
		}
		longer := false
		for _, group := range alike {
			if !slices.ContainsFunc(group, func(i int) bool { return paths[i] != paths[group[0]] }) {
				continue
			}
			for _, i := range group {
				if folders[i]+1 < len(names[i]) {
					folders[i]++
					longer = true
				}
			}
		}
		if !longer {
			return stems
		}
	}
}

// Sign begins a comment in the language of the function.
func (b *Binding) Sign() string {
	if b.Function.Kind == cfacts.Python {
		return PythonSign
	}
	return CUDASign
}

// WithWord adds a word unless its key or value is empty.
func WithWord(words []declaration.Word, key, value string) []declaration.Word {
	if key == "" || value == "" {
		return words
	}
	return append(words, declaration.Word{Key: key, Value: value})
}

// Uncertain reports whether neither a fact nor a word of its name, only a letter, says what a parameter is.
func (b *Binding) Uncertain(name string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Name == name && !b.Stated(a) && !b.WrittenAlone(a.Param) && (match.SaysLetter(name) ||
			match.Score(b.Spec, b.Pass, name, a.Target) <= match.Weak)
	})
}

// WithLike returns parameters, and those of the same kind that are uncertain: if one of these has another
// meaning, they may have, too.
func (b *Binding) WithLike(open []string) []string {
	for _, kind := range []func(Argument) bool{
		func(a Argument) bool { return a.IsTensor() || a.Role == Nothing && (a.Pointer || a.Untyped) },
		func(a Argument) bool { return a.Role == Size && a.Share == 0 || a.Role == Nothing && a.IsInteger() },
	} {
		all := b.ArgumentsThat(kind)
		if slices.ContainsFunc(all, func(name string) bool { return slices.Contains(open, name) }) {
			open = append(open, Those(all, b.Uncertain)...)
		}
	}
	return open
}

// WithMeant follows the place of a line with open places.
const WithMeant = ", with what is meant for " + declaration.Open

// Above names the place of a line in a message.
func (b *Binding) Above() string {
	return fmt.Sprintf("above line %d of %s, %s", b.Function.Line, b.File.Name, b.Function.Name)
}

// parsed is the declaration above a function.
type Said struct {
	Line    declaration.Line
	Dims    map[string]int64
	Attrs   map[string]string
	Numbers map[string]string // of the template
	Factors map[string]string // parameters that are factors of a size together, and that
	Over    map[string]string // parameters of two tensors, and the one in whose place the other is written
}

// CheckFactors refuses parameters that the line declares as factors of a size and that are not read so.
func (b *Binding) CheckFactors() error {
	for _, a := range b.Args {
		if size := b.Options.factor(a.Name); size != "" && (a.Share == 0 || a.Target != size) {
			return b.Errorf("%s is no factor of %s, as line %d says: it is %s", a.Name, size,
				b.Options.Said.Line.At.Line, cmp.Or(a.Target, "nothing"))
		}
	}
	return nil
}

// factor returns the size that has a parameter as a factor according to the line; "" if none has.
func (o Options) factor(parameter string) string {
	if o.Said == nil {
		return ""
	}
	return o.Said.Factors[parameter]
}

func ParameterNames(fn *cfacts.Function) []string {
	return EachOf(fn.Params, func(p cfacts.Param) string { return p.Name })
}
