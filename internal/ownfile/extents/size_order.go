package extents

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// ChooseOrder takes the order that a function, else its file, gives the sizes of its tensors, "B, S, H, D =
// q.shape", or (batch, seq, heads, head_dim) in a comment, unless the user gave one. Both orders give none.
func ChooseOrder(b *binding.Binding, file *cfacts.File) {
	settled := slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return a.Over != "" && b.Function.Kind != cfacts.Python || a.Adapter == layout.Packed || a.Stated &&
			slices.Contains(b.Spec.Own.Tokens, a.Target)
	})
	if len(b.Spec.Own.Tokens) == 0 || settled || b.Bshd || !MayExchange(b) || b.Pass != op.Forward {
		return
	}
	for _, own := range []bool{true, false} {
		plain, exchanged := false, false
		for _, words := range sizeLists(file, b, 4, own) {
			p, e := orderOf(b, words)
			plain, exchanged = plain || p, exchanged || e
		}
		if plain == exchanged {
			continue
		}
		b.Ordered = true
		if exchanged {
			b.LayBSHD()
		}
		return
	}
}

// MayExchange reports whether the function can be given tensors with two sizes exchanged.
func MayExchange(b *binding.Binding) bool {
	if b.Function.Kind == cfacts.Python {
		return b.Function.Form != binding.KernelForm
	}
	return !b.Function.ShowsSizes() && !b.Function.ReturnsTensors
}

var (
	// sizesOfTensor matches a list of names in brackets, as text next to a tensor gives its sizes.
	sizesOfTensor = regexp.MustCompile(`[\[(]\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)+)\s*[\])]`)
	docstring     = regexp.MustCompile(`(?s)""".*?"""|'''.*?'''`)
)

// sizeLists returns the lists of count names that a file gives the sizes of a tensor: those that a tensor of
// the function is unpacked into, and those in brackets in comments; own means in the lines of a function of
// Python alone.
func sizeLists(f *cfacts.File, b *binding.Binding, count int, own bool) [][]string {
	var all [][]string
	add := func(list string) {
		words := strings.Split(list, ",")
		if len(words) != count {
			return
		}
		for i := range words {
			words[i] = strings.TrimSpace(words[i])
		}
		all = append(all, words)
	}
	comments, text, unpacked := f.Comments, f.PythonText, f.Python.Unpacked
	if said := b.Function.Parsed(); own {
		comments, text, unpacked = nil, said.Text, said.Unpacked
	}
	if b.Function.Kind == cfacts.Python {
		comments = slices.Concat(cfacts.PythonComment.FindAllString(text, -1),
			docstring.FindAllString(text, -1))
		for _, u := range unpacked {
			named := func(tensor string) bool {
				return match.Score(b.Spec, b.Pass, u.Of, tensor) > match.Weak
			}
			taken := func(a binding.Argument) bool {
				return a.Name == u.Of && slices.Contains(b.Spec.Own.Tokens, a.Target)
			}
			if slices.ContainsFunc(b.Spec.Own.Tokens, named) || slices.ContainsFunc(b.Args, taken) {
				add(strings.Join(u.Names, ","))
			}
		}
	}
	for _, line := range comments {
		for _, m := range sizesOfTensor.FindAllStringSubmatch(line, -1) {
			add(m[1])
		}
	}
	return all
}

// orderOf reports whether four names are the sizes of a tensor in the operator's order, or with the second
// and the third exchanged. Both are false if the names do not say it.
func orderOf(b *binding.Binding, words []string) (plain, exchanged bool) {
	var at [4]int // the operator's position of the size that a name stands for; -1 for an unknown name
	for i, word := range words {
		at[i] = placeOf(b, word)
		if i != 1 && i != 2 && at[i] >= 0 && at[i] != i {
			return false, false
		}
	}
	return at[1] == 1 && at[2] == 2, at[1] == 2 && at[2] == 1
}

// placeOf returns the position, in the tensors laid out as BSHD, of the size that a name denotes most
// clearly, or -1 if there is none or two are equally clear.
func placeOf(b *binding.Binding, word string) int {
	place, best := -1, match.Weak
	for _, t := range slices.Concat(b.InputSpecs, b.OutputSpecs) {
		if !slices.Contains(b.Spec.Own.Tokens, t.Name) {
			continue
		}
		for i, size := range Shape(b, t) {
			name, _ := size.(string)
			switch clear := match.Score(b.Spec, b.Pass, word, name); {
			case clear > best:
				place, best = i, clear
			case clear == best && i != place:
				place = -1
			}
		}
	}
	return place
}

// GetsExchanged reports whether a PyTorch function gets a tensor with its second and third size exchanged;
// what it returns has the layout of what it takes.
func GetsExchanged(b *binding.Binding, t op.TensorSpec) bool {
	if b.Function.Kind != cfacts.Python || !slices.Contains(b.Spec.Own.Tokens, t.Name) {
		return false
	}
	given := b.Has(binding.Output, t.Name) || b.Has(binding.Input, t.Name)
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return a.Adapter == layout.BSHD && (a.Target == t.Name || !given && a.Role == binding.Input)
	})
}

// ExchangedSizes returns the sizes of a tensor with the second and third exchanged; merged joins the last
// two, as in [batch, seq, heads * head_dim].
func ExchangedSizes(list []any, merged bool) []any {
	if list = slices.Clone(list); len(list) > 2 {
		list[1], list[2] = list[2], list[1]
	}
	if n := len(list); merged && n > 1 {
		list = append(list[:n-2], fmt.Sprint(list[n-2])+" * "+fmt.Sprint(list[n-1]))
	}
	return list
}

// PythonView returns the Python code that turns a tensor into the one that a PyTorch function gets, of shape
// view.
func PythonView(b *binding.Binding, t op.TensorSpec, view string) string {
	if GetsExchanged(b, t) {
		return ".transpose(1, 2).reshape((" + view + ")).contiguous()"
	}
	return ".reshape((" + view + "))"
}

// namedAlike returns the sizes that the comments of a Python function name alike for two tensors: with "q:
// (B, H, T, D)" and "k: (B, H, T, D)" both have T tokens. The function is judged where they are equal.
func namedAlike(b *binding.Binding) [][]string {
	if b.Function.Kind != cfacts.Python || b.TakesSizes() {
		return nil
	}
	names := statedSizes(b)
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := binding.DimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		first, second := names[dims[0]], names[dims[1]]
		if len(first) == 1 && len(second) == 1 && first[0] == second[0] {
			groups = append(groups, dims)
		}
	}
	return groups
}

// statedSizes returns the names that the comments of a function give the sizes of the operator, each once.
func statedSizes(b *binding.Binding) map[string][]string {
	all := map[string][]string{}
	words := slices.Concat(docstring.FindAllString(b.Function.Parsed().Text, -1),
		cfacts.PythonComment.FindAllString(b.Function.Parsed().Text, -1))
	for _, line := range strings.Split(strings.Join(words, "\n"), "\n") {
		at := sizesOfTensor.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		list := strings.FieldsFunc(line[at[2]:at[3]], func(r rune) bool { return r == ',' || r == ' ' })
		for _, a := range b.Args {
			named := slices.Contains(cfacts.Words(line[:at[0]]), a.Name)
			if a.Role != binding.Input || !named {
				continue
			}
			sizes := Shape(b, b.Tensor(a))
			if a.Adapter == layout.BSHD {
				sizes = ExchangedSizes(sizes, false)
			}
			if len(sizes) != len(list) {
				continue
			}
			for i, size := range sizes {
				if dim, plain := size.(string); plain && !slices.Contains(all[dim], list[i]) {
					all[dim] = append(all[dim], list[i])
				}
			}
		}
	}
	return all
}

// CommentsSay reports whether a comment of the file names the attribute value that an interpretation changes
// to, in one of the operator's words for it: "C = A * B^T".
func CommentsSay(b *binding.Binding, other binding.Alternative) bool {
	words := b.Spec.Own.Comments[other.Attribute][other.Options.Attrs[other.Attribute]]
	if words == "" || b.File == nil {
		return false
	}
	all := binding.EachOf(strings.Fields(words), regexp.QuoteMeta)
	named := regexp.MustCompile(`(?i)(?:^|[^\w.])(?:` + strings.Join(all, "|") + `)(?:$|[^\w])`)
	return slices.ContainsFunc(b.File.Comments, named.MatchString)
}
