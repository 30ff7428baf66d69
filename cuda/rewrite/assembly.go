package rewrite

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// assembly rewrites a statement of inline PTX whose instructions the emulator knows into calls of functions
// that have the instructions' names (cuda/emulator/cuemu/ptx.h):
//
//	asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at))
//	->
//	::cuemu::ptx::ldmatrix_sync_aligned_m8n8_x2_shared_b16((a), (b), (at))
//
// Several instructions, and registers of the statement's own, become a lambda that is called. Anything else
// is noted and stays: a CPU's compiler rejects it, unless the preprocessor leaves it out.
func (f *file) assembly(view []byte, at, end int) {
	open := skip(view, end)
	for wordStart(view, open) {
		if word := string(view[open:wordEnd(view, open)]); word != "volatile" && word != "__volatile__" {
			return
		}
		open = skip(view, wordEnd(view, open))
	}
	if open >= len(view) || view[open] != '(' {
		return
	}
	closed, ok := GroupEnd(view, open)
	if !ok {
		return
	}
	text, unknown := f.calls(view, open+1, closed)
	if text == "" && unknown == "" { // a fence for the compiler, asm volatile("" ::: "memory")
		return
	}
	if unknown != "" {
		f.notes = append(f.notes, Note{f.line(at), "inline PTX: " + unknown + "; keep it to variants for " +
			"one architecture, inside #if !defined(__CUEMU__)"})
		return
	}
	f.edits = append(f.edits, edit{at, closed + 1, text + lineEnds(f.text[at:closed])})
}

// calls returns the text that replaces the statement between its parentheses, or else what of it is unknown.
func (f *file) calls(view []byte, from, to int) (text, unknown string) {
	sections := splitAt(view, from, to, ':')
	template, plain := f.literals(view, sections[0])
	if !plain {
		return "", "its text is no literal"
	}
	var operands []operand
	for _, section := range sections[1:min(len(sections), 3)] {
		for _, at := range splitAt(view, section.from, section.to, ',') {
			if strings.TrimSpace(string(view[at.from:at.to])) == "" {
				continue
			}
			o, read := readOperand(view, at)
			if !read {
				return "", "an operand cannot be read"
			}
			operands = append(operands, o)
		}
	}
	return ptxCalls(template, operands)
}

// span is a part of a text.
type span struct{ from, to int }

// splitAt splits view[from:to] at a letter outside of all brackets.
func splitAt(view []byte, from, to int, letter byte) []span {
	var all []span
	depth, start := 0, from
	for i := from; i < to; i++ {
		switch view[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case letter:
			if depth == 0 {
				all = append(all, span{start, i})
				start = i + 1
			}
		}
	}
	return append(all, span{start, to})
}

// literals joins the string literals of a part; plain is false if it has anything else.
func (f *file) literals(view []byte, at span) (text string, plain bool) {
	var b strings.Builder
	for i := skip(view, at.from); i < at.to; i = skip(view, i) {
		closing := i
		if view[i] == '"' {
			closing = literalEnd(f.text, i)
		}
		if closing == i || closing >= at.to {
			return "", false
		}
		part, err := strconv.Unquote(string(f.text[i : closing+1]))
		if err != nil {
			return "", false
		}
		b.WriteString(part)
		i = closing + 1
	}
	return b.String(), skip(view, at.from) < at.to
}

// operand is an expression of the kernel that a statement refers to by its number or by a name.
type operand struct{ name, expression string }

var operandHead = regexp.MustCompile(`^\s*(?:\[\s*(\w+)\s*\])?\s*"[^"]*"\s*\(`)

// readOperand reads [name] "constraint" (expression). A literal in the expression is not read.
func readOperand(view []byte, at span) (operand, bool) {
	text := view[at.from:at.to]
	m := operandHead.FindSubmatchIndex(text)
	if m == nil {
		return operand{}, false
	}
	end, ok := GroupEnd(text, m[1]-1)
	if !ok || strings.TrimSpace(string(text[end+1:])) != "" {
		return operand{}, false
	}
	var o operand
	if m[2] >= 0 {
		o.name = string(text[m[2]:m[3]])
	}
	o.expression = strings.Join(strings.Fields(string(text[m[1]-1:end+1])), " ")
	return o, !strings.ContainsAny(o.expression, `"'`)
}

// lineEnds returns the line ends of a text, which its replacement keeps.
func lineEnds(text []byte) string {
	var b strings.Builder
	for i, c := range text {
		if c != '\n' {
			continue
		}
		if i > 0 && (text[i-1] == '\\' || text[i-1] == '\r' && i > 1 && text[i-2] == '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	ptxComment  = regexp.MustCompile(`//[^\n]*|(?s:/\*.*?\*/)`)
	ptxRegister = regexp.MustCompile(`^\.reg\s+\.\w+\s+(\w+(?:\s*,\s*\w+)*)$`)
	ptxGuard    = regexp.MustCompile(`^@(!?)(\w+)\s+`)
	ptxWord     = regexp.MustCompile(`^([a-z][\w.:]*)\s*(.*)$`)
	ptxHint     = regexp.MustCompile(`\.L2::(?:64|128|256)B`)
)

// ptxCalls converts the text of a statement to calls.
func ptxCalls(template string, operands []operand) (text, unknown string) {
	registers := map[string]bool{}
	var declared, calls []string
	for _, statement := range ptxStatements(template) {
		if m := ptxRegister.FindStringSubmatch(statement); m != nil {
			for _, name := range strings.Split(m[1], ",") {
				name = strings.TrimSpace(name)
				registers[name] = true
				declared = append(declared, "::cuemu::ptx::Register cuemu_"+name+"; ")
			}
			continue
		}
		guard := ""
		if m := ptxGuard.FindStringSubmatch(statement); m != nil && registers[m[2]] {
			guard, statement = fmt.Sprintf("if (%scuemu_%s) ", m[1], m[2]), statement[len(m[0]):]
		}
		call, unknown := ptxCall(statement, operands, registers)
		if unknown != "" {
			return "", unknown
		}
		calls = append(calls, guard+call)
	}
	switch {
	case len(calls) == 0:
		return "", ""
	case len(calls) == 1 && len(declared) == 0:
		return calls[0], ""
	}
	return "[&] { " + strings.Join(declared, "") + strings.Join(calls, "; ") + "; }()", ""
}

// ptxStatements splits a text at its semicolons, without comments and without the braces of blocks.
func ptxStatements(template string) []string {
	var all []string
	for _, statement := range strings.Split(ptxComment.ReplaceAllString(template, ""), ";") {
		statement = strings.Join(strings.Fields(statement), " ")
		for strings.HasPrefix(statement, "{") || strings.HasPrefix(statement, "}") {
			statement = strings.TrimSpace(statement[1:])
		}
		if statement != "" {
			all = append(all, statement)
		}
	}
	return all
}

// ptxAccess matches loads and stores: whether volatile, the memory, cache hints, the vector length, the type.
var ptxAccess = regexp.MustCompile(`^(ld|st)(?:\.weak)?(\.volatile)?\.(global|shared)` +
	`(?:\.(?:nc|ca|cg|cs|lu|cv|wb|wt|L1::\w+|L1_no_allocate))*(\.v[24])?\.([busf])(8|16|32|64)$`)

// accessName returns the name of a load or store without what makes no difference: hints, the vector length,
// which its operands show, and of the type all but the size and, if it is widened, the sign.
func accessName(access []string) string {
	letter := "u"
	if access[5] == "s" && (access[6] == "8" || access[6] == "16") {
		letter = "s"
	}
	return access[1] + access[2] + "." + access[3] + "." + letter + access[6]
}

// ldmatrixName returns the name of an ldmatrix with its modifiers in the manual's order: the assembler takes
// any.
func ldmatrixName(name string) string {
	const begin = "ldmatrix.sync.aligned."
	rest, is := strings.CutPrefix(name, begin)
	if !is {
		return name
	}
	modifiers := strings.Split(rest, ".")
	order := strings.Fields("m8n8 x1 x2 x4 trans shared b16")
	slices.SortStableFunc(modifiers, func(a, b string) int {
		return slices.Index(order, a) - slices.Index(order, b)
	})
	return begin + strings.Join(modifiers, ".")
}

// ptxCall returns the call for one instruction.
func ptxCall(statement string, operands []operand, registers map[string]bool) (text, unknown string) {
	m := ptxWord.FindStringSubmatch(statement)
	if m == nil {
		return "", fmt.Sprintf("%q is no instruction that the emulator knows", statement)
	}
	name := ldmatrixName(strings.ReplaceAll(ptxHint.ReplaceAllString(m[1], ""), "shared::cta", "shared"))
	access := ptxAccess.FindStringSubmatch(name)
	if access != nil {
		name = accessName(access)
	} else if !ptxInstructions[name] {
		return "", fmt.Sprintf("the emulator does not know the instruction %s", m[1])
	}
	var arguments []string
	for _, word := range strings.Split(strings.NewReplacer("{", "", "}", "").Replace(m[2]), ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		argument, read := ptxArgument(word, operands, registers)
		if !read {
			return "", fmt.Sprintf("the emulator does not know %s in %s", word, m[1])
		}
		arguments = append(arguments, argument)
	}
	if n := len(arguments); access != nil && access[1] == "ld" && n > 0 { // as in a store, the address first
		arguments = append(arguments[n-1:n:n], arguments[:n-1]...)
	}
	function := "::cuemu::ptx::" + strings.ReplaceAll(name, ".", "_")
	return function + "(" + strings.Join(arguments, ", ") + ")", ""
}

var (
	ptxNumber  = regexp.MustCompile(`^-?(?:\d+|0[xX][0-9a-fA-F]+)$`)
	ptxAddress = regexp.MustCompile(`^\[\s*([^\s+\]]+)\s*(?:\+\s*(\w+)\s*)?\]$`)
	ptxSpecial = wordSet(`
		laneid warpid nwarpid smid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge clock clock64
		globaltimer tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y nctaid.z
	`)
)

// ptxArgument returns an operand in C++: an expression of the kernel, a number, a register, or an address of
// these.
func ptxArgument(word string, operands []operand, registers map[string]bool) (string, bool) {
	if m := ptxAddress.FindStringSubmatch(word); m != nil {
		base, read := ptxArgument(m[1], operands, registers)
		if !read || m[2] == "" {
			return base, read
		}
		offset, read := ptxArgument(m[2], operands, registers)
		return "::cuemu::ptx::beyond(" + base + ", " + offset + ")", read
	}
	switch {
	case registers[word]:
		return "cuemu_" + word, true
	case ptxNumber.MatchString(word):
		return word, true
	case strings.HasPrefix(word, "%%") && ptxSpecial[word[2:]]:
		return "::cuemu::ptx::" + strings.ReplaceAll(word[2:], ".", "_") + "()", true
	case strings.HasPrefix(word, "%[") && strings.HasSuffix(word, "]"):
		for _, o := range operands {
			if o.name == word[2:len(word)-1] {
				return o.expression, true
			}
		}
	case strings.HasPrefix(word, "%"):
		if n, err := strconv.Atoi(word[1:]); err == nil && n >= 0 && n < len(operands) {
			return operands[n].expression, true
		}
	}
	return "", false
}
