package kernelfile

import (
	"fmt"
	"regexp"
)

// hostCall calls a host function of a file. A function whose assert fails declines the call, and so does one
// that returns false: it launched nothing, or reports a failure.
func (b *Binding) hostCall(call string) string {
	if b.Function.Refuses {
		call = fmt.Sprintf("if (!%s) {\n\t\t\tstd::fprintf(stderr, \"%%s returned false\\n\", %q);\n"+
			"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}", call, b.Function.Name)
	}
	if !b.asserts {
		return "\t\t" + call + ";\n"
	}
	return "\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const ::triad_own::declined &) {\n" +
		"\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n"
}

// SaysSizes reports whether the text of an assert names nothing but sizes: integer parameters of functions of
// the file, constants and numbers.
func (b *Binding) SaysSizes(text string) bool {
	sizes, named := map[string]bool{}, false
	for _, fn := range b.file.Functions {
		for _, p := range fn.Params {
			sizes[p.Name] = sizes[p.Name] || p.IsInteger()
		}
	}
	for _, word := range nameInText.FindAllString(text, -1) {
		_, constant := b.file.Defines[word]
		if !sizes[word] && !constant {
			return false
		}
		named = named || sizes[word]
	}
	return named
}

// nameInText matches a name.
var nameInText = regexp.MustCompile(`[A-Za-z_]\w*`)
