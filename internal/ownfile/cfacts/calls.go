package cfacts

import (
	"slices"
	"strings"
)

// LastName returns a name without its namespaces.
func LastName(name string) string { return name[strings.LastIndex(name, ":")+1:] }

// call is a place where a file calls or launches a function: at is the index of the name or of the <<<, open
// that of the argument list.
type call struct{ at, open int }

// callsByName returns the places in the file itself: a file may have thousands of kernels.
func (f *File) callsByName() map[string][]call {
	calls := map[string][]call{}
	for i := 0; i+1 < len(f.Tokens); i++ {
		if word := f.Tokens[i]; word.Text == "<<<" {
			name, open := LaunchedName(f.Tokens, i), ConfigurationEnd(f.Tokens, i)+1
			if open < len(f.Tokens) && f.Tokens[open].Text == "(" {
				calls[name] = append(calls[name], call{i, open})
			}
		} else if f.Tokens[i+1].Text == "(" {
			calls[word.Text] = append(calls[word.Text], call{i, i + 1})
		}
	}
	return calls
}

// Walk visits a function and those that it calls or launches, three deep. name maps the parameters of each to
// their names in the first one, or to "".
func (f *File) Walk(fn *Function, visit func(fn *Function, name func(string) string)) {
	var descend func(fn *Function, name func(string) string, depth int)
	descend = func(fn *Function, name func(string) string, depth int) {
		visit(fn, name)
		for i := 0; i < len(fn.Body) && depth < 3; i++ {
			if callee, handed := f.handed(fn, i, name); callee != nil {
				descend(callee, func(word string) string { return handed[word] }, depth+1)
			}
		}
	}
	descend(fn, func(name string) string { return name }, 0)
}

// Anywhere reports whether something holds at a token of a function, or of those that it calls or launches.
func (f *File) Anywhere(fn *Function, is func(fn *Function, at int) bool) bool {
	found := false
	f.Walk(fn, func(fn *Function, _ func(string) string) {
		for i := range fn.Body {
			found = found || is(fn, i)
		}
	})
	return found
}

// HasSize reports whether a function has an integer parameter of a name.
func (fn *Function) HasSize(name string) bool {
	return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.IsInteger() && p.Name == name })
}

// handed returns the function of the file that is launched or called at a token, and the names of its
// parameters in the function of interest, or nil if there is none.
func (f *File) handed(fn *Function, i int, name func(string) string) (*Function, map[string]string) {
	callee, open := f.AnyCalled(fn, i)
	if callee == nil {
		return nil, nil
	}
	copies := deviceCopies(fn.Body)
	names := map[string]string{}
	for at, argument := range SplitAtCommas(Inside(fn.Body, open)) {
		if word := OnlyName(argument); word != "" && at < len(callee.Params) {
			if host, is := copies[word]; is {
				word = host
			}
			names[callee.Params[at].Name] = name(word)
		}
	}
	return callee, names
}

// Called returns the kernel or host function of the file that is launched or called at a token, and the index
// of the parenthesis before its arguments, or nil if there is none.
func (f *File) Called(fn *Function, i int) (callee *Function, open int) {
	return calledOf(f.Functions, fn, i)
}

// AnyCalled returns the function of the file, perhaps a __device__ one, that is called or launched at a
// token.
func (f *File) AnyCalled(fn *Function, i int) (callee *Function, open int) {
	if callee, open = calledOf(f.Functions, fn, i); callee == nil {
		callee, open = calledOf(f.Helpers, fn, i)
	}
	return callee, open
}

func calledOf(list []Function, fn *Function, i int) (callee *Function, open int) {
	name := fn.Body[i].Text
	if name == "<<<" {
		name, open = LaunchedName(fn.Body, i), ConfigurationEnd(fn.Body, i)+1
	} else if open = callOpens(fn.Body, i); open < 0 {
		return nil, 0
	}
	at := slices.IndexFunc(list, func(o Function) bool { return o.Name == name && o.Name != fn.Name })
	if at < 0 || TextAt(fn.Body, open) != "(" {
		return nil, 0
	}
	return &list[at], open
}

// callOpens returns the index of the opening parenthesis of a call whose name is at a token, after any
// template arguments: warp_sum<32>(x). It returns -1 if nothing is called there.
func callOpens(body []Token, i int) int {
	at := i + 1
	if at < len(body) && body[i].IsName() && body[at].Text == "<" {
		argument := func(t Token) bool { return t.IsName() || t.beginsWithDigit() || t.Text == "," }
		for at++; at < len(body) && argument(body[at]); {
			at++
		}
		if at >= len(body) || body[at].Text != ">" {
			return -1
		}
		at++
	}
	if at >= len(body) || body[at].Text != "(" {
		return -1
	}
	return at
}

// OnlyName returns the only name in an argument, ignoring a cast and an &, or "" if there is more.
func OnlyName(argument []Token) string {
	if n := len(argument); n > 1 && argument[0].Text == "(" {
		argument = argument[Closing(argument, 0)+1:]
	}
	if len(argument) == 1 && argument[0].IsName() {
		return argument[0].Text
	}
	return ""
}

// deviceCopies maps the buffers that a function copies its parameters to or from: d_A of cudaMemcpy(d_A, A,
// ...) stands for A.
func deviceCopies(body []Token) map[string]string {
	copies := map[string]string{}
	for i := 0; i+1 < len(body); i++ {
		if !strings.HasPrefix(body[i].Text, "cudaMemcpy") || body[i+1].Text != "(" {
			continue
		}
		parts := SplitAtCommas(Inside(body, i+1))
		if len(parts) < 4 {
			continue
		}
		to, from := OnlyName(parts[0]), OnlyName(parts[1])
		switch kind := OnlyName(parts[3]); {
		case to == "" || from == "":
		case kind == "cudaMemcpyHostToDevice":
			copies[to] = from
		case kind == "cudaMemcpyDeviceToHost":
			copies[from] = to
		}
	}
	return copies
}

// CutAt splits tokens at signs of depth 0.
func CutAt(tokens []Token, signs string) [][]Token {
	var parts [][]Token
	depth, start := 0, 0
	for i, t := range tokens {
		switch {
		case strings.Contains("([{", t.Text):
			depth++
		case strings.Contains(")]}", t.Text):
			depth--
		case depth == 0 && strings.Contains(signs, t.Text):
			parts = append(parts, tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, tokens[start:])
}

// LastValue returns the last value of a variable: of "int n = 256;" or "dim3 n(16, 16);", the latter as dim3
// (16, 16).
func LastValue(before []Token, name string) []Token {
	for i := len(before) - 2; i > 0; i-- {
		if before[i].Text != name || before[i-1].Text == "." {
			continue
		}
		value := before[i:min(ValueEnd(before, i), len(before))]
		switch {
		case HasTexts(value, "argv"): // the user's own number
		case before[i+1].Text == "=" && len(value) > 2:
			return value[2:]
		case before[i+1].Text == "(" && (before[i-1].Text == "dim3" || before[i-1].Text == ","):
			return append([]Token{{Text: "dim3"}}, value[1:]...)
		}
	}
	return nil
}

// Assigned returns the first value of a variable: "i = row * N + k;".
func Assigned(body []Token, name string) []Token {
	for i := 1; i+2 < len(body); i++ {
		if body[i].Text != name || body[i+1].Text != "=" {
			continue
		}
		return body[i+2 : ValueEnd(body, i+2)]
	}
	return nil
}

// ValueEnd returns the index of the ; or , that ends a value which begins at an index.
func ValueEnd(tokens []Token, at int) int {
	for depth := 0; at < len(tokens); at++ {
		switch text := tokens[at].Text; {
		case strings.Contains("([{", text):
			depth++
		case strings.Contains(")]}", text):
			depth--
		case depth <= 0 && (text == ";" || text == ","):
			return at
		}
	}
	return at
}

// Names returns the names of functions.
func Names(list []Function) (names []string) {
	for _, fn := range list {
		names = append(names, fn.Name)
	}
	return names
}

// Uses reports whether a function's lines call or launch one of that name.
func (fn *Function) Uses(name string) bool {
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i].Text == name && slices.Contains([]string{"(", "<", "<<<"}, fn.Body[i+1].Text) {
			return true
		}
	}
	return false
}

// HostArrays returns the parameters of a function of the file that point to host memory: if it copies one of
// its pointers to or from the device itself, all do except those that it passes to a kernel.
func (f *File) HostArrays(fn Function) []string {
	if fn.Kind != Host || !f.copiesParameter(&fn, copiesDepth) {
		return nil
	}
	var names []string
	for _, p := range fn.Params {
		if p.Pointer && !fn.handsToKernel(p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

// copiesDepth limits the functions of a file through which a pointer is followed.
const copiesDepth = 2

// copiesParameter reports whether a function copies from a parameter to the device, or to one from the
// device, or passes one to a function that does.
func (f *File) copiesParameter(fn *Function, depth int) bool {
	isParam := func(name string) bool {
		return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.Pointer && p.Name == name })
	}
	for i := 0; i+1 < len(fn.Body); i++ {
		callee, open := f.Called(fn, i)
		if callee != nil && callee.Kind == Host && depth > 0 && f.copiesParameter(callee, depth-1) &&
			slices.ContainsFunc(SplitAtCommas(Inside(fn.Body, open)), func(argument []Token) bool {
				return isParam(OnlyName(argument))
			}) {
			return true
		}
		if isParam(OnlyName(copiedHost(fn.Body, i))) {
			return true
		}
	}
	return false
}

// copiedHost returns the argument of a cudaMemcpy that lies on the host; nil if there is none.
func copiedHost(body []Token, at int) []Token {
	if body[at].Text != "cudaMemcpy" || at+1 == len(body) || body[at+1].Text != "(" {
		return nil
	}
	if parts := SplitAtCommas(Inside(body, at+1)); len(parts) > 3 {
		sides := map[string][]Token{"cudaMemcpyHostToDevice": parts[1], "cudaMemcpyDeviceToHost": parts[0]}
		return sides[OnlyName(parts[3])]
	}
	return nil
}

// handsToKernel reports whether a name is an argument of a launch.
func (fn *Function) handsToKernel(name string) bool {
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i].Text != ">>>" || fn.Body[i+1].Text != "(" {
			continue
		}
		if slices.ContainsFunc(SplitAtCommas(Inside(fn.Body, i+1)), func(argument []Token) bool {
			return OnlyName(argument) == name
		}) {
			return true
		}
	}
	return false
}
