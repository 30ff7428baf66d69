package kernelfile

import (
	"cmp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/observed"
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
	for _, of := range []func(*Binding, string, candidate, func(string) string) (bool, bool){
		(*Binding).fitsRows, (*Binding).fitsVector,
	} {
		if fits, known := of(b, pointer, c, target); known && fits {
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

// takeElements takes the only number of a function of elements, whatever its name, for the number of
// elements.
func (b *Binding) takeElements(a *Argument, numbers []int) bool {
	all := dimNames(b.Spec)
	product := strings.Join(all, " * ")
	if _, counted := b.Spec.Synonyms[product]; !counted || len(all) < 2 || len(numbers) != 1 ||
		!a.IsInteger() || b.givesAnySize() || len(b.Options.Dims) > 0 && len(b.unmatchedSizes(a.Param)) < 2 {
		return false
	}
	a.Role, a.Target = Size, product
	return true
}

// neededDims returns the sizes of an operator that a function must be given.
func (b *Binding) neededDims() (needed []string) {
	for _, d := range b.Spec.Dims {
		if d.Default == "" {
			needed = append(needed, d.Name)
		}
	}
	return needed
}

// allEqual returns the name of the equal sizes of a square, "rows = cols", or "" if there is none.
func (b *Binding) allEqual() string {
	name := strings.Join(b.neededDims(), " = ")
	if _, known := b.Spec.Synonyms[name]; !known || !strings.Contains(name, "=") {
		return ""
	}
	return name
}

// sidesOfSquare reports whether the only constant that a kernel compares with is each side of a square: the
// file multiplies it by itself, and nothing else by it.
func (b *Binding) sidesOfSquare(file *cfacts.File, found bounds) bool {
	if len(found.values) != 1 || b.allEqual() == "" {
		return false
	}
	squares := false
	for name := range found.values {
		is := func(i int) bool {
			root, _, _ := file.Constant(file.Tokens[i].Text)
			return root == name
		}
		for i := 0; i+2 < len(file.Tokens); i++ {
			squares = squares || is(i) && file.Tokens[i+1].Text == "*" && is(i+2)
		}
		body := b.Function.Body
		for i := 1; i+2 < len(body) && found.products; i++ {
			compared := isComparison(body[i-1]) && body[i].Text == name && body[i+1].Text == "*"
			if compared && body[i+2].Text != name {
				return false
			}
		}
	}
	return squares
}

// mostWork is the maximum number of steps of a case of constants; those of an emulator are slow.
const mostWork = 1 << 26

// work returns the number of steps of a case in which each element of a product is a sum as long as one of
// its sizes.
func (b *Binding) work(dims map[string]int64) int64 {
	steps := int64(1)
	for _, name := range b.neededDims() {
		steps *= min(max(dims[name], 1), mostWork+1)
		steps = min(steps, mostWork+1)
	}
	return steps
}

// scoreProduct is the score of a parameter to which callers pass a product of sizes: more than that of any
// name.
const scoreProduct = 250

// elementWords lists names of the number of all elements of a tensor.
var elementWords = strings.Fields("numel nelem nelems elements num_elements n_elements nelements " +
	"num_elems n_elems total total_elements total_size")

// countsAll reports whether a number of a function that takes more of them is that of all elements: by its
// name, or since the lines divide it by a size.
func (b *Binding) countsAll(p cfacts.Param) bool {
	size := func(name string) bool {
		return slices.ContainsFunc(b.Function.Params, func(o cfacts.Param) bool {
			return o.Name == name && o.Name != p.Name && o.IsInteger() && !countsThreads(o) &&
				slices.ContainsFunc(b.Spec.Dims,
					func(d op.DimSpec) bool { return b.score(o, d.Name) > match.Weak })
		})
	}
	named := slices.Contains(elementWords, match.Snake(p.Name)) &&
		slices.ContainsFunc(b.Function.Params, func(o cfacts.Param) bool { return size(o.Name) })
	for i, t := range b.Function.Body {
		if t.Text == p.Name && i+2 < len(b.Function.Body) && size(b.Function.Body[i+2].Text) &&
			(b.Function.Body[i+1].Text == "/" || b.Function.Body[i+1].Text == "%") {
			return true
		}
	}
	return named
}

// countedProduct returns the product of the sizes of the first input, "rows * cols", if it has two and a
// parameter is that: it counts all elements, or main() gives a kernel a number for it that is the length of a
// tensor, and one of its sizes. It returns "" otherwise.
func (b *Binding) countedProduct(p cfacts.Param) string {
	if b.file == nil || !p.IsInteger() || len(b.inputs) == 0 {
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
func (b *Binding) seenToCountAll(p cfacts.Param) bool {
	run := b.file.Observed()
	if run == nil || b.Function.Kind != cfacts.Kernel {
		return false
	}
	l := run.FirstLaunch(cfacts.LastName(b.Function.Name), len(b.Function.Params))
	if l == nil {
		return false
	}
	at := slices.IndexFunc(b.Function.Params, func(o cfacts.Param) bool { return o.Name == p.Name })
	all := l.Arguments[at].Whole
	return slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return run.Room(a) == all*max(a.Bytes, 1) && all > 0
	}) && slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return a.Kind == observed.Whole && a.Whole > 1 && a.Whole < all && all%a.Whole == 0
	})
}
