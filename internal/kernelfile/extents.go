package kernelfile

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"triad/internal/op"
)

// readExtents keeps, of the enumerations without a parameter that decide whether a tensor has one
// element, the value that the lines show by how they index it: "scale[row]" has more than one, "scale[0]"
// one.
func (b *Binding) readExtents() {
	for _, a := range b.Spec.Attributes {
		if a.Type != "enum" || len(a.Values) != 2 || b.has(Attribute, a.Name) {
			continue
		}
		if b.Function.Kind == Python {
			b.extentInPython(a)
			continue
		}
		for _, arg := range b.Args {
			if arg.Role != Output || arg.Form != AsItLies || len(b.places[arg.Name]) == 0 {
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

// extremes match how a largest or smallest element is taken.
var (
	extremeOf = regexp.MustCompile(`(\w*)\.(?:amax|amin|max|min|aminmax)\(`)
	lastSize  = regexp.MustCompile(
		`^(?:(?:dim|axis)\s*=\s*)?-?1(?:\s*,\s*(?:keepdim\s*=\s*)?(?:True|False))?$`)
	outTensor = regexp.MustCompile(`^out\s*=`)
)

// extremes are the arguments of each extreme that lines take, without the tensor that it is of and the one
// that it is put into.
func extremes(text string) (all []string) {
	for _, at := range extremeOf.FindAllStringSubmatchIndex(text, -1) {
		var arguments []string
		for i, argument := range argumentList(text[at[1]:]) {
			argument = strings.TrimSpace(argument)
			if i == 0 && text[at[2]:at[3]] == "torch" || argument == "" || outTensor.MatchString(argument) {
				continue
			}
			arguments = append(arguments, argument)
		}
		all = append(all, strings.Join(arguments, ", "))
	}
	return all
}

// extentInPython keeps the value of an enumeration that the lines of a function of Python show: each extreme
// is taken of a row, x.abs().amax(dim=-1), or each of the whole tensor, x.abs().max(). What takes others as
// well, or makes its output with another number of elements, shows nothing.
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
	for _, arguments := range extremes(ownLines(b.Function.text)) {
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

// What the lines say of how many elements a tensor is made with.
const (
	extentUnsaid = iota
	extentOne
	extentMany
)

// madeExtent says how many elements an output has that is returned by its name: of torch.empty((M, 1)) as
// many as a size says, of torch.empty(1) one.
func (b *Binding) madeExtent(t op.TensorSpec) int {
	names := b.returnedNames()
	place := b.returnedAs(t, names)
	if place < 0 {
		return extentUnsaid
	}
	made := regexp.MustCompile(`(?m)^[ \t]+` + regexp.QuoteMeta(names[place]) +
		`[ \t]*=[ \t]*(?:torch\.(?:empty|zeros|ones)|\w+\.new_(?:empty|zeros|ones))\(`)
	text := ownLines(b.Function.text)
	found := made.FindAllStringIndex(text, -1)
	if len(found) != 1 {
		return extentUnsaid
	}
	for _, argument := range argumentList(text[found[0][1]:]) {
		if !strings.Contains(argument, "=") && strings.ContainsFunc(argument, unicode.IsLetter) {
			return extentMany
		}
	}
	return extentOne
}

// indexed says whether a place of a tensor is used that is not its first.
func (b *Binding) indexed(name string) bool {
	for _, place := range b.places[name] {
		if _, index, _ := strings.Cut(place, ": "); index != "0" {
			return true
		}
	}
	return false
}

// oneElement is the index of the value of an enumeration under which a tensor has one element, where it
// has more under the other.
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
