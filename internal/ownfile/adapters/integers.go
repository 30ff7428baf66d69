package adapters

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/layout"
)

// TakeWhole reads a function of ints as one of integers where the operator has only floats: its tensors are
// converted in place before and after each call. Both types have four bytes, so the layout around the tensors
// stays as it is.
func TakeWhole(b *binding.Binding) {
	if len(b.Spec.Own.Whole) == 0 || b.Function.Kind == cfacts.Python || b.Pass != op.Forward ||
		b.Extension || slices.Contains(b.Spec.PassDTypes(b.Pass), op.I32.String()) || len(b.Unscaled) > 0 {
		return
	}
	found := false
	for _, a := range b.Args {
		if a.Role != binding.Input && a.Role != binding.Output {
			continue
		}
		element, _, ok := a.Element()
		if !ok || element != op.I32 || b.Tensor(a).DType != "" ||
			a.Adapter != layout.AsItLies && a.Adapter != layout.BlockTotals {
			return
		}
		found = true
	}
	b.Whole = found
}

// Distributions returns the distributions that the function can be judged on; nil means all.
func Distributions(b *binding.Binding) []string {
	if !b.Whole {
		return nil
	}
	return b.Spec.Own.Whole
}

// LeftOut returns the distributions that the function is judged on only if they are requested.
func LeftOut(b *binding.Binding) []string {
	if !b.MayIgnoreAll() {
		return nil
	}
	return b.Spec.Own.NoTarget
}

// wholeSentence describes how a function of ints is judged.
func wholeSentence(b *binding.Binding) string {
	return fmt.Sprintf("%s are int: %s is judged on integers (--distribution %s), which are converted "+
		"before and after each call, and that is timed", strings.Join(b.TensorParameters(), ", "),
		b.Function.Name, strings.Join(b.Spec.Own.Whole, ","))
}

// ConvertedSentences returns the notes on conversions and copies that concern more than a single tensor.
func ConvertedSentences(b *binding.Binding) (all []string) {
	if b.Whole {
		all = append(all, wholeSentence(b))
	}
	for name, attribute := range b.Spec.Own.Unread {
		if b.Has(binding.Input, name) {
			all = append(all, fmt.Sprintf("where %s is 0, which leaves %s unread, it gets no NaN and no "+
				"infinity there", attribute, name))
		}
	}
	if b.MayIgnoreAll() {
		all = append(all, fmt.Sprintf("%s (--distribution %s judges it)", binding.NoTarget,
			strings.Join(b.Spec.Own.NoTarget, ",")))
	}
	if n := extents.Leading(b, extents.Shape(b, b.InputSpecs[0])); n > 0 {
		all = append(all, fmt.Sprintf("%s gets tensors with %d more sizes of 1 in front", b.Function.Name, n))
	} else if shape := extents.Shape(b, b.InputSpecs[0]); b.Options.Leading > 0 && len(shape) == 1 {
		all = append(all, fmt.Sprintf("%s gets matrices, whose sizes are factors of %v", b.Function.Name,
			shape[0]))
	}
	if b.Returned != "" {
		all = append(all, fmt.Sprintf("%s returns %s as a number: it is copied, and that is timed",
			b.Function.Name, b.Returned))
	}
	if slices.ContainsFunc(b.Args, func(a binding.Argument) bool { return a.Host }) {
		all = append(all, b.Function.Name+" takes arrays of the host: they are copied there and back")
	}
	return all
}

// declinesInPython matches the means by which a Python function may decline a call: an assert, an exception,
// or a Triton tile, whose side is a power of two.
var declinesInPython = regexp.MustCompile(`(?m)^[ \t]*(?:assert|raise)\b|` +
	`\btl\.arange\(|\btl\.static_assert\(`)

// MayDecline reports whether a function may decline a call for its sizes: its lines or those of a kernel of
// its file assert or check something, or it returns false.
func MayDecline(b *binding.Binding) bool {
	if b.Function.Kind == cfacts.Python {
		return declinesInPython.MatchString(b.Function.Code + b.Function.Kernels)
	}
	words := b.File.Words
	if b.Extension && (strings.Contains(words, "throw") || strings.Contains(words, "torch_check")) {
		return true // a macro of the file or its includes may do so
	}
	if extents.EndsForSizes(b) {
		return true
	}
	return b.Function.Refuses || b.Asserts || slices.ContainsFunc(b.File.Tokens, func(t cfacts.Token) bool {
		return t.Text == "assert" || strings.HasPrefix(t.Text, "TORCH_CHECK")
	})
}

// AtDefaults returns the sizes without a parameter of a CUDA function that have a default; it is judged only
// with that.
func AtDefaults(b *binding.Binding) map[string]int64 {
	all := map[string]int64{}
	for _, d := range b.Spec.Dims {
		n, err := strconv.ParseInt(d.Default, 10, 64)
		if err == nil && b.Function.Kind != cfacts.Python && !b.GivesSize(d.Name) {
			all[d.Name] = n
		}
	}
	return all
}

// HostCall calls a host function of a file. A function whose assert fails declines the call, and so does one
// that returns false: it launched nothing, or reports a failure.
func HostCall(b *binding.Binding, call string) string {
	if b.Function.Refuses {
		call = fmt.Sprintf("if (!%s) {\n\t\t\tstd::fprintf(stderr, \"%%s returned false\\n\", %q);\n"+
			"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}", call, b.Function.Name)
	}
	if !b.Asserts {
		return "\t\t" + call + ";\n"
	}
	return "\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const ::triad_own::declined &) {\n" +
		"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n"
}

// SaysSizes reports whether the text of an assert names nothing but sizes: integer parameters of functions of
// the file, constants and numbers.
func SaysSizes(b *binding.Binding, text string) bool {
	sizes, named := map[string]bool{}, false
	for _, fn := range b.File.Functions {
		for _, p := range fn.Params {
			sizes[p.Name] = sizes[p.Name] || p.IsInteger()
		}
	}
	for _, word := range cfacts.Lex(text).Tokens {
		_, constant := b.File.Defines[word.Text]
		if word.IsName() && !sizes[word.Text] && !constant {
			return false
		}
		named = named || sizes[word.Text]
	}
	return named
}
