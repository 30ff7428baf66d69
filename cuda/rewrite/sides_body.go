package rewrite

import (
	"bytes"
	"regexp"
)

// sideBody is the body of a function that belongs to one side.
type sideBody struct {
	fileSides
	sideOf
	p     *sides
	known map[string]bool // results of shadowed
}

// hostCalls matches functions of the C library that kernels lack; hostNames matches names of the C++ library.
var (
	hostCalls = regexp.MustCompile(`^(?:rand|srand|exit|fopen|fprintf|scanf|getchar|puts|putchar|system|` +
		`usleep)$`)
	hostNames = regexp.MustCompile(`^(?:vector|string|map|unordered_map|set|list|deque|queue|stack|cout|` +
		`cerr|` +
		`sort|to_string|thread|mutex|shared_ptr|unique_ptr|stringstream|mt19937|random_device)$`)
	deviceCalls = regexp.MustCompile(`^__(?:syncthreads|syncwarp|shfl\w*_sync|ballot_sync|any_sync|` +
		`all_sync)$`)
	// groups and everywhere match functions that both sides have, whatever else a file declares; those of
	// cooperative groups are found by the types of their arguments
	groups = regexp.MustCompile(`^(?:reduce|sync|any|all|ballot|inclusive_scan|exclusive_scan|` +
		`memcpy_async)$`)
	everywhere = regexp.MustCompile(`^(?:f?min|f?max|f?abs[fl]?|pow[fil]?|sqrt[fl]?|exp[f2]?|log\w*|` +
		`sin[hf]?|` +
		`cos[hf]?|tan[hf]?|floorf?|ceilf?|l?l?roundf?|isnan|isinf|mem\w+|make_\w+|atomic\w+|__\w+|main)$`)
)

// ofDevice returns an error if a device function uses something of the host.
func (b sideBody) ofDevice() *Error {
	who := b.who()
	for at := b.body.from; at < b.body.to; at++ {
		if !wordStart(b.code, at) {
			continue
		}
		name := string(b.code[at:wordEnd(b.code, at)])
		known, declared := b.p.names[name]
		calls := b.followedBy(at, "(")
		switch {
		case everywhere.MatchString(name), groups.MatchString(name), b.underIf(at):
		case name == "throw" || name == "try" && b.followedBy(at, "{"):
			return b.errorf(at, "%s uses exceptions (%s), which a GPU does not have", who, name)
		case b.ofStandard(at) && hostNames.MatchString(name),
			(name == "cout" || name == "cerr") && !declared && b.followedBy(at, "<<") && !b.shadowed(name):
			return b.errorf(at, "std::%s is for the host, and %s uses it: a kernel has arrays, and printf",
				name, who)
		case b.qualified(at) || b.p.macros[name]:
		case calls && known == kernelFunction && b.statement(at) && !b.shadowed(name):
			return b.called(at, name)
		case calls && known == hostFunction && !b.shadowed(name) && !b.unevaluated(at):
			return b.errorf(at, "%s is a function of the host, and %s calls it: write __device__ before it "+
				"(__host__ __device__, where both call it)", name, who)
		case calls && !declared && hostCalls.MatchString(name) && !b.shadowed(name):
			return b.errorf(at, "%s is a function of the host, and %s calls it", name, who)
		case known == hostVariable && !b.shadowed(name) && !b.unevaluated(at):
			return b.errorf(at, "%s is a variable of the host, and %s uses it: give it to the kernel as an "+
				"argument, or make it const, __device__ or __constant__", name, who)
		}
	}
	return nil
}

// ofHost returns an error if a host function uses something of the device.
func (b sideBody) ofHost() *Error {
	for at := b.body.from; at < b.body.to; at++ {
		if !wordStart(b.code, at) {
			continue
		}
		name := string(b.code[at:wordEnd(b.code, at)])
		known, calls := b.p.names[name], b.followedBy(at, "(")
		switch {
		case b.underIf(at), b.qualified(at), b.p.macros[name]:
		case calls && deviceCalls.MatchString(name):
			return b.errorf(at, "%s is for kernels, and %s calls it: the host waits by "+
				"cudaDeviceSynchronize()", name, b.who())
		case everywhere.MatchString(name):
		case calls && known == kernelFunction && b.statement(at) && !b.shadowed(name):
			return b.called(at, name)
		case calls && known == deviceFunction && !b.shadowed(name) && !b.unevaluated(at):
			return b.errorf(at, "%s is a function of the device, and %s calls it: write __host__ __device__ "+
				"before it", name, b.who())
		case known == deviceVariable && b.p.onDevice[name] && !b.shadowed(name) && b.plainUse(at):
			return b.errorf(at, "%s is a variable of the device, and %s uses it: the host sees another one "+
				"of the name; copy it by cudaMemcpyFromSymbol or cudaMemcpyToSymbol", name, b.who())
		}
	}
	return nil
}

func (b sideBody) called(at int, name string) *Error {
	return b.errorf(at, "the kernel %s is called like a function: launch it, %s<<<blocks, threads>>>(...)",
		name, name)
}

// who names the function.
func (b sideBody) who() string {
	if b.side == kernelFunction {
		return "the kernel " + b.names[0]
	}
	return b.names[0]
}

// underIf reports whether an offset lies under an #if that begins in the body.
func (b sideBody) underIf(at int) bool {
	for _, s := range b.conditional {
		if s.from > b.body.from && at > s.from && at < s.to {
			return true
		}
	}
	return false
}

func (b sideBody) followedBy(at int, sign string) bool {
	return bytes.HasPrefix(b.code[skip(b.code, wordEnd(b.code, at)):], []byte(sign))
}

// ofStandard reports whether a word follows a std:: that nothing qualifies.
func (b sideBody) ofStandard(at int) bool {
	before, is := bytes.CutSuffix(bytes.TrimRight(b.code[b.body.from:at], " \t\n\r"), []byte("std::"))
	return is && !bytes.HasSuffix(before, []byte(":")) && !isWord(before[len(before)-1])
}

// qualified reports whether a word is a member, or belongs to a namespace or class.
func (b sideBody) qualified(at int) bool {
	before := skipBack(b.code, at)
	c := b.code[before-1]
	return c == '.' || c == '#' || c == ':' && b.code[before-2] == ':' || c == '>' && b.code[before-2] == '-'
}

// statement reports whether a statement begins at a word.
func (b sideBody) statement(at int) bool {
	before := skipBack(b.code, at)
	switch b.code[before-1] {
	case ';', '{', '}', ')':
		return true
	}
	w := precedingWord(b.code, before)
	return w == "else" || w == "do"
}

// unevaluated reports whether a word stands in sizeof, decltype, alignof or noexcept.
func (b sideBody) unevaluated(at int) bool {
	before := skipBack(b.code, at)
	if b.code[before-1] == '(' {
		before = skipBack(b.code, before-1)
	}
	switch precedingWord(b.code, before) {
	case "sizeof", "decltype", "alignof", "noexcept":
		return true
	}
	return false
}

// shadowed reports whether a name of the file may mean something else in the function: a parameter, or a
// declaration in its body.
func (b sideBody) shadowed(name string) bool {
	found, known := b.known[name]
	if !known {
		found = b.mayShadow(name)
		b.known[name] = found
	}
	return found
}

func (b sideBody) mayShadow(name string) bool {
	body := b.code[b.body.from:b.body.to]
	if names(b.code[b.head.from:b.head.to], name) || names(body, "enum") {
		return true
	}
	depth, handed := 0, 0 // handed: where the arguments of a macro end
	for at := b.body.from; at < b.body.to; at++ {
		switch b.code[at] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		}
		if !wordStart(b.code, at) {
			continue
		}
		word := string(b.code[at:wordEnd(b.code, at)])
		if open := skip(b.code, wordEnd(b.code, at)); b.p.macros[word] && b.followedBy(at, "(") {
			if end, ok := GroupEnd(b.code, open); ok {
				handed = max(handed, end)
			}
		}
		if word != name || b.qualified(at) {
			continue
		}
		if at < handed || b.mayDeclare(at) {
			return true
		}
		before := skipBack(b.code, at)
		for b.code[before-1] == '*' || b.code[before-1] == '&' {
			before = skipBack(b.code, before-1)
		}
		direct := before == skipBack(b.code, at)
		w := precedingWord(b.code, before)
		switch c := b.code[before-1]; {
		case w != "" && !isKeyword(w) && !isDigit(w[0]) && (direct || b.declares(before-len(w))):
			return true
		case c == '>' && direct && b.followedByDeclarator(at), c == ',' && depth == 0:
			return true
		}
	}
	return false
}

// mayDeclare reports whether a word may be declared at its place, whatever surrounds it: j = 0, name = 1;
// auto [name, other]; [name = n]; Box<T> &name; (*name)(int); decltype(n) name = 1.
func (b sideBody) mayDeclare(at int) bool {
	next := skip(b.code, wordEnd(b.code, at))
	given := b.code[next] == '=' && b.code[next+1] != '='
	ends := given || bytes.IndexByte([]byte(";{["), b.code[next]) >= 0
	before := skipBack(b.code, at)
	starred := false
	for b.code[before-1] == '*' || b.code[before-1] == '&' {
		before, starred = skipBack(b.code, before-1), true
	}
	switch b.code[before-1] {
	case ',':
		return ends || b.bound(before-1)
	case '[':
		return given || b.bound(before-1)
	case '(':
		return starred && b.code[next] == ')'
	case '>', ')':
		return ends
	}
	return false
}

// bound reports whether an offset lies within the brackets of auto [a, b].
func (b sideBody) bound(at int) bool {
	open := bytes.LastIndexByte(b.code[b.body.from:at+1], '[')
	if open < 0 || bytes.IndexByte(b.code[b.body.from+open:at+1], ']') >= 0 {
		return false
	}
	before := skipBack(b.code, b.body.from+open)
	for b.code[before-1] == '&' {
		before = skipBack(b.code, before-1)
	}
	return precedingWord(b.code, before) == "auto"
}

// declares reports whether the word at an offset, followed by a *, may be the type of a declaration: a
// statement or a parameter begins with it.
func (b sideBody) declares(at int) bool {
	before := skipBack(b.code, at)
	w := precedingWord(b.code, before)
	return bytes.IndexByte([]byte(";{}(,:"), b.code[before-1]) >= 0 || w != "" && !isKeyword(w)
}

// followedByDeclarator reports whether the text after a word may end a declaration of it, as in vec<int>
// name;
func (b sideBody) followedByDeclarator(at int) bool {
	next := skip(b.code, wordEnd(b.code, at))
	return bytes.IndexByte([]byte(";=[{,"), b.code[next]) >= 0
}

var reads = regexp.MustCompile(`^(?:printf|fprintf|if|while|for|assert)$`)

// plainUse reports whether the host reads or writes a variable itself, instead of naming it for one of CUDA's
// functions or passing it to a function that may do so.
func (b sideBody) plainUse(at int) bool {
	start := b.body.from + bytes.LastIndexAny(b.code[b.body.from:at], ";{}") + 1
	end := at + bytes.IndexAny(b.code[at:], ";{}")
	statement := b.code[start:end]
	if bytes.Contains(bytes.ToLower(statement), []byte("cuda")) || bytes.Contains(statement, []byte("<<<")) ||
		b.p.maybeMacro(anyWord.FindAll(statement, -1)) || names(statement, "sizeof") ||
		b.code[skipBack(b.code, at)-1] == '&' {
		return false
	}
	depth := 0
	for i := at - 1; i >= start; i-- {
		switch b.code[i] {
		case ')', ']':
			depth++
		case '[':
			depth--
		case '(':
			if depth--; depth < 0 {
				callee := precedingWord(b.code, skipBack(b.code, i))
				return callee == "" || reads.MatchString(callee)
			}
		}
	}
	return true
}
