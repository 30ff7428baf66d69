package extents

import (
	"cmp"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/observed"
)

// RowScore is the score of a size that stands for the last dim of a tensor whose row length it is. It
// exceeds the scores of one-letter names.
const RowScore = 300

// SizeByRows reports whether the lines of a file, rather than its name, decide what a size stands for: the
// name is a letter or uninformative.
func SizeByRows(b *binding.Binding, p cfacts.Param) bool {
	if len(b.Rows) == 0 || !p.IsInteger() {
		return false
	}
	named := func(target string) bool { return b.Score(p, target) > match.Weak }
	return !slices.ContainsFunc(binding.AttributeNames(b.Spec), named) &&
		(match.IsLetter(p.Name) || !slices.ContainsFunc(binding.DimNames(b.Spec), named))
}

// Sides returns the dims that are among the last two sizes of a tensor.
func Sides(b *binding.Binding) []string {
	var all []string
	for _, t := range slices.Concat(b.InputSpecs, b.OutputSpecs) {
		if list := Shape(b, t); len(list) >= 2 && !t.Optional {
			for _, size := range list[len(list)-2:] {
				if name, ok := size.(string); ok && !slices.Contains(all, name) {
					all = append(all, name)
				}
			}
		}
	}
	return all
}

// ScoreOfRows scores how well an assignment fits the row lengths that the file shows.
func ScoreOfRows(b *binding.Binding, chosen []binding.Candidate) int {
	sum := 0
	for i, c := range chosen {
		if c.Role == binding.Size && b.Squared[b.Function.Params[i].Name] { // N of "N * N"
			if strings.Contains(c.Target, "=") {
				sum += RowScore
			} else if strings.Contains(c.Target, "*") {
				sum -= RowScore
			}
		}
		if countsPartToo(b, chosen, i) {
			sum -= scoreParts
		}
		sum += scoreLengths(b, b.Function.Params[i].Name, c, func(name string) string {
			at := slices.IndexFunc(b.Function.Params, func(p cfacts.Param) bool { return p.Name == name })
			if at < 0 || chosen[at].Role != binding.Size {
				return ""
			}
			return chosen[at].Target
		})
	}
	return sum
}

// scoreParts is the cost of one of M and N counting all elements. It exceeds that of leaving sizes open,
// which are then given in their order.
const scoreParts = 5000

// countsPartToo reports whether a letter stands for two sizes of which another letter is, or may be, one:
// neither M nor N counts all elements.
func countsPartToo(b *binding.Binding, chosen []binding.Candidate, i int) bool {
	product := chosen[i]
	if product.Role != binding.Size || len(binding.DimsOf(product.Target)) < 2 || product.Score >= 1000 ||
		!match.IsLetter(b.Function.Params[i].Name) {
		return false
	}
	for k, part := range chosen {
		p := b.Function.Params[k]
		if k == i || !match.IsLetter(p.Name) {
			continue
		}
		if part.Role == binding.Size && slices.Contains(binding.DimsOf(product.Target), part.Target) ||
			part.Role == binding.Nothing && match.Snake(p.Name) == "m" && (p.IsInteger() || p.Untyped) {
			return true
		}
	}
	return false
}

// scoreLengths scores how well the meaning of a pointer fits the lengths that the file shows of it.
func scoreLengths(b *binding.Binding, pointer string, c binding.Candidate, target func(string) string) int {
	sum := 0
	for _, of := range []func(*binding.Binding, string, binding.Candidate, func(string) string) (bool, bool){
		fitsRows, fitsVector,
	} {
		if fits, known := of(b, pointer, c, target); known && fits {
			sum += RowScore
		} else if known {
			sum -= RowScore
		}
	}
	return sum
}

// fitsRows reports whether the rows of a pointer that stands for a tensor are as long as the tensor's; target
// returns what a size stands for. known is false if the file shows no row length of the pointer.
func fitsRows(b *binding.Binding, pointer string, as binding.Candidate, target func(string) string) (
	fits, known bool,
) {
	length, shown := b.Rows[pointer]
	if !shown || as.Role != binding.Input && as.Role != binding.Output {
		return false, false
	}
	tensor := b.Tensor(binding.Argument{Role: as.Role, Index: as.Index})
	last := lastDim(b, tensor)
	if last == "" {
		return false, false
	}
	stands := target(length)
	if own := b.Spec.Own; stands != "" && stands == own.TokenSize &&
		slices.Contains(own.Tokens, tensor.Name) {
		return true, true
	}
	return !strings.Contains(stands, "*") && slices.Contains(binding.DimsOf(stands), last), true
}

// Shape lists the sizes of a tensor. Sizes that depend on an attribute are those for the specified value,
// else for the default.
func Shape(b *binding.Binding, t op.TensorSpec) []any {
	shape := t.Shape
	if a, values := ShapedBy(b, t); values != nil {
		value, _ := a.Default.(string)
		shape = values[cmp.Or(b.Options.Attrs[a.Name], b.Named[a.Name], value)]
	}
	list, _ := shape.([]any)
	return list
}

// ShapedBy returns the attribute that the sizes of a tensor depend on, and the sizes by its values; nil if
// they depend on none.
func ShapedBy(b *binding.Binding, t op.TensorSpec) (op.AttributeSpec, map[string]any) {
	by, _ := t.Shape.(map[string]any)
	for _, a := range b.Spec.Attributes {
		if values, is := by[a.Name].(map[string]any); is {
			return a, values
		}
	}
	return op.AttributeSpec{}, nil
}

// lastDim returns the last size of a tensor if that is a dim.
func lastDim(b *binding.Binding, t op.TensorSpec) string {
	list := Shape(b, t)
	if len(list) < 2 {
		return ""
	}
	last, _ := list[len(list)-1].(string)
	if !b.IsDim(last) {
		return ""
	}
	return last
}

// ShownByRows reports whether the file shows what a size stands for: it is the row length of some tensor, or
// the one size left when every other one is.
func ShownByRows(b *binding.Binding, a binding.Argument) bool {
	if a.Role != binding.Size || len(b.Rows) == 0 || againstRows(b) {
		return false
	}
	shown, left := map[string]bool{}, 0
	for _, o := range b.Args { // a pointer that stands for no tensor says nothing about its sizes
		if length := b.Rows[o.Name]; length != "" && (o.Role == binding.Input || o.Role == binding.Output) {
			shown[length] = true
		}
	}
	if len(shown) == 0 {
		return false
	}
	for _, o := range b.Args {
		if o.Role == binding.Size && !shown[o.Name] {
			left++
		}
	}
	return shown[a.Name] || left == 1
}

// againstRows reports whether the interpretation by names does not fit the row lengths that the file
// shows. A length that bounds the index of a vector is the vector's, however a matrix is indexed.
func againstRows(b *binding.Binding) bool {
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		fits, known := fitsRows(b, a.Name, binding.Candidate{Role: a.Role, Index: a.Index},
			func(name string) string { return SizeTarget(b, name) })
		return known && !fits && !shownByVectors(b, b.Rows[a.Name])
	})
}

// SizeTarget returns what a size stands for, by the name of its parameter.
func SizeTarget(b *binding.Binding, name string) string {
	for _, a := range b.Args {
		if a.Role == binding.Size && a.Name == name {
			return a.Target
		}
	}
	return ""
}

// Exchangeable returns the sizes whose meanings may be exchanged: those named by a letter that the file's
// lines do not decide, or all of them if the lines contradict the names.
func Exchangeable(b *binding.Binding) (names, targets []string) {
	against := againstRows(b)
	for _, a := range b.Args {
		letter := match.IsLetter(a.Name) && !ShownByRows(b, a)
		if a.Role == binding.Size && !b.Stated(a) && (letter || against) {
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
func fitsVector(b *binding.Binding, pointer string, as binding.Candidate, target func(string) string) (
	fits, known bool,
) {
	length, shown := b.Vectors[pointer]
	if !shown || as.Role != binding.Input && as.Role != binding.Output {
		return false, false
	}
	list := Shape(b, b.Tensor(binding.Argument{Role: as.Role, Index: as.Index}))
	if len(list) != 1 {
		return false, false
	}
	dim, _ := list[0].(string)
	return slices.Contains(binding.DimsOf(target(length)), dim), b.IsDim(dim)
}

// shownByVectors reports whether a size is the length of a vector, and of every vector whose index it bounds.
func shownByVectors(b *binding.Binding, size string) bool {
	shown := false
	for _, a := range b.Args {
		if b.Vectors[a.Name] != size {
			continue
		}
		fits, known := fitsVector(b, a.Name, binding.Candidate{Role: a.Role, Index: a.Index},
			func(name string) string { return SizeTarget(b, name) })
		if known && !fits {
			return false
		}
		shown = shown || known
	}
	return shown
}

// NeededDims returns the sizes of an operator that a function must be given.
func NeededDims(b *binding.Binding) (needed []string) {
	for _, d := range b.Spec.Dims {
		if d.Default == "" {
			needed = append(needed, d.Name)
		}
	}
	return needed
}

// AllEqual returns the name of the equal sizes of a square, "rows = cols", or "" if there is none.
func AllEqual(b *binding.Binding) string {
	name := strings.Join(NeededDims(b), " = ")
	if _, known := b.Spec.Synonyms[name]; !known || !strings.Contains(name, "=") {
		return ""
	}
	return name
}

// SidesOfSquare reports whether the only constant that a kernel compares with is each side of a square: the
// file multiplies it by itself, and nothing else by it.
func SidesOfSquare(b *binding.Binding, file *cfacts.File, found bounds) bool {
	if len(found.Values) != 1 || AllEqual(b) == "" {
		return false
	}
	squares := false
	for name := range found.Values {
		is := func(i int) bool {
			root, _, _ := file.Constant(file.Tokens[i].Text)
			return root == name
		}
		for i := 0; i+2 < len(file.Tokens); i++ {
			squares = squares || is(i) && file.Tokens[i+1].Text == "*" && is(i+2)
		}
		body := b.Function.Body
		for i := 1; i+2 < len(body) && found.Products; i++ {
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
func work(b *binding.Binding, dims map[string]int64) int64 {
	steps := int64(1)
	for _, name := range NeededDims(b) {
		steps *= min(max(dims[name], 1), mostWork+1)
		steps = min(steps, mostWork+1)
	}
	return steps
}

// ScoreProduct is the score of a parameter to which callers pass a product of sizes: more than that of any
// name.
const ScoreProduct = 250

// elementWords lists names of the number of all elements of a tensor.
var elementWords = strings.Fields("numel nelem nelems elements num_elements n_elements nelements " +
	"num_elems n_elems total total_elements total_size")

// countsAll reports whether a number of a function that takes more of them is that of all elements: by its
// name, or since the lines divide it by a size.
func countsAll(b *binding.Binding, p cfacts.Param) bool {
	size := func(name string) bool {
		return slices.ContainsFunc(b.Function.Params, func(o cfacts.Param) bool {
			return o.Name == name && o.Name != p.Name && o.IsInteger() && !binding.CountsThreads(o) &&
				slices.ContainsFunc(b.Spec.Dims,
					func(d op.DimSpec) bool { return b.Score(o, d.Name) > match.Weak })
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

// CountedProduct returns the product of the sizes of the first input, "rows * cols", if it has two and a
// parameter is that: it counts all elements, or main() gives a kernel a number for it that is the length of a
// tensor, and one of its sizes. It returns "" otherwise.
func CountedProduct(b *binding.Binding, p cfacts.Param) string {
	if b.File == nil || !p.IsInteger() || len(b.InputSpecs) == 0 {
		return ""
	}
	dims := NeededDims(b)
	if len(dims) != 2 || len(Shape(b, b.InputSpecs[0])) != 2 || !countsAll(b, p) && !seenToCountAll(b, p) {
		return ""
	}
	return strings.Join(dims, " * ")
}

// seenToCountAll reports whether main() gives a kernel the length of one of its tensors for a parameter, and
// a divisor of it for another one.
func seenToCountAll(b *binding.Binding, p cfacts.Param) bool {
	if b.Function.Kind != cfacts.Kernel {
		return false
	}
	run := b.File.Observed()
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
