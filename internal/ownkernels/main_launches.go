package ownkernels

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
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
		return fn.Kind == cfacts.Host && fn.Launches &&
			slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool { return p.Pointer })
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
	f.joined, f.inline = true, text
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
