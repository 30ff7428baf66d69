package ownkernels

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/cuda/build"
	"triad/cuda/rewrite"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/nearby"
)

// bindJoined matches the launches of a main() whose kernels work together, if the file has no host function
// that launches them; with alone it matches the launch of its only kernel.
func (f *File) bindJoined(
	request binding.Request, content []byte, alone bool,
) ([]*binding.Binding, bool) {
	if request.IsPython() || request.Function != "" && request.Function != launchfit.Joined {
		return nil, false
	}
	read := ownfile.Read(request, string(content), f.interpretation.Options.Flags)
	if slices.ContainsFunc(read.Functions, func(fn cfacts.Function) bool {
		return fn.Kind == cfacts.Host && fn.Launches && takesPointer(fn)
	}) {
		return nil, false
	}
	f.interpretation.observe(read, f.Path, string(content))
	function, ok := launchfit.JoinMain(read, f.interpretation.Spec, alone)
	if !ok {
		return nil, false
	}
	text := f.text(content) + "\n" + function
	asked := request
	asked.Function = launchfit.Joined
	bindings, err := f.interpretation.bind(asked, f.Path, []byte(text))
	if err != nil || alone && slices.ContainsFunc(bindings, ownfile.Guesses) {
		return nil, false
	}
	f.joined = true
	f.takeText(text)
	how := "its kernels work together: they are launched one after the other, as main() does"
	if alone {
		how = "its kernel is launched as main() does, with what main() makes of the sizes"
	}
	f.Matched = append(f.Matched, how)
	if request.Function == "" {
		for _, pass := range f.interpretation.Passes {
			f.Doubt(pass, backend.Doubt{Why: how + ", and what main() does on the host beside that is left " +
				"out: write a function that launches them, or say with --add FILE:" + launchfit.Joined +
				" that it is meant so"})
		}
	}
	return bindings, true
}

// takesPointer reports whether a function has a pointer parameter.
func takesPointer(fn cfacts.Function) bool {
	return slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool { return p.Pointer })
}

// limitOfJoined makes a failed build neutral if the fault lies in the function that triad generated from
// main().
func (f *File) limitOfJoined(failed *backend.LoadFailure) {
	if f.joined && failed.Status == op.StatusBuildFail && !f.inItsOwnLines(failed.Log) {
		failed.Status = op.StatusUnsupported
		failed.Message = "the launches of its main() do not make a function by themselves (" +
			strings.TrimSuffix(failed.Message, ".") + "): write a function that launches the kernels"
	}
}

// inItsOwnLines reports whether the compiler's first message is about a line of the file itself, before those
// appended to it.
func (f *File) inItsOwnLines(log string) bool {
	at, line, _, found := build.CompilerMessage(log)
	number, err := strconv.Atoi(line)
	of := func(path string) bool { return path != "" && filepath.Base(at) == filepath.Base(path) }
	return found && err == nil && number <= len(f.lines) && (of(f.Path) || of(f.inlineAt))
}

// libraries lists those that the emulator lacks and that a main() may use by itself: patterns of their
// headers and of the names that they define.
var libraries = [][2]string{
	{`thrust/[^>"\n]*`, `\bthrust\b`},
	{`cublas\w*\.h`, `\b(?:cublas|CUBLAS)`},
	{`curand\.h`, `\b(?:curand|CURAND)`},
	{`cudnn\w*\.h`, `\b(?:cudnn|CUDNN)`},
	{`cusparse\w*\.h`, `\b(?:cusparse|CUSPARSE)`},
	{`cusolver\w*\.h`, `\b(?:cusolver|CUSOLVER)`},
	{`wb\.h`, `\bwb[A-Z]`}, // the library of a course
	{`cufft\w*\.h`, `\b(?:cufft|CUFFT)`},
}

// libraryHeader matches the line that includes a header.
func libraryHeader(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*#[ \t]*include[ \t]*[<"]` + name + `[>"]`)
}

// withoutLibraryOfMain returns a CUDA file without the lines of its main() and without the headers of
// libraries that nothing else in it uses and that are not in its folder. ok is false if there is no such
// header. Line numbers are preserved.
func withoutLibraryOfMain(text []byte, folder string) (left []byte, ok bool) {
	left, code, ok := withoutMain(text)
	if !ok {
		return nil, false
	}
	ok = false
	for _, library := range libraries {
		found := libraryHeader(library[0]).FindAllIndex(left, -1)
		if len(found) == 0 || liesIn(folder, left[found[0][0]:found[0][1]]) {
			continue
		}
		names := regexp.MustCompile(library[1])
		if names.Match(code) {
			continue
		}
		for _, at := range found {
			blank(left[at[0]:at[1]])
		}
		ok = true
	}
	return left, ok
}

// withoutMain returns a CUDA file without the lines of its main(), and the same text without comments and
// literals. ok is false if it has no main().
func withoutMain(text []byte) (left, code []byte, ok bool) {
	code = rewrite.Code(text)
	head := nearby.MainHead.FindIndex(code)
	if head == nil || len(code) != len(text) {
		return nil, nil, false
	}
	end, depth := head[1], 1
	for ; end < len(code) && depth > 0; end++ {
		depth += bytes.Count(code[end:end+1], []byte("{")) - bytes.Count(code[end:end+1], []byte("}"))
	}
	if depth != 0 {
		return nil, nil, false
	}
	left = bytes.Clone(text)
	blank(left[head[1] : end-1])
	blank(code[head[1] : end-1])
	return left, code, true
}

// liesIn reports whether a folder has the header that a line includes.
func liesIn(folder string, line []byte) bool {
	_, name, _ := bytes.Cut(line, []byte("include"))
	_, err := os.Stat(filepath.Join(folder, string(bytes.Trim(name, " \t<>\""))))
	return err == nil
}

// blank overwrites everything but line ends with blanks.
func blank(text []byte) {
	for i, c := range text {
		if c != '\n' {
			text[i] = ' '
		}
	}
}
