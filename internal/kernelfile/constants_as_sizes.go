package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// mostConstant limits the elements of a tensor whose sizes are constants of a file: all cases have that many,
// and an emulator is slow.
const mostConstant = 1 << 22

// bounds holds the constants of a file that a kernel compares its indices with, the operands that each is
// compared with, and the kernel with parameters for the constants.
type bounds struct {
	values   map[string]int64
	below    map[string]map[string]bool
	stated   cfacts.Function
	products bool // one of the constants is a factor: i < N * N
}

// comparedSizes finds the constants, except lengths of tiles, that a kernel compares its other operands with.
func comparedSizes(f *cfacts.File, fn cfacts.Function) bounds {
	all := bounds{values: map[string]int64{}, below: map[string]map[string]bool{}, stated: fn}
	all.stated.Params, all.stated.Body = slices.Clone(fn.Params), slices.Clone(fn.Body)
	for i, t := range fn.Body {
		name, value, number := f.Constant(t.Text)
		if number {
			all.stated.Body[i].Text = name
		} else {
			name = t.Text
		}
		at := i - 1
		if at > 0 && fn.Body[at].Text == "(" {
			at--
		}
		if at < 1 || !isComparison(fn.Body[at]) {
			continue
		}
		if own, is := (body{tokens: fn.Body}).constant(t.Text); is {
			value, number = cfacts.IntegerValue(own)
		}
		if !number || value < 2 || isLength(fn.Body, t.Text) {
			continue
		}
		all.products = all.products || i+1 < len(fn.Body) && fn.Body[i+1].Text == "*"
		if all.values[name] == 0 {
			all.values[name], all.below[name] = value, map[string]bool{}
			all.stated.Params = append(all.stated.Params,
				cfacts.Param{Name: name, Base: "int", Text: "int " + name})
		}
		all.below[name][fn.Body[at-1].Text] = true
	}
	return all
}

// alike returns the common value of several constants; 0 if they differ.
func (b bounds) alike() (value int64) {
	for _, n := range b.values {
		if value != 0 && n != value {
			return 0
		}
		value = n
	}
	return value
}

// constantSizes returns the sizes of a kernel that takes none and compares its indices with constants of its
// file, as in "#define N 1024". Several are matched as parameters of these names would be; a single one is
// the number of elements, or each side if two indices are compared with it. sure says that the file allocates
// that many. nil if it compares with none; an error if it stays open what they are, or they are too large.
func constantSizes(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass, options Options) (
	dims map[string]int64, sure bool, err error,
) {
	integer := func(p cfacts.Param) bool { return p.IsInteger() }
	said := len(options.Dims)+len(options.Map)+len(options.Bound) > 0
	if fn.Kind != cfacts.Kernel || slices.ContainsFunc(fn.Params, integer) || said {
		return nil, false, statedOtherwise(file, fn, spec, pass, options)
	}
	found := comparedSizes(file, fn)
	b := newBinding(file, fn, spec, pass, options)
	b.inputs, b.outputs = spec.Tensors(pass)
	square := b.sidesOfSquare(file, found)
	if len(found.values) == 0 || found.products && !square || slices.ContainsFunc(fn.Params, takesVectors) ||
		len(found.values) == 1 && !square && b.oneOfSeveral(found) {
		return nil, false, nil
	}
	dims = map[string]int64{}
	if len(found.values) == 1 {
		for name, value := range found.values {
			b.oneConstant(dims, value, square || len(found.below[name]) > 1)
		}
	} else if value := found.alike(); value > 0 { // the sides of a square
		b.oneConstant(dims, value, true)
	} else if stated, unmatched := matchSized(file, found.stated, spec, pass, options); unmatched == nil {
		_, guessed := stated.guessedParameters()
		for _, a := range stated.Args {
			value, constant := found.values[a.Name]
			if constant && a.Role == Size && !slices.Contains(guessed, a.Name) {
				for _, dim := range dimsOf(a.Target) {
					dims[dim] = value
				}
			}
		}
	}
	for _, d := range spec.Dims {
		if _, known := dims[d.Name]; known || d.Default != "" {
			continue
		}
		if !slices.Contains(spec.Own.Flat, d.Name) {
			return nil, false, b.errorf("its sizes are constants of the file, %s: say what they are, as in "+
				"--dims %s=%d", strings.Join(slices.Sorted(maps.Keys(found.values)), ", "), d.Name,
				slices.Max(slices.Collect(maps.Values(found.values))))
		}
		dims[d.Name] = 1
	}
	for name := range found.values {
		sure = sure || allocates(file, name)
	}
	if err := b.fewEnough(dims, square); err != nil {
		return nil, false, err
	}
	return dims, sure, nil
}

// statedOtherwise refuses user-given sizes that differ from the constants that the file allocates with.
func statedOtherwise(file *cfacts.File, fn cfacts.Function, spec *op.Spec, pass op.Pass,
	options Options,
) error {
	said := options.Dims
	if len(said) == 0 {
		return nil
	}
	options.Dims = nil
	sizes, sure, _ := constantSizes(file, fn, spec, pass, options) // none with an error
	for _, dim := range slices.Sorted(maps.Keys(sizes)) {
		if n, given := said[dim]; sure && given && n != sizes[dim] {
			b := newBinding(file, fn, spec, pass, options)
			return b.errorf("%s = %d is asked for, and %s has constants for its sizes: %s is %d in its file",
				dim, n, fn.Name, dim, sizes[dim])
		}
	}
	return nil
}

// takesVectors reports whether a pointer's elements are vectors: a comparison then counts vectors.
func takesVectors(p cfacts.Param) bool {
	return p.Pointer && p.Base != "" && strings.ContainsAny(p.Base[len(p.Base)-1:], "1234")
}

// oneOfSeveral reports whether a constant that stands alone may be another size than that of a row: its name
// says so, or the block number is an index by itself, so that there are as many of something as blocks.
func (b *Binding) oneOfSeveral(found bounds) bool {
	needed := b.neededDims()
	if len(needed) < 2 {
		return false
	}
	for name, below := range found.below {
		if len(below) >= len(needed) { // an index for each size of a square
			return false
		}
		for _, dim := range needed[:len(needed)-1] {
			if match.Score(b.Spec, b.Pass, name, dim) > match.Weak {
				return true
			}
		}
		if len(below) > 1 {
			return false
		}
	}
	body := b.Function.Body
	for i := 0; i+3 < len(body); i++ {
		if body[i].Text == "blockIdx" && body[i+3].Text != "*" {
			return true
		}
	}
	return false
}

// oneConstant sets the sizes that one constant gives: that of the last dim if one index is below it, the
// others being 1, else all of them.
func (b *Binding) oneConstant(dims map[string]int64, value int64, sides bool) {
	last := b.shape(b.inputs[0])
	for _, d := range b.Spec.Dims {
		switch {
		case d.Default != "":
		case sides || len(last) > 0 && fmt.Sprint(last[len(last)-1]) == d.Name:
			dims[d.Name] = value
		default:
			dims[d.Name] = 1
		}
	}
}

// allocates reports whether a statement of the file has both a sizeof and the constant, as an allocation of
// that many elements has.
func allocates(f *cfacts.File, name string) bool {
	bytes, named := false, false
	for _, t := range f.Tokens {
		if t.Text == ";" || t.Text == "{" {
			bytes, named = false, false
		}
		root, _, _ := f.Constant(t.Text)
		bytes, named = bytes || t.Text == "sizeof", named || root == name
		if bytes && named {
			return true
		}
	}
	return false
}

// fewEnough refuses sizes with which an input would have too many elements, or a product take too long.
func (b *Binding) fewEnough(dims map[string]int64, product bool) error {
	for _, t := range b.inputs {
		elements, tooMany := int64(1), false
		for _, size := range b.shape(t) {
			if n, known := dims[fmt.Sprint(size)]; known {
				tooMany = tooMany || n > mostConstant/max(elements, 1)
				elements *= n
			}
		}
		tooMany = tooMany || product && b.work(dims) > mostWork
		if tooMany {
			var words []string
			for _, dim := range slices.Sorted(maps.Keys(dims)) {
				words = append(words, fmt.Sprintf("%s = %d", dim, dims[dim]))
			}
			return b.errorf("its sizes are constants of the file, %s: too many elements for each case; "+
				"make them smaller, or parameters", strings.Join(words, ", "))
		}
	}
	return nil
}

func isComparison(t cfacts.Token) bool { return slices.Contains([]string{"<", "<=", ">="}, t.Text) }

// isLength reports whether a constant stands in the declaration of a shared array: it is the size of a tile.
func isLength(body []cfacts.Token, name string) bool {
	for i, t := range body {
		if t.Text != "__shared__" {
			continue
		}
		for k := i; k < len(body) && body[k].Text != ";"; k++ {
			if body[k].Text == name {
				return true
			}
		}
	}
	return false
}

// usualHalved is the value of a halved size where neither a constant nor the user gives its length: odd, so
// that both sides are equally long.
const usualHalved = 5

// readHalved reads attributes without a parameter that are half of a size: lines that halve the length of a
// filter, "i - taps / 2", begin so far before their element. The function is then judged with one odd size.
func (b *Binding) readHalved(file *cfacts.File) {
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if b.has(Attribute, name) || b.Options.Attrs[name] != "" && b.Options.said == nil {
			continue
		}
		n, said := b.Options.Dims[dim]
		if !said {
			n, said = b.constantSize(file, dim)
		}
		if !said {
			n = usualHalved
		}
		python := b.Function.Kind == cfacts.Python &&
			halvedInPython.MatchString(b.Function.Parsed().Asking+b.Function.Kernels)
		if n%2 == 0 || !python && !halvesSizes(file, &b.Function) {
			continue
		}
		b.named[name] = strconv.FormatInt(n/2, 10)
		if b.oddSizes == nil {
			b.oddSizes = map[string]int64{}
		}
		b.oddSizes[dim] = n
	}
}

// halvedInPython matches a division of a name, or of one less, by 2: k // 2, (k - 1) // 2.
var halvedInPython = regexp.MustCompile(`\w\s*(?:-\s*1\s*)?\)?\s*(?://\s*2|>>\s*1)\b`)

// halvesSizes reports whether the lines of a function, or of one that it calls, halve a number other than
// those of the launch: k / 2, k >> 1, (k - 1) / 2.
func halvesSizes(f *cfacts.File, fn *cfacts.Function) bool {
	return f.Anywhere(fn, func(fn *cfacts.Function, i int) bool {
		of := cfacts.TextAt(fn.Body, i-1)
		return (cfacts.TextsAt(fn.Body, i, "/", "2") || cfacts.TextsAt(fn.Body, i, ">>", "1")) &&
			cfacts.TextAt(fn.Body, i-2) != "." && (of == ")" || i > 0 && fn.Body[i-1].IsName())
	})
}

// halvedSizes returns the conditions that a case has the odd sizes that a function is judged with.
func (b *Binding) halvedSizes() []condition {
	return b.sizesAre(b.oddSizes, "its lines halve %[1]s: it is judged with %[1]s = %[2]d")
}

// sizesAre returns the conditions that a case has the given sizes. sentence gives the reason, from a size's
// name and its value.
func (b *Binding) sizesAre(sizes map[string]int64, sentence string) []condition {
	var all []condition
	for _, dim := range slices.Sorted(maps.Keys(sizes)) {
		code := dim
		if b.Function.Kind == cfacts.Python {
			code = pythonName(dim)
		}
		all = append(all, condition{
			fmt.Sprintf("%s == %d", code, sizes[dim]), fmt.Sprintf(sentence, dim, sizes[dim]),
		})
	}
	return all
}

// assumedHalves returns the assumptions about attributes that were read as half of a size.
func (b *Binding) assumedHalves() []Assumption {
	var all []Assumption
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if _, halved := b.oddSizes[dim]; halved && b.named[name] != "" && b.Options.Attrs[name] == "" {
			all = append(all, Assumption{
				Kind: GuessedForm, What: fmt.Sprintf("%s is %s, half of %s", name, b.named[name], dim),
				anySize: true,
			})
		}
	}
	return all
}

// endings lists the functions that end the process.
var endings = []string{"exit", "abort", "_Exit", "quick_exit"}

// EndsForSizes reports whether a host function ends the process under a condition on one of its sizes, before
// it does anything with its tensors: so it rejects sizes that it is not written for.
func (b *Binding) EndsForSizes() bool {
	ends, _ := b.sizesAskedFor()
	return ends
}

// sizesAskedFor reads the conditions on sizes under which the lines of a host function end the process,
// return or throw, "if (cols != 1024) exit(1)": ends says that one ends the process, sizes are those that
// are compared with a number.
func (b *Binding) sizesAskedFor() (ends bool, sizes map[string]int64) {
	sizes = map[string]int64{}
	if b.Function.Kind != cfacts.Host {
		return false, sizes
	}
	body := b.Function.Body
	sizeOf := func(name string) string {
		for _, a := range b.Args {
			if a.Name == name && a.Role == Size && len(dimsOf(a.Target)) == 1 {
				return a.Target
			}
		}
		return ""
	}
	for i := 0; i+1 < len(body) && body[i].Text != "<<<"; i++ {
		if body[i].Text != "if" || body[i+1].Text != "(" {
			continue
		}
		condition, close := cfacts.Inside(body, i+1), cfacts.Closing(body, i+1)
		asks := slices.ContainsFunc(condition, func(t cfacts.Token) bool { return sizeOf(t.Text) != "" })
		under := statementAt(body, close+1)
		is := func(words ...string) bool {
			return slices.ContainsFunc(under, func(t cfacts.Token) bool {
				return slices.Contains(words, t.Text)
			})
		}
		if !asks || is("<<<") {
			continue
		}
		ends = ends || is(endings...)
		if !is(endings...) && !is("return", "throw") || len(condition) != 3 {
			continue
		}
		n, err := strconv.ParseInt(condition[2].Text, 10, 64)
		if _, value, named := b.file.Constant(condition[2].Text); named {
			n, err = value, nil
		}
		if dim := sizeOf(condition[0].Text); dim != "" && condition[1].Text == "!=" && err == nil && n > 0 {
			sizes[dim] = n
		}
	}
	return ends, sizes
}

// statementAt returns the tokens of the statement at a place: those of a block, or up to a semicolon.
func statementAt(body []cfacts.Token, at int) []cfacts.Token {
	if at >= len(body) {
		return nil
	}
	if body[at].Text == "{" {
		return cfacts.Inside(body, at)
	}
	end := at
	for end < len(body) && body[end].Text != ";" {
		end++
	}
	return body[at:end]
}
