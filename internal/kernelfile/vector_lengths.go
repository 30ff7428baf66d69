package kernelfile

import (
	"slices"

	"triad/internal/ownfile/cfacts"
)

// vectorLengths maps the pointers of a function to the size parameter that bounds the single variable that
// they are indexed with, in its lines and those of the kernels it launches: M of "if (row < M) y[row] = sum".
// A pointer whose variable is compared with several sizes is left out, and so is one whose bound the function
// computes: N of "N = B * T" is no parameter.
func vectorLengths(f *cfacts.File, fn *cfacts.Function) map[string]string {
	found := map[string][]string{}
	f.Walk(fn, func(fn *cfacts.Function, name func(string) string) { collectVectors(fn, name, found) })
	lengths := map[string]string{}
	for pointer, names := range found {
		if len(names) == 1 && fn.HasSize(names[0]) {
			lengths[pointer] = names[0]
		}
	}
	return lengths
}

// collectVectors adds the sizes that the lines of a function show; name is as in walk.
func collectVectors(fn *cfacts.Function, name func(string) string, found map[string][]string) {
	for _, p := range fn.Params {
		pointer := name(p.Name)
		if !p.Pointer || pointer == "" {
			continue
		}
		for i := 0; i+1 < len(fn.Body); i++ {
			if fn.Body[i].Text != p.Name || fn.Body[i+1].Text != "[" {
				continue
			}
			for _, size := range boundsOf(fn.Body, cfacts.OnlyName(cfacts.Inside(fn.Body, i+1)), fn.HasSize) {
				if size = name(size); size != "" && !slices.Contains(found[pointer], size) {
					found[pointer] = append(found[pointer], size)
				}
			}
		}
	}
}

// boundsOf lists the sizes that a variable is compared with and stays below: M of "row < M" and "row >= M".
func boundsOf(body []cfacts.Token, variable string, size func(string) bool) (all []string) {
	if variable == "" {
		return nil
	}
	ends := []string{")", ";", "&&", "||", "?", ",", "&", "|"}
	for i := 1; i+3 < len(body); i++ {
		sign, bound := body[i+1].Text, body[i+2].Text
		compared := body[i].Text == variable && (sign == "<" || sign == ">=") && size(bound)
		if compared && slices.Contains(ends, body[i+3].Text) && !slices.Contains(all, bound) {
			all = append(all, bound)
		}
	}
	return all
}

// fitsVector reports, like fitsRows for rows, whether a pointer that stands for a tensor of one dim is as
// long as the tensor.
func (b *Binding) fitsVector(pointer string, as candidate, target func(string) string) (fits, known bool) {
	length, shown := b.vectors[pointer]
	if !shown || as.role != Input && as.role != Output {
		return false, false
	}
	list := b.shape(b.tensor(Argument{Role: as.role, Index: as.index}))
	if len(list) != 1 {
		return false, false
	}
	dim, _ := list[0].(string)
	return slices.Contains(dimsOf(target(length)), dim), b.isDim(dim)
}

// shownByVectors reports whether a size is the length of a vector, and of every vector whose index it bounds.
func (b *Binding) shownByVectors(size string) bool {
	shown := false
	for _, a := range b.Args {
		if b.vectors[a.Name] != size {
			continue
		}
		fits, known := b.fitsVector(a.Name, candidate{role: a.Role, index: a.Index}, b.sizeTarget)
		if known && !fits {
			return false
		}
		shown = shown || known
	}
	return shown
}
