package rewrite

import (
	"strings"
)

// signEnd returns the end of the <<< or >>> at at, by its letter; 0 if there is none. Some editors split it
// into "<< <" and ">> >", which nvcc takes as well.
func signEnd(view []byte, at int, letter byte) int {
	if at+2 >= len(view) || view[at] != letter || view[at+1] != letter {
		return 0
	}
	third := at + 2
	for third < len(view) && (view[third] == ' ' || view[third] == '\t') {
		third++
	}
	if third < len(view) && view[third] == letter {
		return third + 1
	}
	return 0
}

// launch rewrites the launch whose <<< is from open to opened:
//
//	k<256><<<rows, 256>>>(x)
//	->
//	(::cuemu::cuemu_launch(rows, 256).cuemu_kernel("k<256>")->*[=](auto... cuemu_a){
//	    k<256>(::cuemu::cuemu_argument(cuemu_a)...), ::cuemu::end_thread(cuemu_a...); })(x)
//
// Of a kernel whose parameters are known .of(&k) has arguments converted to their types on the host.
// The lambda copies what it uses, a pointer to a kernel, for a graph may call it later. It keeps deduction,
// default arguments and overloads working; the parentheses keep it safe inside a checking macro. argument and
// end_thread are for arguments whose class has a constructor or destructor: neither runs in the kernel.
func (f *file) launch(view []byte, open, opened int) error {
	start := kernelStart(view, open)
	if start == open {
		return f.errorf(open, "cannot read what <<< launches; a macro that hides a launch can use "+
			"cudaLaunchKernelEx(&config, kernel, args...) "+
			"or CUDA_LAUNCH(kernel, grid, block, shared, stream, args...)")
	}
	end, closed := configurationEnd(view, opened)
	if closed == 0 {
		return f.errorf(open, "the launch of %s has no >>> followed by its arguments in parentheses; a "+
			"macro that hides a part of a launch can use "+
			"cudaLaunchKernelEx(&config, kernel, args...) or CUDA_LAUNCH(kernel, grid, block, shared, "+
			"stream, args...)",
			kernelName(view[start:open]))
	}
	if within(f.kernels.bodies, open) {
		return f.errorf(open, "a kernel launches %s (dynamic parallelism), which the emulator does not run: "+
			"launch it from host code", kernelName(view[start:open]))
	}
	kernel, configuration := string(f.text[start:open]), string(f.text[opened:end])
	form := ")->*[=](auto... cuemu_a){ "
	call := "(::cuemu::cuemu_argument(cuemu_a)...), ::cuemu::end_thread(cuemu_a...); })"
	if f.kernels.types(view[start:open]) {
		form = ").of(&" + strings.TrimSpace(kernel) + form
	}
	if f.kernels.takesReference[lastName(view[start:open])] {
		form, call = ").by_reference()->*[=](auto &&...cuemu_a) CUEMU_PLAIN { ", "(cuemu_a...); })"
	}
	f.edits = append(f.edits, edit{start, closed, "(::cuemu::cuemu_launch(" + configuration +
		").cuemu_kernel(" + quote(kernelName(view[start:open])) + form + kernel + call})
	f.nullArguments(view, skip(view, closed))
	return nil
}

// nullArguments writes nullptr for an argument NULL, which would be a number to the lambda.
func (f *file) nullArguments(view []byte, open int) {
	closing, ok := GroupEnd(view, open)
	if !ok {
		return
	}
	for _, at := range splitAt(view, open+1, closing, ',') {
		from, to := skip(view, at.from), skipBack(view, at.to)
		if from < to && string(view[from:to]) == "NULL" {
			f.edits = append(f.edits, edit{from, to, "nullptr"})
		}
	}
}

// kernelName returns the kernel's expression on one line.
func kernelName(expression []byte) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(string(expression), "\\\n", "\n")), " ")
}

// configurationEnd returns the offset and the end of the >>> that closes a configuration beginning at from,
// the first outside all parentheses that an argument list follows; closed is 0 if there is none.
func configurationEnd(view []byte, from int) (end, closed int) {
	depth := 0
	for i := from; i < len(view); i++ {
		switch view[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return 0, 0
			}
		case ';':
			if depth == 0 {
				return 0, 0
			}
		case '>':
			after := signEnd(view, i, '>')
			if depth > 0 || after == 0 {
				continue
			}
			if next := skip(view, after); next < len(view) && view[next] == '(' {
				return i, after
			}
		}
	}
	return 0, 0
}

// kernelStart scans back from open over the kernel's expression: a qualified name with template arguments, a
// member, an index, a call or something in parentheses. It returns open if there is none.
func kernelStart(view []byte, open int) int {
	start := primaryStart(view, skipBack(view, open))
	if start < 0 {
		return open
	}
	for {
		at := skipBack(view, start)
		if at > 0 && precedingWord(view, at) == "template" {
			at = skipBack(view, at-len("template"))
			start = at
		}
		switch {
		case at >= 2 && view[at-1] == ':' && view[at-2] == ':':
			start = at - 2
			if next := primaryStart(view, skipBack(view, start)); next >= 0 &&
				isScopeName(view, next, start) {
				start = next
				continue
			}
			return start // a leading ::
		case at >= 2 && view[at-1] == '>' && view[at-2] == '-':
			at -= 2
		case at >= 1 && view[at-1] == '.':
			at--
		case at >= 1 && view[at-1] == '<':
			return open // k<a < b><<<: the template arguments need parentheses
		default:
			return start
		}
		if start = primaryStart(view, skipBack(view, at)); start < 0 {
			return open
		}
	}
}

// isScopeName reports whether view[from:to] can precede a ::. A closing parenthesis or bracket cannot: the ::
// is a leading one.
func isScopeName(view []byte, from, to int) bool {
	last := view[skipBack(view, to)-1]
	return last != ')' && last != ']' && from < to
}

// primaryStart returns the start of the primary expression that ends at end, with its template arguments,
// indices and calls; -1 if there is none.
func primaryStart(view []byte, end int) int {
	at := end
	for at > 0 {
		switch c := view[at-1]; {
		case c == '>':
			if at = templateStart(view, at); at < 0 {
				return -1
			}
			at = skipBack(view, at)
			if at == 0 || !isWord(view[at-1]) {
				return -1
			}
		case c == ']':
			if at = groupStart(view, at); at < 0 {
				return -1
			}
			at = skipBack(view, at)
		case c == ')':
			group := groupStart(view, at)
			if group < 0 {
				return -1
			}
			before := skipBack(view, group)
			word := precedingWord(view, before)
			template := before > 0 && view[before-1] == '>' && !(before > 1 && view[before-2] == '-')
			if !template && (word == "" || isKeyword(word)) {
				return group
			}
			at = before
		case isWord(c):
			word := precedingWord(view, at)
			start := at - len(word)
			if pasted := skipBack(view, start); pasted > 1 && view[pasted-1] == '#' && view[pasted-2] == '#' {
				at = skipBack(view, pasted-2) // name##_kernel, in a macro
				continue
			}
			if isKeyword(word) || isDigit(word[0]) {
				return -1
			}
			return start
		default:
			return -1
		}
	}
	return -1
}

// groupStart returns the offset of the bracket that matches the closing one before end.
func groupStart(view []byte, end int) int {
	depth := 0
	for i := end - 1; i >= 0; i-- {
		switch view[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// templateStart returns the offset of the < that matches the > before end. Shifts and comparisons with = are
// no brackets; a plain comparison inside template arguments needs parentheses, as in C++.
func templateStart(view []byte, end int) int {
	depth := 0
	for i := end - 1; i >= 0; i-- {
		switch view[i] {
		case ')', ']', '}':
			if i = groupStart(view, i+1); i < 0 {
				return -1
			}
		case '(', '[', '{', ';':
			return -1
		case '>':
			if i > 0 && view[i-1] == '-' || i+1 < end && view[i+1] == '=' {
				continue
			}
			depth++
		case '<':
			if i+1 < end && view[i+1] == '=' {
				continue
			}
			if i > 0 && view[i-1] == '<' {
				i--
				continue
			}
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// precedingWord returns the word that ends at end, or "".
func precedingWord(view []byte, end int) string {
	start := end
	for start > 0 && isWord(view[start-1]) {
		start--
	}
	return string(view[start:end])
}

// isKeyword reports whether a word cannot be the name of a kernel or of a function that returns one.
func isKeyword(word string) bool {
	switch word {
	case "if", "while", "for", "switch", "return", "else", "do", "case", "default", "goto", "constexpr",
		"co_return", "catch", "sizeof", "new",
		"delete", "throw", "template", "typename", "namespace", "using":
		return true
	}
	return false
}
