package kernelfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// constantArray matches the declaration of an array of one dim in constant memory.
var constantArray = regexp.MustCompile(`(?m)^[ \t]*(?:static[ \t]+)?(?:__constant__[ \t]+` +
	`(?:const[ \t]+)?((?:unsigned[ \t]+)?\w+)|((?:unsigned[ \t]+)?\w+)[ \t]+__constant__)[ \t]+(\w+)[ \t]*` +
	`\[[^\[\]\n]*\][ \t]*;`)

// WithConstants returns the text of a CUDA file in which kernels take the constant memory that they read as
// an additional parameter of the same name: a main() fills it before it launches them. code is the text
// without comments and literals. names are the arrays; none if the file has no such array, or a host function
// that launches.
func WithConstants(text, code string, file *File) (changed string, names []string) {
	if len(text) != len(code) || slices.ContainsFunc(file.Functions, func(fn Function) bool {
		return fn.Kind == Host && fn.Launches
	}) {
		return text, nil
	}
	types := map[string]string{}
	for _, m := range constantArray.FindAllStringSubmatch(code, -1) {
		types[m[3]] = m[1] + m[2]
	}
	for _, fn := range slices.Backward(file.Functions) {
		at := parametersEnd(code, fn.Name)
		if len(types) == 0 || fn.Kind != Kernel || at < 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(types)) {
			if !fn.readsElements(name) {
				continue
			}
			names = withNew(names, name)
			insert := ", const " + types[name] + " *" + name
			text, code = text[:at]+insert+text[at:], code[:at]+insert+code[at:]
		}
	}
	for _, helper := range file.helpers {
		if slices.ContainsFunc(helper.body, func(t token) bool { return slices.Contains(names, t.text) }) {
			return text, nil
		}
	}
	slices.Sort(names)
	return text, names
}

// parametersEnd returns the end of a kernel's parameter list, -1 where it is unknown: the kernel is declared
// before, or takes nothing.
func parametersEnd(code, name string) int {
	heads := regexp.MustCompile(`__global__[^;{}()]*(?:__launch_bounds__\s*\([^()]*\)[^;{}()]*)?\b`+
		regexp.QuoteMeta(name)+`\s*\(`).FindAllStringIndex(code, -1)
	if len(heads) != 1 {
		return -1
	}
	end := closed(code, heads[0][1]-1) - 1
	if strings.TrimSpace(code[heads[0][1]:end]) == "" {
		return -1
	}
	return end
}

// readsElements reports whether the lines of a kernel use an array only to take elements of it.
func (fn *Function) readsElements(name string) bool {
	reads := false
	for i, t := range fn.body {
		if t.text != name {
			continue
		}
		if i+1 >= len(fn.body) || fn.body[i+1].text != "[" || i > 0 && fn.body[i-1].text == "&" {
			return false
		}
		reads = true
	}
	return reads
}

// closed returns the index behind the parenthesis that closes the one at open.
func closed(code string, open int) int {
	depth := 0
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(code)
}

var identifier = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)
