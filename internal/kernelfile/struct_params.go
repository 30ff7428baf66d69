package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// OfStructs is the namespace of the generated functions that call those which take matrices as structs.
const OfStructs = "of_structs"

// structType is a struct with a pointer to the elements of a matrix or vector, and its sizes.
type structType struct {
	name, data, base         string
	rows, cols, pitch, total []string // fields
}

var (
	structBody = regexp.MustCompile(`\bstruct\s*(\w*)\s*\{([^{}()]*)\}\s*(\w*)\s*;`)
	rowFields  = regexp.MustCompile(`(?i)^(?:h|height|rows?|n_?rows|num_?rows|m)$`)
	colFields  = regexp.MustCompile(`(?i)^(?:w|width|cols?|columns?|n_?cols|num_?cols|num_?columns|n)$`)
	pitchField = regexp.MustCompile(`(?i)^(?:stride|pitch|ld)$`)
	totalField = regexp.MustCompile(`(?i)^(?:size|length|len|count|num_?elements|total|n)$`)
	indexesTwo = regexp.MustCompile(`\b(?:threadIdx|blockIdx)\s*\.\s*y\b`)
)

// structTypes returns the structs in a file's text.
func structTypes(code string) (all []structType) {
	for _, m := range structBody.FindAllStringSubmatch(code, -1) {
		s := structType{name: m[3]}
		if s.name == "" {
			s.name = m[1]
		}
		read, two := true, strings.Count(m[2], ",")+strings.Count(m[2], ";") > 2
		for _, field := range strings.Split(m[2], ";") {
			words := strings.Fields(strings.NewReplacer("*", " * ", ",", " , ").Replace(field))
			words = slices.DeleteFunc(words, func(w string) bool { return w == "const" || w == "," })
			switch {
			case len(words) == 0:
			case slices.Contains(words, "*"):
				read = read && s.data == "" && len(words) == 3
				s.base, s.data = words[0], words[len(words)-1]
			case !slices.Contains(integerTypes, words[0]):
				read = false
			default:
				for _, name := range words[1:] {
					s.take(name, two)
				}
			}
		}
		if read && s.data != "" && s.name != "" && len(s.rows)+len(s.cols)+len(s.total) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// take keeps an integer field; two means that there are several.
func (s *structType) take(name string, two bool) {
	switch {
	case pitchField.MatchString(name):
		s.pitch = append(s.pitch, name)
	case two && rowFields.MatchString(name):
		s.rows = append(s.rows, name)
	case two && colFields.MatchString(name):
		s.cols = append(s.cols, name)
	case totalField.MatchString(name):
		s.total = append(s.total, name)
	}
}

// WithStructs returns functions, with their names, that take plain pointers and sizes of an operator and pass
// them as matrices or vectors to the functions of a CUDA file that take structs.
func WithStructs(code string, file *File, spec *op.Spec) (functions string, names []string) {
	types := structTypes(code)
	if len(types) == 0 {
		return "", nil
	}
	shapes := shapesOf(spec)
	for _, kind := range []Kind{Host, Kernel} {
		for i := range file.Functions {
			fn := &file.Functions[i]
			if fn.Kind != kind || kind == Host && !fn.Launches || helps(fn.Name) || len(fn.Template) > 0 {
				continue
			}
			if code := structCall(file, fn, types, shapes); code != "" && !slices.Contains(names, fn.Name) {
				functions += code
				names = append(names, fn.Name)
			}
		}
		if len(names) > 0 {
			break
		}
	}
	if functions == "" {
		return "", nil
	}
	return "namespace " + OfStructs + " {\n" + functions + "}\n", names
}

// shapesOf returns the sizes of an operator's tensors in a forward, without those that have a default:
// inputs, then outputs. It returns none if a tensor has more than two.
func shapesOf(spec *op.Spec) (all [][]string) {
	inputs, outputs := spec.Tensors(op.Forward)
	b := &Binding{Spec: spec}
	for _, t := range slices.Concat(inputs, outputs) {
		if t.Optional || b.switchOf(t) != "" {
			continue
		}
		shape := t.Shape
		for range 2 { // by the default of an attribute
			if by, is := shape.(map[string]any); is {
				for _, a := range spec.Attributes {
					if values, has := by[a.Name]; has {
						shape = values
					}
					if value, has := by[fmt.Sprint(a.Default)]; has {
						shape = value
					}
				}
			}
		}
		list, _ := shape.([]any)
		var sizes []string
		for _, size := range list {
			name := fmt.Sprint(size)
			at := slices.IndexFunc(spec.Dims, func(d op.DimSpec) bool { return d.Name == name })
			if at < 0 {
				return nil
			}
			if spec.Dims[at].Default == "" {
				sizes = append(sizes, name)
			}
		}
		if len(sizes) < 1 || len(sizes) > 2 {
			return nil
		}
		if len(sizes) == 1 {
			sizes = []string{"rows", "cols"} // two factors of it
		}
		all = append(all, sizes)
	}
	return all
}

// structCall returns a function that calls or launches one that takes structs, or "" if that takes other
// tensors than the operator's.
func structCall(file *File, fn *Function, types []structType, shapes [][]string) string {
	var params, before, handed, sizes []string
	at := 0
	of := func(p Param) *structType {
		words := identifier.FindAllString(p.Text, -1)
		i := slices.IndexFunc(types, func(s structType) bool { return slices.Contains(words, s.name) })
		if i < 0 || p.Pointer && fn.Kind == Kernel {
			return nil
		}
		return &types[i]
	}
	for _, p := range fn.Params {
		s := of(p)
		if s == nil {
			params, handed = append(params, p.Text), append(handed, p.Name)
			continue
		}
		if at >= len(shapes) {
			return ""
		}
		shape, made := shapes[at], "triad_"+p.Name
		at++
		read := "const "
		if at == len(shapes) {
			read = ""
		}
		params = append(params, read+s.base+" *"+p.Name)
		before = append(before, s.made(made, p.Name, shape))
		if p.Pointer {
			made = "&" + made
		}
		handed = append(handed, made)
		for _, size := range shape {
			sizes = withNew(sizes, size)
		}
	}
	if at == 0 || at != len(shapes) {
		return ""
	}
	for _, size := range sizes {
		params = append(params, "int "+size)
	}
	call := fmt.Sprintf("::%s(%s);", fn.Name, strings.Join(handed, ", "))
	if fn.Kind == Kernel {
		call = file.structLaunch(fn, shapes[len(shapes)-1], handed)
	}
	return fmt.Sprintf("void %s(%s)\n{\n%s\t%s\n}\n", fn.Name, strings.Join(params, ", "),
		strings.Join(before, ""), call)
}

// made returns the C++ of a struct with a pointer and two sizes.
func (s structType) made(name, data string, shape []string) string {
	code := fmt.Sprintf("\t%s %s = {};\n\t%[2]s.%s = const_cast<%s *>(%s);\n", s.name, name, s.data, s.base,
		data)
	for _, group := range []struct {
		fields []string
		value  string
	}{
		{s.rows, shape[0]}, {s.cols, shape[1]}, {s.pitch, shape[1]}, {s.total, shape[0] + " * " + shape[1]},
	} {
		for _, field := range group.fields {
			code += fmt.Sprintf("\t%s.%s = %s;\n", name, field, group.value)
		}
	}
	return code
}

// structLaunch launches a kernel that takes structs, with a thread for each element of a result with these
// sizes. A kernel that indexes two dims gets blocks of 16 by 16, or of the size that the file's constant
// gives.
func (f *File) structLaunch(fn *Function, shape, handed []string) string {
	if !indexesTwo.MatchString(join(fn.body)) {
		return fmt.Sprintf("::%s<<<(%s * %s + 255) / 256, 256>>>(%s);", fn.Name, shape[0], shape[1],
			strings.Join(handed, ", "))
	}
	side := "16"
	for _, name := range []string{"BLOCK_SIZE", "TILE_SIZE", "TILE_WIDTH", "BLOCK_DIM", "TILE_DIM"} {
		if _, has := f.defines[name]; has {
			side = name
		}
	}
	return fmt.Sprintf("const int triad_side = %s;\n\t::%s<<<dim3((%s + triad_side - 1) / triad_side, "+
		"(%s + triad_side - 1) / triad_side), "+
		"dim3(triad_side, triad_side)>>>(%s);", side, fn.Name, shape[1], shape[0],
		strings.Join(handed, ", "))
}

// copiesStruct reports whether a function copies the data of a struct parameter to or from the device.
func (fn *Function) copiesStruct() bool {
	for i := range fn.body {
		side := copiedHost(fn.body, i)
		if len(side) > 1 &&
			slices.ContainsFunc(fn.Params, func(p Param) bool { return p.Name == side[0].text }) {
			return true
		}
	}
	return false
}
