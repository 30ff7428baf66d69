package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// takeWhole reads a function of ints as one of integers where the operator has only floats: its tensors are
// converted in place before and after each call. Both types have four bytes, so the layout around the tensors
// stays as it is.
func (b *Binding) takeWhole() {
	if len(b.Spec.Own.Whole) == 0 || b.Function.Kind == cfacts.Python || b.Pass != op.Forward ||
		b.extension ||
		slices.Contains(b.Spec.PassDTypes(b.Pass), op.I32.String()) || len(b.unscaled) > 0 {
		return
	}
	found := false
	for _, a := range b.Args {
		if a.Role != Input && a.Role != Output {
			continue
		}
		element, _, ok := a.Element()
		if !ok || element != op.I32 || b.tensor(a).DType != "" ||
			a.Adapter != layout.AsItLies && a.Adapter != layout.BlockTotals {
			return
		}
		found = true
	}
	b.whole = found
}

// Distributions returns the distributions that the function can be judged on; nil means all.
func (b *Binding) Distributions() []string {
	if !b.whole {
		return nil
	}
	return b.Spec.Own.Whole
}

// LeftOut returns the distributions that the function is judged on only if they are requested.
func (b *Binding) LeftOut() []string {
	if !b.mayIgnoreAll() {
		return nil
	}
	return b.Spec.Own.NoTarget
}

// wholeCode converts, before or after a call, the tensors of a function of ints: all that it reads, and after
// the call also what it wrote.
func (b *Binding) wholeCode(args []Argument, after bool) string {
	var code strings.Builder
	if !b.whole {
		return ""
	}
	done := map[string]bool{}
	types := "int32_t, float"
	if after {
		types = "float, int32_t"
	}
	for i, a := range args {
		tensor := b.tensorAt(a)
		written := a.Role == Output && (after || a.Over != "") && a.Adapter != layout.BlockTotals
		if a.Role != Input && !written || done[tensor] {
			continue
		}
		done[tensor] = true
		elements := b.numberCode(func(e *evaluation) int64 { return e.typeOf(a).Elements() })
		fmt.Fprintf(&code, "\ttriad_own::in_its_place<%[1]s><<<triad_own::blocks(%[3]s), 256, 0, "+
			"triad::stream_of(triad_own_call)>>>(\n\t\t%[2]s, static_cast<size_t>(%[3]s));\n", types,
			b.placeCode("void", a, i), elements)
	}
	return code.String()
}

// wholeSentence describes how a function of ints is judged.
func (b *Binding) wholeSentence() string {
	return fmt.Sprintf("%s are int: %s is judged on integers (--distribution %s), which are converted "+
		"before and after each call, and that is timed", strings.Join(b.tensorParameters(), ", "),
		b.Function.Name, strings.Join(b.Spec.Own.Whole, ","))
}

// convertedSentences returns the notes on conversions and copies that concern more than a single tensor.
func (b *Binding) convertedSentences() (all []string) {
	if b.whole {
		all = append(all, b.wholeSentence())
	}
	for name, attribute := range b.Spec.Own.Unread {
		if b.has(Input, name) {
			all = append(all, fmt.Sprintf("where %s is 0, which leaves %s unread, it gets no NaN and no "+
				"infinity there", attribute, name))
		}
	}
	if b.mayIgnoreAll() {
		all = append(all, fmt.Sprintf("%s (--distribution %s judges it)", noTarget,
			strings.Join(b.Spec.Own.NoTarget, ",")))
	}
	if n := b.leading(b.shape(b.inputs[0])); n > 0 {
		all = append(all, fmt.Sprintf("%s gets tensors with %d more sizes of 1 in front", b.Function.Name, n))
	} else if shape := b.shape(b.inputs[0]); b.Options.Leading > 0 && len(shape) == 1 {
		all = append(all, fmt.Sprintf("%s gets matrices, whose sizes are factors of %v", b.Function.Name,
			shape[0]))
	}
	if b.returned != "" {
		all = append(all, fmt.Sprintf("%s returns %s as a number: it is copied, and that is timed",
			b.Function.Name, b.returned))
	}
	if slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Host }) {
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
func (b *Binding) MayDecline() bool {
	if b.Function.Kind == cfacts.Python {
		return declinesInPython.MatchString(b.Function.Code + b.Function.Kernels)
	}
	words := b.file.Words
	if b.extension && (strings.Contains(words, "throw") || strings.Contains(words, "torch_check")) {
		return true // a macro of the file or its includes may do so
	}
	if b.EndsForSizes() {
		return true
	}
	return b.Function.Refuses || b.asserts || slices.ContainsFunc(b.file.Tokens, func(t cfacts.Token) bool {
		return t.Text == "assert" || strings.HasPrefix(t.Text, "TORCH_CHECK")
	})
}

// AtDefaults returns the sizes without a parameter of a CUDA function that have a default; it is judged only
// with that.
func (b *Binding) AtDefaults() map[string]int64 {
	all := map[string]int64{}
	for _, d := range b.Spec.Dims {
		n, err := strconv.ParseInt(d.Default, 10, 64)
		if err == nil && b.Function.Kind != cfacts.Python && !b.givesSize(d.Name) {
			all[d.Name] = n
		}
	}
	return all
}

// hostCall calls a host function of a file. A function whose assert fails declines the call, and so does one
// that returns false: it launched nothing, or reports a failure.
func (b *Binding) hostCall(call string) string {
	if b.Function.Refuses {
		call = fmt.Sprintf("if (!%s) {\n\t\t\tstd::fprintf(stderr, \"%%s returned false\\n\", %q);\n"+
			"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}", call, b.Function.Name)
	}
	if !b.asserts {
		return "\t\t" + call + ";\n"
	}
	return "\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const ::triad_own::declined &) {\n" +
		"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n"
}

// SaysSizes reports whether the text of an assert names nothing but sizes: integer parameters of functions of
// the file, constants and numbers.
func (b *Binding) SaysSizes(text string) bool {
	sizes, named := map[string]bool{}, false
	for _, fn := range b.file.Functions {
		for _, p := range fn.Params {
			sizes[p.Name] = sizes[p.Name] || p.IsInteger()
		}
	}
	for _, word := range cfacts.Lex(text).Tokens {
		_, constant := b.file.Defines[word.Text]
		if word.IsName() && !sizes[word.Text] && !constant {
			return false
		}
		named = named || sizes[word.Text]
	}
	return named
}
