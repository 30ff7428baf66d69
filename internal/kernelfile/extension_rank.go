package kernelfile

import (
	"fmt"
	"slices"
	"strconv"

	"triad/internal/op"
)

// withoutFirst says whether an extension takes its tensors without the first size of the operator's, which is
// 1 and has no parameter: of a product of matrices without the batch. Its lines ask each of those tensors for
// the sizes of one with one size less, a.size(0) and a.size(1), and none for more; a check of its number
// of sizes, a.dim() == 2, says it too.
func (b *Binding) withoutFirst() bool {
	if !b.extension || b.Function.Kind != Host {
		return false
	}
	shape := b.shape(b.inputs[0])
	if len(shape) < 3 {
		return false
	}
	first, _ := shape[0].(string)
	i := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == first })
	if i < 0 || b.Spec.Dims[i].Default != "1" || b.givesSize(first) {
		return false
	}
	asked := false
	for _, a := range b.Args {
		if !a.tensor || a.Form != AsItLies || a.Role != Input && a.Role != Output {
			continue
		}
		sizes := b.shape(b.tensor(a))
		if !b.beginsWith(sizes, first) {
			continue
		}
		most, dim := b.Function.mostAsked(a.Name)
		if most >= len(sizes)-1 || dim > 0 && dim != len(sizes)-1 {
			return false
		}
		asked = asked || most == len(sizes)-2 || dim > 0
	}
	return asked
}

// beginsWith says whether the first of several sizes is this one.
func (b *Binding) beginsWith(sizes []any, first string) bool {
	return len(sizes) > 1 && sizes[0] == any(first)
}

// extensionTensor is the C++ of a tensor that an extension is handed.
func (b *Binding) extensionTensor(a Argument, of string) string {
	if b.withoutFirst() {
		first, _ := b.shape(b.inputs[0])[0].(string)
		if b.beginsWith(b.shape(b.tensor(a)), first) {
			return fmt.Sprintf("triad_own::without_first(triad_own::tensor(%s))", of)
		}
	}
	return fmt.Sprintf("triad_own::tensor(%s)", of)
}

// mostAsked is the last size that the lines ask a tensor for, a.size(1), -1 where they ask for none, and how
// many sizes they say that it has, a.dim() == 2, 0 where they do not. One that is counted from the end,
// a.size(-1), says nothing.
func (fn *Function) mostAsked(name string) (most, dim int) {
	most = -1
	for i := 0; i+5 < len(fn.body); i++ {
		if fn.body[i].text != name || fn.body[i+1].text != "." || fn.body[i+3].text != "(" {
			continue
		}
		switch member := fn.body[i+2].text; {
		case member == "size" || member == "stride":
			if n, err := strconv.Atoi(fn.body[i+4].text); err == nil {
				most = max(most, n)
			}
		case member == "dim" && i+6 < len(fn.body) && fn.body[i+5].text == "==":
			dim, _ = strconv.Atoi(fn.body[i+6].text)
		}
	}
	return most, dim
}
