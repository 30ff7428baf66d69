package kernelfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// Request is a parsed `--add FILE[:function[#number]][@pass]`.
type Request struct {
	Path, Function string
	Stem           string   // stands for the file in its name; "": its name without its ending
	Selector       string   // the number by which the function chooses one of its kernels
	Arguments      []string // of a template
	Pass           op.Pass  // PassUnknown: every pass the file has a function for
	Inline         bool     // the text is the CUDA of a Python file, as InlineSources gives it
	Parse          pyfacts.Parser
	operator       string // that is asked for
}

// ParseRequest reads FILE[:function[<arguments>][#number]][@pass].
func ParseRequest(text string) (Request, error) {
	r := Request{Path: text}
	if at := strings.LastIndexByte(r.Path, '@'); at > strings.LastIndexByte(r.Path, '/') {
		if err := r.Pass.UnmarshalText([]byte(r.Path[at+1:])); err != nil {
			return r, &op.UsageError{Message: fmt.Sprintf("--add %s: after @ stands %q: want forward or "+
				"backward", text, r.Path[at+1:])}
		}
		r.Path = r.Path[:at]
	}
	for _, ending := range []string{".cu", ".py", ".cuh"} {
		if i := strings.LastIndex(r.Path, ending+":"); i >= 0 {
			r.Path, r.Function = r.Path[:i+len(ending)], r.Path[i+len(ending)+1:]
		}
	}
	r.Function, r.Selector, _ = strings.Cut(r.Function, "#")
	if open := strings.IndexByte(r.Function, '<'); open >= 0 && strings.HasSuffix(r.Function, ">") {
		for _, a := range strings.Split(r.Function[open+1:len(r.Function)-1], ",") {
			r.Arguments = append(r.Arguments, strings.TrimSpace(a))
		}
		r.Function = r.Function[:open]
	}
	if !slices.Contains([]string{".cu", ".cuh", ".py"}, filepath.Ext(r.Path)) {
		return r, &op.UsageError{Message: fmt.Sprintf("--add %s: want a .cu, a .cuh or a .py file, as in "+
			"--add mine.cu or --add mine.cu:solve", text)}
	}
	return r, nil
}

// Implementation returns the name under which the file is judged: mine/<stem>, or mine/<stem>:<function>
// where one is named.
func (r Request) Implementation() string {
	name := "mine/" + r.Stem
	if r.Stem == "" {
		name += Stems([]string{r.Path})[0]
	}
	if r.Function != "" {
		name += ":" + r.Function
	}
	if r.Selector != "" {
		name += "#" + r.Selector
	}
	return name
}

// IsPython reports whether the file is a .py that is judged as Python.
func (r Request) IsPython() bool { return filepath.Ext(r.Path) == ".py" && !r.Inline }

// Read lists the functions of the file, with text as its contents. flags are those of its compiler.
func (r Request) Read(text string, flags []string) *cfacts.File {
	if r.IsPython() {
		f := ReadPython(declaration.Without(text, PythonSign), r.Parse)
		takeLines(f, text, PythonSign)
		return f
	}
	var defined []string
	for _, flag := range flags {
		if name, ok := strings.CutPrefix(flag, "-D"); ok {
			defined = append(defined, name)
		}
	}
	f := cfacts.ReadCUDA(declaration.Without(text, CUDASign), defined...)
	takeLines(f, text, CUDASign)
	return f
}

// Signs begin a comment.
const (
	CUDASign   = "//"
	PythonSign = "#"
)
