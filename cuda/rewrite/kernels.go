package rewrite

import "bytes"

// kernels holds what launches must know about the kernels of a text.
type kernels struct {
	bodies []span
	// takesReference has the names of kernels with a parameter T &: it is the caller's own object; of any
	// other parameter every thread gets a copy.
	takesReference map[string]bool
	named          map[string][]span // bodies by the kernel's name: overloads, and variants under #if
	// takesMore has the names of templates, whose parameters may be deduced, and of kernels with default
	// arguments: the types of their parameters do not match those of a launch's arguments one by one.
	takesMore map[string]bool
}

// types reports whether &name gives the types that the arguments of a launch are converted to: the text has
// exactly one kernel of the name, which is no template and has no default or reference parameters.
func (k *kernels) types(expression []byte) bool {
	name := lastName(expression)
	for _, c := range expression {
		if !isWord(c) && c != ':' && c != ' ' {
			return false
		}
	}
	return len(k.named[name]) == 1 && !k.takesMore[name] && !k.takesReference[name]
}

// kernelsOf finds the functions with the word __global__.
func kernelsOf(code []byte) kernels {
	k := kernels{takesReference: map[string]bool{}, named: map[string][]span{}, takesMore: map[string]bool{}}
	word := []byte("__global__")
	for at := 0; ; {
		next := bytes.Index(code[at:], word)
		if next < 0 {
			return k
		}
		before := code[bytes.LastIndexAny(code[:at+next], ";{}")+1 : at+next]
		at += next + len(word)
		open, closing := parametersAfter(code, at)
		if closing == 0 {
			continue
		}
		if referenceIn(code, span{open + 1, closing}) {
			k.takesReference[lastName(code[at:open])] = true
		}
		if names(before, "template") || bytes.ContainsRune(code[open:closing], '=') {
			k.takesMore[lastName(code[at:open])] = true
		}
		if body := skip(code, closing+1); body < len(code) && code[body] == '{' {
			if end := bodyEnd(code, body); end < len(code) { // else a brace stands twice, under #if and #else
				k.bodies = append(k.bodies, span{body, end})
				name := lastName(code[at:open])
				k.named[name] = append(k.named[name], span{body, end})
			}
		}
	}
}

// ReturnsEarly reports whether a kernel of the text may end before its last line: by the word return in its
// body or in a macro of the text, or by inline PTX. found reports whether the text has its body; kernel is
// its expression in a launch.
func ReturnsEarly(text []byte, kernel string) (found, returns bool) {
	text = withoutMark(text)
	code := Code(text)
	for _, body := range kernelsOf(code).named[lastName([]byte(kernel))] {
		found = true
		inside := code[body.from:body.to]
		returns = returns || names(inside, "return") || names(inside, "asm") || names(inside, "__asm__")
	}
	masked := maskLiterals(text)
	for _, d := range directives(masked) {
		returns = returns || names(masked[d.body:d.end], "return")
	}
	return found, returns
}

// parametersAfter returns the parentheses of a function's parameters, behind its name. It skips those of
// attributes.
func parametersAfter(code []byte, at int) (open, closing int) {
	for i := at; i < len(code); i++ {
		switch code[i] {
		case ';', '{', '}':
			return 0, 0
		case '(':
			end, ok := GroupEnd(code, i)
			if !ok {
				return 0, 0
			}
			switch lastName(code[at:i]) {
			case "__launch_bounds__", "__maxnreg__", "__attribute__", "__cluster_dims__", "alignas",
				"__align__":
				i = end
				continue
			}
			return i, end
		}
	}
	return 0, 0
}

// referenceIn reports whether a parameter is an lvalue reference: an & outside of template arguments.
func referenceIn(code []byte, parameters span) bool {
	angles := 0
	for i := parameters.from; i < parameters.to; i++ {
		switch code[i] {
		case '<':
			angles++
		case '>':
			angles--
		case '&':
			if angles > 0 || code[i+1] == '&' || code[i-1] == '&' {
				continue
			}
			next := skip(code, i+1)
			word := wordStart(code, next) && !isDigit(code[next])
			return word || next >= parameters.to || code[next] == ',' || code[next] == ')' ||
				referenceIn(code, span{i + 1, parameters.to})
		}
	}
	return false
}

// bodyEnd returns the offset of the brace that closes a function's body.
func bodyEnd(code []byte, open int) int {
	depth := 0
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(code)
}

// lastName returns the last word of an expression, without template arguments: of ns::k<256> it is k.
func lastName(expression []byte) string {
	end := skipBack(expression, len(expression))
	if end > 0 && expression[end-1] == '>' {
		if start := templateStart(expression, end); start >= 0 {
			end = skipBack(expression, start)
		}
	}
	return precedingWord(expression, end)
}
