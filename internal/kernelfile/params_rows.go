package kernelfile

import (
	"cmp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// scoreRows is the score of a size that stands for the last dim of a tensor whose row length it is. It
// exceeds the scores of one-letter names.
const scoreRows = 300

// sizeByRows reports whether the lines of a file, rather than its name, decide what a size stands for: the
// name is a letter or uninformative.
func (b *Binding) sizeByRows(p cfacts.Param) bool {
	if len(b.rows) == 0 || !p.IsInteger() {
		return false
	}
	named := func(target string) bool { return b.score(p, target) > match.Weak }
	return !slices.ContainsFunc(attributeNames(b.Spec), named) &&
		(match.IsLetter(p.Name) || !slices.ContainsFunc(dimNames(b.Spec), named))
}

// sides returns the dims that are among the last two sizes of a tensor.
func (b *Binding) sides() []string {
	var all []string
	for _, t := range slices.Concat(b.inputs, b.outputs) {
		if list := b.shape(t); len(list) >= 2 && !t.Optional {
			for _, size := range list[len(list)-2:] {
				if name, ok := size.(string); ok && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// scoreRows scores how well an assignment fits the row lengths that the file shows.
func (b *Binding) scoreRows(chosen []candidate) int {
	sum := 0
	for i, c := range chosen {
		if c.role == Size && b.squared[b.Function.Params[i].Name] { // N of "N * N"
			if strings.Contains(c.target, "=") {
				sum += scoreRows
			} else if strings.Contains(c.target, "*") {
				sum -= scoreRows
			}
		}
		if b.countsPartToo(chosen, i) {
			sum -= scoreParts
		}
		sum += b.scoreLengths(b.Function.Params[i].Name, c, func(name string) string {
			at := slices.IndexFunc(b.Function.Params, func(p cfacts.Param) bool { return p.Name == name })
			if at < 0 || chosen[at].role != Size {
				return ""
			}
			return chosen[at].target
		})
	}
	return sum
}

// scoreParts is the cost of one of M and N counting all elements. It exceeds that of leaving sizes open,
// which are then given in their order.
const scoreParts = 5000

// countsPartToo reports whether a letter stands for two sizes of which another letter is, or may be, one:
// neither M nor N counts all elements.
func (b *Binding) countsPartToo(chosen []candidate, i int) bool {
	product := chosen[i]
	if product.role != Size || len(dimsOf(product.target)) < 2 || product.score >= 1000 ||
		!match.IsLetter(b.Function.Params[i].Name) {
		return false
	}
	for k, part := range chosen {
		p := b.Function.Params[k]
		if k == i || !match.IsLetter(p.Name) {
			continue
		}
		if part.role == Size && slices.Contains(dimsOf(product.target), part.target) ||
			part.role == Nothing && match.Snake(p.Name) == "m" && (p.IsInteger() || p.Untyped) {
			return true
		}
	}
	return false
}

// scoreLengths scores how well the meaning of a pointer fits the lengths that the file shows of it.
func (b *Binding) scoreLengths(pointer string, c candidate, target func(string) string) int {
	sum := 0
	for _, of := range []func(string, candidate, func(string) string) (bool, bool){b.fitsRows, b.fitsVector} {
		if fits, known := of(pointer, c, target); known && fits {
			sum += scoreRows
		} else if known {
			sum -= scoreRows
		}
	}
	return sum
}

// fitsRows reports whether the rows of a pointer that stands for a tensor are as long as the tensor's; target
// returns what a size stands for. known is false if the file shows no row length of the pointer.
func (b *Binding) fitsRows(pointer string, as candidate, target func(string) string) (fits, known bool) {
	length, shown := b.rows[pointer]
	if !shown || as.role != Input && as.role != Output {
		return false, false
	}
	tensor := b.tensor(Argument{Role: as.role, Index: as.index})
	last := b.lastDim(tensor)
	if last == "" {
		return false, false
	}
	stands := target(length)
	if own := b.Spec.Own; stands != "" && stands == own.TokenSize &&
		slices.Contains(own.Tokens, tensor.Name) {
		return true, true
	}
	return !strings.Contains(stands, "*") && slices.Contains(dimsOf(stands), last), true
}

// shape lists the sizes of a tensor. Sizes that depend on an attribute are those for the specified value,
// else for the default.
func (b *Binding) shape(t op.TensorSpec) []any {
	shape := t.Shape
	if a, values := b.shapedBy(t); values != nil {
		value, _ := a.Default.(string)
		shape = values[cmp.Or(b.Options.Attrs[a.Name], b.named[a.Name], value)]
	}
	list, _ := shape.([]any)
	return list
}

// shapedBy returns the attribute that the sizes of a tensor depend on, and the sizes by its values; nil if
// they depend on none.
func (b *Binding) shapedBy(t op.TensorSpec) (op.AttributeSpec, map[string]any) {
	by, _ := t.Shape.(map[string]any)
	for _, a := range b.Spec.Attributes {
		if values, is := by[a.Name].(map[string]any); is {
			return a, values
		}
	}
	return op.AttributeSpec{}, nil
}

// lastDim returns the last size of a tensor if that is a dim.
func (b *Binding) lastDim(t op.TensorSpec) string {
	list := b.shape(t)
	if len(list) < 2 {
		return ""
	}
	last, _ := list[len(list)-1].(string)
	if !b.isDim(last) {
		return ""
	}
	return last
}

// shownByRows reports whether the file shows what a size stands for: it is the row length of some tensor, or
// the one size left when every other one is.
func (b *Binding) shownByRows(a Argument) bool {
	if a.Role != Size || len(b.rows) == 0 || b.againstRows() {
		return false
	}
	shown, left := map[string]bool{}, 0
	for _, o := range b.Args { // a pointer that stands for no tensor says nothing about its sizes
		if length := b.rows[o.Name]; length != "" && (o.Role == Input || o.Role == Output) {
			shown[length] = true
		}
	}
	if len(shown) == 0 {
		return false
	}
	for _, o := range b.Args {
		if o.Role == Size && !shown[o.Name] {
			left++
		}
	}
	return shown[a.Name] || left == 1
}

// againstRows reports whether the interpretation by names does not fit the row lengths that the file
// shows. A length that bounds the index of a vector is the vector's, however a matrix is indexed.
func (b *Binding) againstRows() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		fits, known := b.fitsRows(a.Name, candidate{role: a.Role, index: a.Index}, b.sizeTarget)
		return known && !fits && !b.shownByVectors(b.rows[a.Name])
	})
}

// sizeTarget returns what a size stands for, by the name of its parameter.
func (b *Binding) sizeTarget(name string) string {
	for _, a := range b.Args {
		if a.Role == Size && a.Name == name {
			return a.Target
		}
	}
	return ""
}

// exchangeable returns the sizes whose meanings may be exchanged: those named by a letter that the file's
// lines do not decide, or all of them if the lines contradict the names.
func (b *Binding) exchangeable() (names, targets []string) {
	against := b.againstRows()
	for _, a := range b.Args {
		letter := match.IsLetter(a.Name) && !b.shownByRows(a)
		if a.Role == Size && !b.stated(a) && (letter || against) {
			names = append(names, a.Name)
			targets = append(targets, strings.ReplaceAll(a.Target, " ", ""))
		}
	}
	if len(names) < 2 {
		return nil, nil
	}
	return names, targets
}

// exchanged assigns the exchangeable sizes their targets in every other order.
func (b *Binding) exchanged() []Alternative {
	return inOtherOrders(b.exchangeable())
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
