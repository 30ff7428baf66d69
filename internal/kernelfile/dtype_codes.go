package kernelfile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// typeWords maps the types that the lines of a case name to their dtypes.
var typeWords = map[string]op.DType{
	"float": op.FP32, "half": op.FP16, "__half": op.FP16, "half2": op.FP16, "__half2": op.FP16,
	"nv_half": op.FP16, "Half": op.FP16, "__nv_bfloat16": op.BF16, "nv_bfloat16": op.BF16,
	"__nv_bfloat162": op.BF16, "nv_bfloat162": op.BF16, "BFloat16": op.BF16, "bfloat16": op.BF16,
}

// dtypeNames lists names, in lower case, of a number that selects the type of tensors.
var dtypeNames = []string{
	"dtype", "data_type", "datatype", "scalar_type", "elem_type", "element_type", "dtype_code", "dtype_id",
	"type_id", "type_code", "tensor_type",
}

// takeDTypeCode takes a number by which a host function chooses the type of its tensors: "switch (dtype)",
// or "if (dtype == 1)", with a case for floats and one for halves. In each dtype it is called with the label
// of its case, and it is judged in no other dtype.
func (b *Binding) takeDTypeCode(a *Argument) bool {
	if b.Function.Kind != Host || !a.isInteger() {
		return false
	}
	if codes := b.dtypeCodes(a.Name); codes != nil {
		a.Role, a.codes = Constant, codes
		var words []string
		for _, d := range []op.DType{op.FP32, op.FP16, op.BF16} {
			if code := codes[d]; code != "" {
				words = append(words, code+" in "+d.String())
			}
		}
		a.Target = strings.Join(words, ", ")
		return true
	}
	return false
}

// checkDTypeCodes refuses one number for all dtypes where a function chooses the type of its tensors by it.
func (b *Binding) checkDTypeCodes() error {
	for _, a := range b.Args {
		said := b.Options.Map[a.Name]
		_, err := strconv.Atoi(said)
		if b.Function.Kind != Host || !a.isInteger() || a.codes != nil || err != nil {
			continue
		}
		if b.dtypeCodes(a.Name) != nil {
			return b.errorf("--map %[1]s=%[2]s: the lines have a case of %[1]s for each type, and triad "+
				"calls it with that of the dtype: leave this out", a.Name, said)
		}
		if b.saysDType(a.Param) && len(b.Options.DTypes) != 1 {
			return b.errorf("--map %[1]s=%[2]s: it says of which type the tensors are: say also in which "+
				"dtype it is judged so, as in --dtype fp32", a.Name, said)
		}
	}
	return nil
}

// saysDType reports whether the name of a number says that it selects the type of untyped pointers.
func (b *Binding) saysDType(p Param) bool {
	untyped := func(a Argument) bool { return a.Pointer && strings.TrimPrefix(a.Base, "const ") == "void" }
	return p.isInteger() && slices.Contains(dtypeNames, snake(p.Name)) && slices.ContainsFunc(b.Args, untyped)
}

// dtypeCodes returns the labels by which the lines of a function choose a type, by dtype; nil if they do not
// choose between at least two, or two labels choose the same one.
func (b *Binding) dtypeCodes(param string) map[op.DType]string {
	codes := map[op.DType]string{}
	for label, lines := range b.Function.chosenBy(param) {
		d, ok := b.dtypeOfLines(label, lines)
		if !ok {
			continue
		}
		if codes[d] != "" || strings.Contains(b.Function.Name, "::") {
			return nil
		}
		codes[d] = label
	}
	if len(codes) < 2 {
		return nil
	}
	return codes
}

// dtypeOfLines returns the type of the tensors in the lines of a case: the only one of 16 bits that they
// name, else float if they name it, else what the label says.
func (b *Binding) dtypeOfLines(label string, lines []token) (op.DType, bool) {
	found := map[op.DType]bool{}
	for _, t := range lines {
		word := t.text
		if b.file != nil && b.file.aliases[word] != "" {
			word = b.file.aliases[word]
		}
		if d, ok := typeWords[word]; ok {
			found[d] = true
		}
	}
	label = strings.ToLower(label)
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(label, word) })
	}
	switch {
	case found[op.FP16] && found[op.BF16]:
		return op.DTypeUnknown, false
	case found[op.FP16]:
		return op.FP16, true
	case found[op.BF16]:
		return op.BF16, true
	case found[op.FP32]:
		return op.FP32, true
	case says("bf16", "bfloat16"):
		return op.BF16, true
	case says("f16", "float16", "fp16", "half"):
		return op.FP16, true
	case says("f32", "float32", "fp32"):
		return op.FP32, true
	}
	return op.DTypeUnknown, false
}

// chosenBy lists, by its label, the lines of each case of a switch over a parameter, and of each block under
// "if (param == label)". A label that stands in two places is left out.
func (fn Function) chosenBy(param string) map[string][]token {
	all := map[string][]token{}
	twice := map[string]bool{}
	add := func(label string, lines []token) {
		if _, there := all[label]; there {
			twice[label] = true
		}
		all[label] = lines
	}
	body := fn.body
	for i := 0; i+3 < len(body); i++ {
		if body[i+1].text != "(" || body[i].text != "switch" && body[i].text != "if" {
			continue
		}
		asked, end := inside(body, i+1), closing(body, i+1)
		if !slices.ContainsFunc(asked, func(t token) bool { return t.text == param }) ||
			end+1 >= len(body) || body[end+1].text != "{" {
			continue
		}
		if body[i].text == "switch" {
			eachCase(inside(body, end+1), add)
		} else if len(asked) > 2 && asked[0].text == param && asked[1].text == "==" {
			add(join(asked[2:]), inside(body, end+1))
		}
	}
	for label := range twice {
		delete(all, label)
	}
	return all
}

// eachCase calls add with the label and the lines of each case of a switch that has lines of its own.
func eachCase(body []token, add func(label string, lines []token)) {
	label, start, depth := "", 0, 0
	for i := 0; i <= len(body); i++ {
		ends := i == len(body) || depth == 0 && (body[i].text == "case" || body[i].text == "default")
		if ends && label != "" && start < i {
			add(label, body[start:i])
		}
		if i == len(body) {
			return
		}
		switch text := body[i].text; {
		case strings.Contains("([{", text):
			depth++
		case strings.Contains(")]}", text):
			depth--
		case ends:
			colon := slices.IndexFunc(body[i:], func(t token) bool { return t.text == ":" })
			if colon < 0 {
				return
			}
			label, start = "", i+colon+1
			if text == "case" {
				label = join(body[i+1 : i+colon])
			}
			i += colon
		}
	}
}

// withoutCode returns the reason that a dtype is not judged: the function chooses the types of its tensors by
// a number, and has no case for it. "" where it has.
func (b *Binding) withoutCode(d op.DType) string {
	for _, a := range b.Args {
		if a.codes != nil && a.codes[d] == "" {
			return fmt.Sprintf("%s has no case for %s", a.Name, d)
		}
	}
	return ""
}
