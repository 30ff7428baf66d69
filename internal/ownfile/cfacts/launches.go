package cfacts

import (
	"cmp"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/observed"
)

// ConfigurationEnd returns the index of the >>> of a <<<; the number of tokens without one.
func ConfigurationEnd(tokens []Token, at int) int {
	for at < len(tokens) && tokens[at].Text != ">>>" {
		at++
	}
	return at
}

// LaunchedName returns the name before <<<, without template arguments.
func LaunchedName(tokens []Token, at int) string {
	i := at - 1
	if i >= 0 && tokens[i].Text == ">" {
		for depth := 0; i >= 0; i-- {
			switch tokens[i].Text {
			case ">":
				depth++
			case "<":
				depth--
			}
			if depth == 0 {
				i--
				break
			}
		}
	}
	if i < 0 {
		return ""
	}
	return tokens[i].Text
}

// LaunchedArguments returns the template arguments with which main() launches a kernel; none if one is
// neither a type nor a number.
func (f *File) LaunchedArguments(fn Function) []string {
	l := f.Observed().FirstLaunch(LastName(fn.Name), len(fn.Params))
	if l == nil || slices.Contains(l.Template(), "?") {
		return nil
	}
	return l.Template()
}

// Instantiated returns the dtypes for which the file explicitly instantiates a template, "template void
// softmax<float>(...);", since it is not written for others. It returns none if there are none.
func (f *File) Instantiated(fn Function) (all []op.DType) {
	name := LastName(fn.Name)
	for i := 0; i+3 < len(f.Tokens); i++ {
		if f.Tokens[i].Text != "template" || f.Tokens[i+1].Text == "<" {
			continue
		}
		for k := i + 1; k+2 < len(f.Tokens) && f.Tokens[k].Text != ";" && f.Tokens[k].Text != "("; k++ {
			d, known := ElementTypes[f.Resolve(f.Tokens[k+2].Text)]
			if known && TextsAt(f.Tokens, k, name, "<") {
				all = append(all, d)
			}
		}
	}
	return all
}

// passLaunchesOn finds the functions that launch a kernel which they take as an argument, as a template does
// that takes the kernel's type. The callers of such a function can be judged.
func (f *File) passLaunchesOn() {
	var launchers []string
	for i := range f.Functions {
		fn := &f.Functions[i]
		if fn.Launcher = fn.Kind == Host && fn.launchesParameter(); fn.Launcher {
			launchers = append(launchers, fn.Name)
		}
	}
	for i := range f.Functions {
		fn := &f.Functions[i]
		for k := 0; k+1 < len(fn.Body); k++ {
			calls := fn.Body[k+1].Text == "(" || fn.Body[k+1].Text == "<"
			if calls && slices.Contains(launchers, fn.Body[k].Text) {
				fn.Launches = true
			}
		}
	}
}

// launchesParameter reports whether the lines launch one of the function's own parameters: "kernel<<<".
func (fn *Function) launchesParameter() bool {
	for k := 0; k+1 < len(fn.Body); k++ {
		if fn.Body[k+1].Text == "<<<" && slices.ContainsFunc(fn.Params, func(p Param) bool {
			return p.Name == fn.Body[k].Text && !p.Pointer
		}) {
			return true
		}
	}
	return false
}

// KernelsNotLaunched returns the names of the kernels of a CUDA file that none of its lines launches.
func (f *File) KernelsNotLaunched() (names []string) {
	for _, fn := range f.Functions {
		launches := func(c call) bool { return f.Tokens[c.at].Text == "<<<" }
		if fn.Kind == Kernel && !slices.ContainsFunc(f.calls[LastName(fn.Name)], launches) {
			names = append(names, fn.Name)
		}
	}
	return names
}

// LaunchWords returns the words of each side of the grid with which a line of the file launches a kernel, and
// of each argument, with the value of a variable in its place, and the names of arguments that are variables.
// It returns none if the line launches no such kernel.
func (f *File) LaunchWords(kernel string, line int) (grid, arguments [][]Token, names []string) {
	for _, c := range f.calls[LastName(kernel)] {
		before := f.Tokens[:c.at]
		if f.Tokens[c.at].Text != "<<<" || f.Tokens[c.at].Line != line {
			continue
		}
		values := func(list [][]Token) [][]Token {
			for i, words := range list {
				name := OnlyName(words)
				_, _, constant := f.Constant(name)
				if made := LastValue(before, name); made != nil && !constant {
					list[i] = made
				}
			}
			return list
		}
		grid = values(SplitAtCommas(f.Tokens[c.at+1 : c.open-1])[:1])
		if TextsAt(grid[0], 0, "dim3", "(") {
			grid = values(SplitAtCommas(Inside(grid[0], 1)))
		}
		arguments = SplitAtCommas(Inside(f.Tokens, c.open))
		for _, words := range arguments {
			names = append(names, OnlyName(words))
		}
		return grid, values(arguments), names
	}
	return nil, nil, nil
}

// Observe takes what the main() of a CUDA file does, which is asked for where something depends on it.
func (f *File) Observe(run func() *observed.Run) { f.run = run }

// Observed returns what main() does: nothing if that is not known.
func (f *File) Observed() *observed.Run {
	if f.run == nil {
		return &observed.Run{}
	}
	return cmp.Or(f.run(), &observed.Run{})
}
