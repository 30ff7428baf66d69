package kernelfile

import (
	"slices"

	"triad/internal/op"
)

// vectorLengths maps the pointers of a function to the size parameter that bounds the single variable that
// they are indexed with, in its lines and those of the kernels it launches: M of "if (row < M) y[row] = sum".
// A pointer whose variable is compared with several sizes is left out, and so is one whose bound the function
// computes: N of "N = B * T" is no parameter.
func (f *File) vectorLengths(fn *Function) map[string]string {
	found := map[string][]string{}
	f.collectVectors(fn, func(name string) string { return name }, found, 0)
	lengths := map[string]string{}
	for pointer, names := range found {
		parameter := func(p Param) bool { return p.isInteger() && p.Name == names[0] }
		if len(names) == 1 && slices.ContainsFunc(fn.Params, parameter) {
			lengths[pointer] = names[0]
		}
	}
	return lengths
}

// collectVectors adds the sizes that the lines of a function show; name is as in collectRows.
func (f *File) collectVectors(fn *Function, name func(string) string, found map[string][]string, depth int) {
	sizes := func(word string) bool {
		return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.isInteger() && p.Name == word })
	}
	for _, p := range fn.Params {
		pointer := name(p.Name)
		if !p.Pointer || pointer == "" {
			continue
		}
		for i := 0; i+1 < len(fn.body); i++ {
			if fn.body[i].text != p.Name || fn.body[i+1].text != "[" {
				continue
			}
			for _, size := range boundsOf(fn.body, lone(inside(fn.body, i+1)), sizes) {
				if size = name(size); size != "" && !slices.Contains(found[pointer], size) {
					found[pointer] = append(found[pointer], size)
				}
			}
		}
	}
	if depth >= 3 {
		return
	}
	for i := range fn.body {
		if callee, handed := f.handed(fn, i, name); callee != nil {
			f.collectVectors(callee, func(word string) string { return handed[word] }, found, depth+1)
		}
	}
}

// boundsOf lists the sizes that a variable is compared with and stays below: M of "row < M" and "row >= M".
func boundsOf(body []token, variable string, size func(string) bool) (all []string) {
	if variable == "" {
		return nil
	}
	ends := []string{")", ";", "&&", "||", "?", ",", "&", "|"}
	for i := 1; i+3 < len(body); i++ {
		sign, bound := body[i+1].text, body[i+2].text
		compared := body[i].text == variable && (sign == "<" || sign == ">=") && size(bound)
		if compared && slices.Contains(ends, body[i+3].text) && !slices.Contains(all, bound) {
			all = append(all, bound)
		}
	}
	return all
}

// fitsVector reports, like fitsRows for rows, whether a pointer that stands for a tensor of one dim is as
// long as the tensor.
func (b *Binding) fitsVector(
	pointer string,
	role Role,
	index int,
	target func(string) string,
) (fits, known bool) {
	length, shown := b.vectors[pointer]
	if !shown || role != Input && role != Output {
		return false, false
	}
	tensor := b.inputs
	if role == Output {
		tensor = b.outputs
	}
	list := b.shape(tensor[index])
	if len(list) != 1 {
		return false, false
	}
	dim, _ := list[0].(string)
	if !slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == dim }) {
		return false, false
	}
	return slices.Contains(dimsOf(target(length)), dim), true
}

// shownByVectors reports whether a size is the length of a vector, and of every vector whose index it bounds.
func (b *Binding) shownByVectors(size string) bool {
	shown := false
	for _, a := range b.Args {
		if b.vectors[a.Name] != size {
			continue
		}
		fits, known := b.fitsVector(a.Name, a.Role, a.Index, b.sizeTarget)
		if known && !fits {
			return false
		}
		shown = shown || known
	}
	return shown
}
