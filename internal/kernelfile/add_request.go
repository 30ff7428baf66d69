package kernelfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// Request is a parsed `--add FILE[:function][@pass]`.
type Request struct {
	Path, Function string
	Stem           string   // stands for the file in its name; "": its name without its ending
	Arguments      []string // of a template
	Pass           op.Pass  // PassUnknown: every pass the file has a function for
	Inline         bool     // the text is the CUDA of a Python file, as InlineSources gives it
	Parse          pyfacts.Parser
	operator       string // that is asked for
}

// ParseRequest reads FILE[:function[<arguments>]][@pass].
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
	return name
}

// IsPython reports whether the file is a .py that is judged as Python.
func (r Request) IsPython() bool { return filepath.Ext(r.Path) == ".py" && !r.Inline }

// Read lists the functions of the file, with text as its contents. flags are those of its compiler.
func (r Request) Read(text string, flags []string) *cfacts.File {
	if r.IsPython() {
		f := ReadPython(declaration.Without(text, PythonSign), r.Parse)
		f.Name = filepath.Base(r.Path)
		takeLines(f, text, PythonSign)
		f.Functions = slices.DeleteFunc(f.Functions, func(fn cfacts.Function) bool {
			return fn.Parsed().Launched && len(fn.Declared) == 0
		})
		return f
	}
	var defined []string
	for _, flag := range flags {
		if name, ok := strings.CutPrefix(flag, "-D"); ok {
			defined = append(defined, name)
		}
	}
	f := cfacts.ReadCUDA(declaration.Without(text, CUDASign), defined...)
	f.Name = filepath.Base(r.Path)
	takeLines(f, text, CUDASign)
	return f
}

// Signs begin a comment.
const (
	CUDASign   = "//"
	PythonSign = "#"
)

// Stems returns for each path the last part of the name under which its file is judged: the file's name.
// Files of the same name get as many of the folders above them as are needed to distinguish them. The
// extension belongs to the name, so that k.cu and k.py differ, even if one is judged after the other. Blanks,
// commas, quotes and characters that cannot be displayed become underscores.
func Stems(paths []string) []string {
	names := make([][]string, len(paths)) // each part of a path
	for i, path := range paths {
		names[i] = strings.Split(strings.TrimPrefix(filepath.ToSlash(filepath.Clean(path)), "/"), "/")
	}
	stems, folders := make([]string, len(paths)), make([]int, len(paths))
	for {
		alike := map[string][]int{}
		for i, parts := range names {
			stem := strings.Join(parts[max(len(parts)-1-folders[i], 0):], "/")
			stems[i] = harmless.Name(stem, " \t\"\\,")
			alike[stems[i]] = append(alike[stems[i]], i)
		}
		longer := false
		for _, group := range alike {
			if !slices.ContainsFunc(group, func(i int) bool { return paths[i] != paths[group[0]] }) {
				continue
			}
			for _, i := range group {
				if folders[i]+1 < len(names[i]) {
					folders[i]++
					longer = true
				}
			}
		}
		if !longer {
			return stems
		}
	}
}
