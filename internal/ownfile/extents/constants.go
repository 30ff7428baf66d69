package extents

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// mostConstant limits the elements of a tensor whose sizes are constants of a file: all cases have that many,
// and an emulator is slow.
const mostConstant = 1 << 22

// bounds holds the constants of a file that a kernel compares its indices with, the operands that each is
// compared with, and the kernel with parameters for the constants.
type bounds struct {
	Values   map[string]int64
	Below    map[string]map[string]bool
	Stated   cfacts.Function
	Products bool // one of the constants is a factor: i < N * N
}

// ComparedSizes finds the constants, except lengths of tiles, that a kernel compares its other operands with.
func ComparedSizes(f *cfacts.File, fn cfacts.Function) bounds {
	all := bounds{Values: map[string]int64{}, Below: map[string]map[string]bool{}, Stated: fn}
	all.Stated.Params, all.Stated.Body = slices.Clone(fn.Params), slices.Clone(fn.Body)
	for i, t := range fn.Body {
		name, value, number := f.Constant(t.Text)
		if number {
			all.Stated.Body[i].Text = name
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
		if own, is := (binding.Body{Tokens: fn.Body}).Constant(t.Text); is {
			value, number = cfacts.IntegerValue(own)
		}
		if !number || value < 2 || isLength(fn.Body, t.Text) {
			continue
		}
		all.Products = all.Products || i+1 < len(fn.Body) && fn.Body[i+1].Text == "*"
		if all.Values[name] == 0 {
			all.Values[name], all.Below[name] = value, map[string]bool{}
			all.Stated.Params = append(all.Stated.Params,
				cfacts.Param{Name: name, Base: "int", Text: "int " + name})
		}
		all.Below[name][fn.Body[at-1].Text] = true
	}
	return all
}

// Alike returns the common value of several constants; 0 if they differ.
func (b bounds) Alike() (value int64) {
	for _, n := range b.Values {
		if value != 0 && n != value {
			return 0
		}
		value = n
	}
	return value
}

// TakesVectors reports whether a pointer's elements are vectors: a comparison then counts vectors.
func TakesVectors(p cfacts.Param) bool {
	return p.Pointer && p.Base != "" && strings.ContainsAny(p.Base[len(p.Base)-1:], "1234")
}

// OneOfSeveral reports whether a constant that stands alone may be another size than that of a row: its name
// says so, or the block number is an index by itself, so that there are as many of something as blocks.
func OneOfSeveral(b *binding.Binding, found bounds) bool {
	needed := NeededDims(b)
	if len(needed) < 2 {
		return false
	}
	for name, below := range found.Below {
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

// OneConstant sets the sizes that one constant gives: that of the last dim if one index is below it, the
// others being 1, else all of them.
func OneConstant(b *binding.Binding, dims map[string]int64, value int64, sides bool) {
	last := Shape(b, b.InputSpecs[0])
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

// Allocates reports whether a statement of the file has both a sizeof and the constant, as an allocation of
// that many elements has.
func Allocates(f *cfacts.File, name string) bool {
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

// FewEnough refuses sizes with which an input would have too many elements, or a product take too long.
func FewEnough(b *binding.Binding, dims map[string]int64, product bool) error {
	for _, t := range b.InputSpecs {
		elements, tooMany := int64(1), false
		for _, size := range Shape(b, t) {
			if n, known := dims[fmt.Sprint(size)]; known {
				tooMany = tooMany || n > mostConstant/max(elements, 1)
				elements *= n
			}
		}
		tooMany = tooMany || product && work(b, dims) > mostWork
		if tooMany {
			var words []string
			for _, dim := range slices.Sorted(maps.Keys(dims)) {
				words = append(words, fmt.Sprintf("%s = %d", dim, dims[dim]))
			}
			return b.Errorf("its sizes are constants of the file, %s: too many elements for each case; "+
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

// ReadHalved reads attributes without a parameter that are half of a size: lines that halve the length of a
// filter, "i - taps / 2", begin so far before their element. The function is then judged with one odd size.
func ReadHalved(b *binding.Binding, file *cfacts.File) {
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if b.Has(binding.Attribute, name) || b.Options.Attrs[name] != "" && b.Options.Said == nil {
			continue
		}
		n, said := b.Options.Dims[dim]
		if !said {
			n, said = b.ConstantSize(file, dim)
		}
		if !said {
			n = usualHalved
		}
		python := b.Function.Kind == cfacts.Python &&
			halvedInPython.MatchString(b.Function.Parsed().Asking+b.Function.Kernels)
		if n%2 == 0 || !python && !halvesSizes(file, &b.Function) {
			continue
		}
		b.Named[name] = strconv.FormatInt(n/2, 10)
		if b.OddSizes == nil {
			b.OddSizes = map[string]int64{}
		}
		b.OddSizes[dim] = n
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

// HalvedSizes returns the conditions that a case has the odd sizes that a function is judged with.
func HalvedSizes(b *binding.Binding) []binding.Condition {
	return SizesAre(b, b.OddSizes, "its lines halve %[1]s: it is judged with %[1]s = %[2]d")
}

// SizesAre returns the conditions that a case has the given sizes. sentence gives the reason, from a size's
// name and its value.
func SizesAre(b *binding.Binding, sizes map[string]int64, sentence string) []binding.Condition {
	var all []binding.Condition
	for _, dim := range slices.Sorted(maps.Keys(sizes)) {
		code := dim
		if b.Function.Kind == cfacts.Python {
			code = binding.PythonName(dim)
		}
		all = append(all, binding.Condition{
			Code: fmt.Sprintf("%s == %d", code, sizes[dim]), Sentence: fmt.Sprintf(sentence, dim, sizes[dim]),
		})
	}
	return all
}

// AssumedHalves returns the assumptions about attributes that were read as half of a size.
func AssumedHalves(b *binding.Binding) []binding.Assumption {
	var all []binding.Assumption
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if _, halved := b.OddSizes[dim]; halved && b.Named[name] != "" && b.Options.Attrs[name] == "" {
			all = append(all, binding.Assumption{
				Kind: binding.GuessedForm,
				What: fmt.Sprintf("%s is %s, half of %s", name, b.Named[name], dim), AnySize: true,
			})
		}
	}
	return all
}

// endings lists the functions that end the process.
var endings = []string{"exit", "abort", "_Exit", "quick_exit"}

// EndsForSizes reports whether a host function ends the process under a condition on one of its sizes, before
// it does anything with its tensors: so it rejects sizes that it is not written for.
func EndsForSizes(b *binding.Binding) bool {
	ends, _ := SizesAskedFor(b)
	return ends
}

// SizesAskedFor reads the conditions on sizes under which the lines of a host function end the process,
// return or throw, "if (cols != 1024) exit(1)": ends says that one ends the process, sizes are those that
// are compared with a number.
func SizesAskedFor(b *binding.Binding) (ends bool, sizes map[string]int64) {
	sizes = map[string]int64{}
	if b.Function.Kind != cfacts.Host {
		return false, sizes
	}
	body := b.Function.Body
	sizeOf := func(name string) string {
		for _, a := range b.Args {
			if a.Name == name && a.Role == binding.Size && len(binding.DimsOf(a.Target)) == 1 {
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
		if _, value, named := b.File.Constant(condition[2].Text); named {
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
