package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/pyfacts"
)

// readExtents keeps, of the enumerations without a parameter that decide whether a tensor has one element,
// the value that the lines show by how they index it: "scale[row]" has more than one, "scale[0]" one.
func (b *Binding) readExtents() {
	for _, a := range b.Spec.Attributes {
		if a.Type != "enum" || b.has(Attribute, a.Name) || b.Options.Attrs[a.Name] != "" {
			continue
		}
		if value := b.valueOfMany(a); value != "" && b.Function.Kind == cfacts.Python && b.givesMany(a) {
			b.named[a.Name] = value
		}
		if len(a.Values) != 2 {
			continue
		}
		if b.Function.Kind == cfacts.Python {
			b.extentInPython(a)
			continue
		}
		for _, arg := range b.Args {
			if arg.Role != Output || arg.Adapter != layout.AsItLies || len(b.places[arg.Name]) == 0 {
				continue
			}
			if one, decides := b.oneElement(b.outputs[arg.Index], a.Name); decides {
				value := one
				if b.indexed(arg.Name) {
					value = 1 - one
				}
				b.named[a.Name] = a.Values[value]
			}
		}
	}
}

// lastSize matches the arguments of an extreme that is taken over a row.
var lastSize = regexp.MustCompile(
	`^(?:(?:dim|axis)\s*=\s*)?-?1(?:\s*,\s*(?:keepdim\s*=\s*)?(?:True|False))?$`)

// extentInPython keeps the value of an enumeration that the lines of a Python function show: each extreme is
// taken over a row, x.abs().amax(dim=-1), or each over the whole tensor, x.abs().max(). A function that takes
// others as well, or makes its output with another number of elements, shows nothing.
func (b *Binding) extentInPython(a op.AttributeSpec) {
	at := slices.IndexFunc(b.outputs, func(t op.TensorSpec) bool {
		_, decides := b.oneElement(t, a.Name)
		return decides && !t.Optional
	})
	if at < 0 {
		return
	}
	one, _ := b.oneElement(b.outputs[at], a.Name)
	ofRows, ofAll, others := 0, 0, 0
	for _, arguments := range b.Function.Parsed().Extremes {
		switch {
		case lastSize.MatchString(arguments):
			ofRows++
		case arguments == "":
			ofAll++
		case strings.Contains(arguments, "dim") || strings.Contains(arguments, "axis"):
			others++
		}
	}
	switch made := b.madeExtent(b.outputs[at]); {
	case others > 0 || ofRows > 0 && ofAll > 0:
	case ofAll > 0 && made == extentMany || ofRows > 0 && made == extentOne:
	case ofRows > 0, made == extentMany:
		b.named[a.Name] = a.Values[1-one]
	case ofAll > 0, made == extentOne:
		b.named[a.Name] = a.Values[one]
	}
}

// What the lines say about the number of elements that a tensor is made with.
const (
	extentUnstated = iota
	extentOne
	extentMany
)

// madeExtent returns the extent of an output that is returned by its name: many for torch.empty((M, 1)), one
// for torch.empty(1).
func (b *Binding) madeExtent(t op.TensorSpec) int {
	names := b.returnedNames()
	place := b.returnedAs(t, names)
	if place < 0 {
		return extentUnstated
	}
	return b.extentOf(names[place])
}

// extentOf returns the extent of the tensor that the lines make under a name.
func (b *Binding) extentOf(name string) int {
	switch made := b.Function.Parsed().Made[name]; {
	case made.Many:
		return extentMany
	case made.One:
		return extentOne
	}
	return extentUnstated
}

// valueOfMany returns the only value of an enumeration under which the output that depends on it has more
// than one element: reduction=none; "" if none or several are such.
func (b *Binding) valueOfMany(a op.AttributeSpec) (many string) {
	for _, t := range b.dependingOn(a) {
		by, _ := t.Shape.(map[string]any)
		values, _ := by[a.Name].(map[string]any)
		for _, value := range a.Values {
			list, _ := values[value].([]any)
			if len(list) == 1 && list[0] != any("1") {
				if many != "" && many != value {
					return ""
				}
				many = value
			}
		}
	}
	return many
}

// dependingOn returns the tensors of the pass whose sizes an enumeration chooses.
func (b *Binding) dependingOn(a op.AttributeSpec) (all []op.TensorSpec) {
	for _, t := range slices.Concat(b.inputs, b.outputs) {
		if by, _ := t.Shape.(map[string]any); by[a.Name] != nil {
			all = append(all, t)
		}
	}
	return all
}

// givesMany reports whether the lines of a Python function show that the tensor which depends on an
// enumeration has an element for each row: a kernel addresses it by its program id alone, "loss_ptr + row",
// or it is made so, "loss = torch.empty(rows)", and returned unchanged.
func (b *Binding) givesMany(a op.AttributeSpec) bool {
	for _, t := range b.dependingOn(a) {
		if b.Function.Form == kernelForm {
			at := slices.IndexFunc(b.Args, func(a Argument) bool {
				return (a.Role == Input || a.Role == Output) && a.Target == t.Name
			})
			if at >= 0 && b.Function.FactsOf(b.Args[at].Name).ByProgram {
				return true
			}
			continue
		}
		name := b.Function.Parsed().Result
		if name == "" || b.Function.Parsed().Returns != 1 ||
			!slices.ContainsFunc(b.outputs, func(o op.TensorSpec) bool { return o.Name == t.Name }) {
			continue
		}
		many := b.extentOf(name) == extentMany || b.madeLikeRows(name)
		if many && b.Function.Parsed().Made[name].Times < 2 {
			return true
		}
	}
	return false
}

// madeLikeRows reports whether the lines make a tensor like an input that has one dimension, longer than 1:
// "losses = torch.empty_like(target)".
func (b *Binding) madeLikeRows(name string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		if a.Role != Input || a.Name != b.Function.Parsed().Made[name].Like {
			return false
		}
		shape := b.shape(b.inputs[a.Index])
		return len(shape) == 1 && shape[0] != any("1")
	})
}

// indexed reports whether a place of a tensor is used that is not its first.
func (b *Binding) indexed(name string) bool {
	for _, place := range b.places[name] {
		if _, index, _ := strings.Cut(place, ": "); index != "0" {
			return true
		}
	}
	return false
}

// oneElement returns the index of the value of an enumeration under which a tensor has one element, if it has
// more under the other.
func (b *Binding) oneElement(t op.TensorSpec, attribute string) (value int, decides bool) {
	list := b.shape(t)
	if len(list) != 1 {
		return 0, false
	}
	text, _ := list[0].(string)
	e, err := op.ParseExpression(text, func(string) bool { return true }, false)
	if err != nil || !strings.Contains(text, attribute) {
		return 0, false
	}
	var extents [2]int64
	for value := range extents {
		extents[value], err = e.Int(func(name string) (int64, bool) {
			switch {
			case name == attribute:
				return int64(value), true
			case b.isDim(name):
				return 7, true
			}
			return 0, true
		})
		if err != nil {
			return 0, false
		}
	}
	switch {
	case extents[0] == 1 && extents[1] > 1:
		return 0, true
	case extents[1] == 1 && extents[0] > 1:
		return 1, true
	}
	return 0, false
}

// takeRank gives a Python function tensors of the rank that its lines show: without the first size, if that
// has no parameter and is 1 by default or counts rows, or with additional leading ones, which are 1.
func (b *Binding) takeRank() {
	said, rank := b.statedRank()
	if b.Function.Kind != cfacts.Python || b.Function.Form == kernelForm || said == 0 ||
		len(b.Options.Without) > 0 || b.sharesMatrix(said, rank) || said == rank || b.takesSizes() {
		return
	}
	first, _ := b.shape(b.inputs[0])[0].(string)
	switch {
	case said > rank && (said == rank+1 && rank <= 2 || rank == 1):
		b.Options.Leading = said - rank
	case said == 1 && rank == 2 && !b.givesSize(first), said == rank-1 && b.defaultsToOne(first):
		b.Options.Without = []string{first}
	}
}

// sharesMatrix gives a function one matrix for all matrices of a batch if its lines show another input to
// have one size less than the first, and reports whether it did: a[i, j, k] with b[k, n] is the product of
// one matrix, whose rows are the first two sizes of a.
func (b *Binding) sharesMatrix(said, rank int) bool {
	shape := b.shape(b.inputs[0])
	if said != rank || rank != 3 || b.takesSizes() {
		return false
	}
	batch, _ := shape[0].(string)
	rows, _ := shape[1].(string)
	if !b.defaultsToOne(batch) || !b.isDim(rows) {
		return false
	}
	shared := slices.ContainsFunc(b.Args, func(a Argument) bool {
		if a.Role != Input || a.Index == 0 || a.Adapter != layout.AsItLies || a.Place != cfacts.InCall {
			return false
		}
		sizes := b.shape(b.inputs[a.Index])
		return len(sizes) == rank && sizes[0] == any(batch) && !slices.Contains(sizes, any(rows)) &&
			b.rankStatedBy(b.Function, a.Name, rank, asksDepth) == rank-1
	})
	if shared {
		b.Options.Without, b.Options.Split = []string{batch}, rows
	}
	return shared
}

// defaultsToOne reports whether a size without a parameter is 1 by default.
func (b *Binding) defaultsToOne(dim string) bool {
	return !b.givesSize(dim) && slices.ContainsFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return d.Name == dim && d.Default == "1"
	})
}

// givesNone reports whether there are such sizes and the function has no parameter for any of them.
func (b *Binding) givesNone(sizes []string) bool {
	return len(sizes) > 0 && !slices.ContainsFunc(sizes, b.givesSize)
}

// withoutHeads returns the sizes missing from tensors of a batch without heads, if an operator has both: each
// part of the batch is treated like a head.
func (b *Binding) withoutHeads() []string {
	if flat := b.Spec.Own.Flat; b.Spec.Own.TokenSize != "" && len(flat) > 1 {
		return flat[1:]
	}
	return nil
}

// statedRank returns the rank that the function's lines give its first tensor and the operator's rank. said
// is 0 if the lines say nothing or contradict each other.
func (b *Binding) statedRank() (said, rank int) {
	first := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && a.Index == 0 && a.Adapter == layout.AsItLies && a.Place == cfacts.InCall
	})
	if rank = len(b.shape(b.inputs[0])); first < 0 || rank == 0 {
		return 0, rank
	}
	if said = b.rankStatedBy(b.Function, b.Args[first].Name, rank, asksDepth); said == 0 {
		said = b.rankOfOthers(rank)
	}
	return max(said, 0), rank
}

// rankOfOthers returns the rank that the lines give another tensor of the same first size and rank, 0 if they
// say nothing or contradict each other: "a.view(-1, a.shape[-1])" takes an a of any rank.
func (b *Binding) rankOfOthers(rank int) (said int) {
	like := b.shape(b.inputs[0])
	for _, a := range b.Args {
		if a.Role != Input || a.Index == 0 || a.Adapter != layout.AsItLies || a.Place != cfacts.InCall {
			continue
		}
		shape := b.shape(b.inputs[a.Index])
		if len(shape) != rank || shape[0] != like[0] || b.inputs[a.Index].Optional {
			continue
		}
		n := b.rankStatedBy(b.Function, a.Name, rank, asksDepth)
		if n < 0 || n > 0 && said > 0 && n != said {
			return 0
		}
		said = max(said, n)
	}
	return said
}

// rankStatedBy returns the rank that the lines of a function give a tensor, 0 if they say nothing, -1 if they
// contradict each other. If the function itself says nothing, functions of the file that receive the tensor
// are examined.
func (b *Binding) rankStatedBy(fn cfacts.Function, name string, rank, depth int) (said int) {
	asked := fn.FactsOf(name)
	if said = asked.Rank; said == 0 && depth > 0 {
		said = b.rankStatedInside(fn, asked.Handed, rank, depth)
	}
	if said == 0 && asked.Reach > rank { // a size beyond the operator's is queried, whatever is given
		return asked.Reach
	}
	return said
}

// rankStatedInside returns the rank that functions of the file give a tensor that a function passes to them.
func (b *Binding) rankStatedInside(fn cfacts.Function, handed []pyfacts.Handed, rank, depth int) int {
	for _, h := range handed {
		other, param := b.handedTo(fn, h)
		if other == nil || other.Form == kernelForm || other.Form == moduleForm {
			continue
		}
		if n := b.rankStatedBy(*other, param, rank, depth-1); n != 0 {
			return n
		}
	}
	return 0
}

// leading returns the number of leading ones that a tensor of these sizes gets. Vectors next to a matrix get
// none, and two factors of a size take the place of one.
func (b *Binding) leading(sizes []any) int {
	if rank := len(b.shape(b.inputs[0])); b.Options.Leading == 0 || len(sizes) == 0 ||
		rank > 1 && len(sizes) < 2 || rank == 1 && !b.isDim(fmt.Sprint(sizes[0])) {
		return 0
	}
	if len(sizes) == 1 && b.hasFactors(fmt.Sprint(sizes[0])) {
		return b.Options.Leading - 1
	}
	return b.Options.Leading
}

// perhapsWithout lists the sizes that the tensors of a Python function without sizes may lack.
func (b *Binding) perhapsWithout() (all [][]string) {
	if b.Function.Kind != cfacts.Python || b.takesSizes() || b.Options.said != nil {
		return nil
	}
	shape := b.shape(b.inputs[0])
	if first, _ := shape[0].(string); len(shape) > 2 && b.defaultsToOne(first) {
		all = append(all, []string{first})
	}
	for _, sizes := range [][]string{b.Spec.Own.Flat, b.withoutHeads()} {
		if b.givesNone(sizes) {
			all = append(all, sizes)
		}
	}
	return slices.DeleteFunc(all, func(sizes []string) bool { return slices.Equal(sizes, b.Options.Without) })
}
