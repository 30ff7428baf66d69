package match

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// gradientWords mark the name of a backward.
var gradientWords = []string{"backward", "bwd", "grad"}

// IsBackward reports whether a name says that it is a backward. An autograd function has both passes.
func IsBackward(name string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "autograd", "")
	return slices.ContainsFunc(gradientWords, func(w string) bool { return strings.Contains(name, w) })
}

// helperWords begin the names of helper functions, which are not judged.
var helperWords = []string{
	"free", "cuda_free", "alloc", "malloc", "cuda_malloc", "bench", "benchmark", "test", "check", "verify",
	"validate", "plot", "print", "show", "dump", "main", "profile", "timeit", "init", "fill", "random",
	"rand", "generate", "gen_", "load", "save", "read", "write", "compile", "setup", "copy_to", "to_host",
	"to_device", "assert", "compare", "max_diff", "allclose", "error", "get_", "set_", "calculate_settings",
	"next_power", "cdiv", "is_",
}

// driverWords lists words that mark, anywhere in its name, a function that runs what is to be judged: it
// makes the tensors itself.
var driverWords = []string{
	"benchmark", "benchmarks", "benchmarking", "bench", "test", "tests", "demo", "main",
}

// IsHelper reports whether a function is a helper by its name: cudaFree, check_result, run_benchmark.
func IsHelper(name string) bool {
	word := Snake(cfacts.LastName(name))
	return MakesTensors(name) || slices.ContainsFunc(helperWords, func(w string) bool {
		return word == w || strings.HasPrefix(word, strings.TrimSuffix(w, "_")+"_")
	})
}

// MakesTensors reports whether, by its name, a function makes the tensors itself.
func MakesTensors(name string) bool {
	parts := strings.Split(Snake(cfacts.LastName(name)), "_")
	return slices.ContainsFunc(parts, func(part string) bool { return slices.Contains(driverWords, part) })
}

// Autograd reports whether something in the file goes through an autograd function of it.
func Autograd(f *cfacts.File) bool {
	return slices.ContainsFunc(f.Functions, func(fn cfacts.Function) bool { return fn.Parsed().Autograd })
}

// isOfWords reports whether a Python parameter is no tensor, number or switch: "title: str".
func isOfWords(p cfacts.Param) bool {
	_, annotation, _ := strings.Cut(p.Text, ":")
	annotation, _, _ = strings.Cut(annotation, "=")
	kinds := slices.DeleteFunc(cfacts.Words(annotation),
		func(w string) bool { return w == "pathlib" || w == "typing" })
	return len(kinds) > 0 && slices.Contains([]string{"str", "bytes", "Path", "Callable"}, kinds[0])
}

// WantsWords reports whether a Python function cannot be called without something that no operator has:
// words, or a kernel that it launches.
func WantsWords(fn *cfacts.Function) bool {
	return fn.Kind == cfacts.Python && slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool {
		return !p.Optional && (isOfWords(p) || p.Untyped && fn.Form == pyfacts.Plain &&
			regexp.MustCompile(`\b`+p.Name+`\[[^\]]*\]\(`).MatchString(fn.Code))
	})
}

// LaunchesTriton reports whether a Python function launches a kernel of its file.
func LaunchesTriton(f *cfacts.File, name string) bool {
	return slices.ContainsFunc(f.Functions, func(fn cfacts.Function) bool {
		return fn.Name == name && fn.Kind == cfacts.Python && fn.Kernels != ""
	})
}

// GivesGrid reports whether a Python function returns the grid of a launch, for which Triton passes it its
// constants, usually named META, or takes a launch as its arguments: grid, metadata, args.
func GivesGrid(fn cfacts.Function) bool {
	if fn.Kind != cfacts.Python || len(fn.Params) == 0 {
		return false
	}
	stated := len(fn.Params) > 1 && fn.Params[0].Name == "grid" && fn.Params[1].Name == "metadata"
	return stated || strings.EqualFold(fn.Params[0].Name, "meta")
}

// IsOfABackward reports whether a function is a kernel that is launched by host functions, all of which are
// backwards by their names: a file with only a backward has no forward. A kernel is a forward if its name
// says so, or if it has no gradient and a host function also launches kernels that are backwards by their own
// names.
func IsOfABackward(f *cfacts.File, fn cfacts.Function) bool {
	name := strings.ToLower(fn.Name)
	if fn.Kind != cfacts.Kernel || strings.Contains(name, "forward") || strings.Contains(name, "fwd") {
		return false
	}
	of, gradient := false, slices.ContainsFunc(fn.Params, isGradient)
	for _, host := range f.Functions {
		if host.Kind != cfacts.Host {
			continue
		}
		launches, beside := false, false
		for i := range host.Body {
			if callee, _ := f.Called(&host, i); callee != nil && callee.Kind == cfacts.Kernel {
				launches = launches || callee.Name == fn.Name
				beside = beside || IsBackward(callee.Name) && !gradient
			}
		}
		if launches && (beside || !IsBackward(host.Name+" "+host.BoundName)) {
			return false
		}
		of = of || launches
	}
	return of
}

// isGradientName reports whether a lower-case name is a short one of a gradient: dy, dout.
func isGradientName(name string) bool {
	of, is := strings.CutPrefix(name, "d")
	return is && (of == "out" || of == "output" || len(of) == 1 && of[0] >= 'a' && of[0] <= 'z')
}

// isGradient reports whether a parameter is, by its name, a gradient: grad_y, dy.
func isGradient(p cfacts.Param) bool {
	return p.Pointer && (IsBackward(p.Name) || isGradientName(strings.ToLower(p.Name)))
}

// SaysLetter reports whether a name says no more than a letter and whose it is: M, A_d, row_M, N0.
func SaysLetter(name string) bool {
	parts := strings.Split(Snake(name), "_")
	for i, part := range parts {
		mark := len(parts) > 1 && (i == 0 && slices.Contains([]string{"n", "d", "h", "g", "p"}, part) ||
			i == len(parts)-1 && slices.Contains([]string{"d", "h"}, part))
		if !mark && len(strings.TrimRight(part, "0123456789")) <= 1 {
			return true
		}
	}
	return false
}

// IsLetter reports whether a name is one letter, such as M.
func IsLetter(name string) bool { return len(strings.Trim(Snake(name), "_")) == 1 }
