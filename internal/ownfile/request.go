package ownfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/declared"
)

// ParseRequest reads FILE[:function[<arguments>]][@pass].
func ParseRequest(text string) (binding.Request, error) {
	r := binding.Request{Path: text}
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

// Read lists the functions of the file, with text as its contents. flags are those of its compiler.
func Read(r binding.Request, text string, flags []string) *cfacts.File {
	if r.IsPython() {
		f := ReadPython(declaration.Without(text, binding.PythonSign), r.Parse)
		f.Name = filepath.Base(r.Path)
		declared.TakeLines(f, text, binding.PythonSign)
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
	f := cfacts.ReadCUDA(declaration.Without(text, binding.CUDASign), defined...)
	f.Name = filepath.Base(r.Path)
	declared.TakeLines(f, text, binding.CUDASign)
	return f
}
