package kernelfile

import (
	"fmt"
	"slices"
	"strconv"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// leavesOutFirst reports whether an extension may take its tensors without the operator's first size, which
// is 1 and has no parameter: a matrix product without the batch. Its lines ask each of those tensors for the
// sizes of a tensor of one rank less, a.size(0) and a.size(1), and for no others. Sizes counted from the end,
// a.size(-1), leave it open; a check of the rank, a.dim() == 2, settles it.
func (b *Binding) leavesOutFirst() (without, sure bool) {
	if !b.extension || b.Function.Kind != cfacts.Host {
		return false, false
	}
	shape := b.shape(b.inputs[0])
	if len(shape) < 3 {
		return false, false
	}
	first, _ := shape[0].(string)
	i := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == first })
	if i < 0 || b.Spec.Dims[i].Default != "1" || b.givesSize(first) {
		return false, false
	}
	asked, open, stated := false, false, false
	for _, a := range b.Args {
		if !a.TorchTensor || a.Adapter != AsItLies || a.Role != Input && a.Role != Output {
			continue
		}
		sizes := b.shape(b.tensor(a))
		if !beginsWith(sizes, first) {
			continue
		}
		most, dim, counted := mostAsked(&b.Function, a.Name)
		if dim == len(sizes) { // a batch, beside one matrix for all of it
			continue
		}
		if most >= len(sizes)-1 || dim > 0 && dim != len(sizes)-1 {
			return false, false
		}
		side := b.Options.Square && most == 0 // of a square matrix
		asked = asked || most == len(sizes)-2 || dim > 0 || side
		open, stated = open || counted, stated || dim > 0
	}
	return asked, !open || stated
}

// beginsWith reports whether the first of several sizes is this one.
func beginsWith(sizes []any, first string) bool { return len(sizes) > 1 && sizes[0] == any(first) }

// extensionTensor returns the C++ of a tensor that is passed to an extension.
func (b *Binding) extensionTensor(a Argument, of string) string {
	if without, sure := b.leavesOutFirst(); without && sure {
		first, _ := b.shape(b.inputs[0])[0].(string)
		sizes := b.shape(b.tensor(a))
		if _, dim, _ := mostAsked(&b.Function, a.Name); beginsWith(sizes, first) && dim != len(sizes) {
			return fmt.Sprintf("triad_own::without_first(triad_own::tensor(%s))", of)
		}
	}
	return fmt.Sprintf("triad_own::tensor(%s)", of)
}

// assumedFirst returns the assumption about an extension that leaves open whether its tensors have the
// operator's first size: they are passed with it.
func (b *Binding) assumedFirst() []Assumption {
	if without, sure := b.leavesOutFirst(); !without || sure {
		return nil
	}
	first, _ := b.shape(b.inputs[0])[0].(string)
	parameters := b.tensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.stated(a)
	})
	if stated {
		return nil
	}
	return []Assumption{{Kind: GuessedForm, What: "its tensors have the size " + first, anySize: true}}
}

// mostAsked returns the last size that the lines ask a tensor for, a.size(1), -1 if they ask for none, and
// the rank that they check, a.dim() == 2, 0 if they check none. counted says that they ask for one that is
// counted from the end or is no number, a.size(-1).
func mostAsked(fn *cfacts.Function, name string) (most, dim int, counted bool) {
	most = -1
	for i := 0; i+5 < len(fn.Body); i++ {
		if fn.Body[i].Text != name || fn.Body[i+1].Text != "." || fn.Body[i+3].Text != "(" {
			continue
		}
		switch member := fn.Body[i+2].Text; {
		case member == "size" || member == "stride":
			n, err := strconv.Atoi(fn.Body[i+4].Text)
			if err == nil {
				most = max(most, n)
			}
			counted = counted || err != nil
		case member == "dim" && i+6 < len(fn.Body) && fn.Body[i+5].Text == "==":
			dim, _ = strconv.Atoi(fn.Body[i+6].Text)
		}
	}
	return most, dim, counted
}
