package kernelfile

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// TooManyError refuses a kernel whose sizes are constants of its file that give a tensor too many elements.
type TooManyError struct {
	Err    error
	Values map[string]int64 // of the constants
	Sides  int              // how many sizes a constant is: each side of a square, and the depth of a product
}

// Error reports the sizes.
func (e *TooManyError) Error() string { return e.Err.Error() }

// fewElements limits the elements of a tensor whose sizes were made smaller.
const fewElements = 1 << 16

// fewProducts is the limit for a product, whose depth is a size too.
const fewProducts = 1 << 21

// Smaller returns the text of a file with smaller constants for those of a TooManyError, and their new
// values: each is halved until all of them together are few. ok is false if one has no definition to change.
func (e *TooManyError) Smaller(text string) (smaller, now string, ok bool) {
	values := maps.Clone(e.Values)
	names := slices.Sorted(maps.Keys(values))
	few := int64(fewElements)
	if e.Sides > 2 {
		few = fewProducts
	}
	for {
		product := int64(1)
		largest := names[0]
		for _, name := range names {
			for range max(e.Sides, 1) {
				product *= min(values[name], few+1)
			}
			if values[name] > values[largest] {
				largest = name
			}
		}
		if product <= few {
			break
		}
		values[largest] = (values[largest] + 1) / 2
	}
	var words []string
	for _, name := range names {
		changed := false
		for _, form := range []string{
			`(?m)^([ \t]*#[ \t]*define[ \t]+` + name + `[ \t]+)[^\n]*()$`,
			`\b((?:const|constexpr)\b[^;{}()]*\b` + name + `\s*=\s*)[^,;{}]+([,;])`,
		} {
			definition := regexp.MustCompile(form)
			if found := definition.FindAllStringIndex(text, -1); !changed && len(found) == 1 {
				text = definition.ReplaceAllString(text, fmt.Sprintf("${1}%d${2}", values[name]))
				changed = true
			}
		}
		if !changed {
			return "", "", false
		}
		words = append(words, fmt.Sprintf("%s = %d for %d", name, values[name], e.Values[name]))
	}
	return text, strings.Join(words, ", "), true
}

// wholeNumber returns the value of an integer expression such as "(1 << 20)".
func wholeNumber(text string) (int64, bool) {
	text = wholeSuffix.ReplaceAllString(text, "$1")
	if tree, err := parser.ParseExpr(text); err != nil || bindsOtherwise(tree) {
		return 0, false
	}
	value, err := types.Eval(gotoken.NewFileSet(), nil, gotoken.NoPos, text)
	if err != nil || value.Value == nil || value.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(value.Value)
}

// bindsOtherwise reports whether an expression has adjacent operators whose precedence differs between C++
// and Go: "1 << 2 + 3" is 32 in C++. It does not differ among + - * / %.
func bindsOtherwise(tree ast.Expr) bool {
	differs := false
	ast.Inspect(tree, func(n ast.Node) bool {
		outer, is := n.(*ast.BinaryExpr)
		if !is {
			return true
		}
		for _, side := range []ast.Expr{outer.X, outer.Y} {
			inner, is := side.(*ast.BinaryExpr)
			differs = differs || is && inner.Op != outer.Op &&
				(isOfBits(inner.Op) || isOfBits(outer.Op))
		}
		return true
	})
	return differs
}

func isOfBits(o gotoken.Token) bool { return o >= gotoken.AND && o <= gotoken.AND_NOT }

// wholeSuffix matches an integer with the suffix of its type.
var wholeSuffix = regexp.MustCompile(`\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]+\b`)
