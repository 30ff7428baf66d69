package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/observed"
)

// scoreProduct is the score of a parameter to which callers pass a product of sizes: more than that of any
// name.
const scoreProduct = 250

// callOf is a place where a file calls or launches a function: at is the index of the name or of the <<<,
// open that of the argument list.
type callOf struct {
	file     *File
	at, open int
}

// callsOf returns the places where a file calls a function, or launches a kernel.
func (f *File) callsOf(name string) []callOf {
	return f.calls[lastName(name)]
}

// callsByName returns the places in the file itself: a file may have thousands of kernels.
func (f *File) callsByName() map[string][]callOf {
	calls := map[string][]callOf{}
	for i := 0; i+1 < len(f.tokens); i++ {
		if word := f.tokens[i]; word.text == "<<<" {
			name, open := launched(f.tokens, i), configurationEnd(f.tokens, i)+1
			if open < len(f.tokens) && f.tokens[open].text == "(" {
				calls[name] = append(calls[name], callOf{f, i, open})
			}
		} else if f.tokens[i+1].text == "(" {
			calls[word.text] = append(calls[word.text], callOf{f, i, i + 1})
		}
	}
	return calls
}

// elementWords lists names of the number of all elements of a tensor.
var elementWords = strings.Fields("numel nelem nelems elements num_elements n_elements nelements " +
	"num_elems n_elems total total_elements total_size")

// countsAll reports whether a number of a function that takes more of them is that of all elements: by its
// name, or since the lines divide it by a size.
func (b *Binding) countsAll(p Param) bool {
	size := func(name string) bool {
		return slices.ContainsFunc(b.Function.Params, func(o Param) bool {
			return o.Name == name && o.Name != p.Name && o.isInteger() && !o.countsThreads() &&
				slices.ContainsFunc(b.Spec.Dims,
					func(d op.DimSpec) bool { return b.score(o, d.Name) > scoreWeak })
		})
	}
	named := slices.Contains(elementWords, snake(p.Name)) &&
		slices.ContainsFunc(b.Function.Params, func(o Param) bool { return size(o.Name) })
	for i, t := range b.Function.body {
		if t.text == p.Name && i+2 < len(b.Function.body) && size(b.Function.body[i+2].text) &&
			(b.Function.body[i+1].text == "/" || b.Function.body[i+1].text == "%") {
			return true
		}
	}
	return named
}

// countedProduct returns the product of the sizes of the first input, "rows * cols", if it has two and a
// parameter is that: it counts all elements, or main() gives a kernel a number for it that is the length of a
// tensor, and one of its sizes. It returns "" otherwise.
func (b *Binding) countedProduct(p Param) string {
	if b.file == nil || !p.isInteger() || len(b.inputs) == 0 {
		return ""
	}
	dims := b.neededDims()
	if len(dims) != 2 || len(b.shape(b.inputs[0])) != 2 || !b.countsAll(p) && !b.seenToCountAll(p) {
		return ""
	}
	return strings.Join(dims, " * ")
}

// seenToCountAll reports whether main() gives a kernel the length of one of its tensors for a parameter, and
// a divisor of it for another one.
func (b *Binding) seenToCountAll(p Param) bool {
	run := b.file.observed()
	if run == nil || b.Function.Kind != Kernel {
		return false
	}
	l := run.FirstLaunch(lastName(b.Function.Name), len(b.Function.Params))
	if l == nil {
		return false
	}
	at := slices.IndexFunc(b.Function.Params, func(o Param) bool { return o.Name == p.Name })
	all := l.Arguments[at].Whole
	return slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return run.Room(a) == all*max(a.Bytes, 1) && all > 0
	}) && slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return a.Kind == observed.Whole && a.Whole > 1 && a.Whole < all && all%a.Whole == 0
	})
}
