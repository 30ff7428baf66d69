package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Joined is the name of the function that is made from the launches of a main().
const Joined = "joined_launches"

// statement is a statement of main(): a simple one without its semicolon, or a head with the statements under
// it.
type statement struct {
	text  string // comments and the insides of literals are blank
	plain string // as it stands
	under []*statement
	kept  bool
}

// mainJoin holds the contents of a main() whose kernels work together.
type mainJoin struct {
	file        *File
	all         []*statement // in order, those under others after their heads
	top         []*statement
	types       map[string]string // of device pointers: what they point to
	into, outof map[string]bool   // device pointers that are copied to, and from
	params      [][2]string       // the type and the name of numbers that the function takes
	numbers     [][2]string       // of numbers that become parameters
	resolved    map[string]bool
}

var (
	bodyOpens  = regexp.MustCompile(`\b(\w+)[ \t]*\(([^(){};]*)\)\s*\{`)
	sizeOfHost = regexp.MustCompile(`^\s*(?:\(\s*int\s*\)\s*)?\w+\.size\(\)\s*$`)
	ofNumber   = regexp.MustCompile(
		`^(?:const\s+)?(int|unsigned int|unsigned|size_t|long|int64_t|float)\s+(\w+)$`)
	pointerHead = regexp.MustCompile(`^(?:const\s+)?([A-Za-z_]\w*)\s*\*`)
	headWord    = regexp.MustCompile(`^(for|while|if|else|do|switch)\b`)
	apiCall     = regexp.MustCompile(
		`\bcuda(?:Malloc|MallocManaged|Memcpy|MemcpyAsync|Memset|Free|StreamCreate)\s*\(`)
	allocates  = regexp.MustCompile(`^cudaMalloc\s*\((?:\s*\([^()]*\)\s*)?&\s*(\w+)`)
	numberHead = regexp.MustCompile(`^(?:(?:const|constexpr|static)\s+)*(int|unsigned int|unsigned|` +
		`size_t|long|int64_t|uint32_t|int32_t|float|double)\s+(\w+)\s*=\s*([^,]+)$`)
	numberTypes = regexp.MustCompile(`^(?:(?:const|constexpr|static)\s+)*(?:unsigned int|int|unsigned|` +
		`size_t|long|int64_t|uint32_t|int32_t|float|double|dim3|auto|bool|cudaStream_t)\s+`)
	literalNumber = regexp.MustCompile(`^(?:[-+*/()\s.<]|\d[\d.eEfFuUlL]*)+$`)
	loopVariable  = regexp.MustCompile(`\b(?:int|size_t|unsigned|long)\s+(\w+)\s*=`)
	hostOnly      = regexp.MustCompile(
		`\b(?:malloc|new|argc|argv|atoi|rand|cudaMemcpyToSymbol|std)\b|\.size\(`)
	launchWords = regexp.MustCompile(`(?i)block|thread|grid|tile|tpb|warp|iter|repeat|trial|^b_?[rcmnk]$`)
)

// JoinMain returns a function that launches, for device pointers, the kernels that the main() of a CUDA file,
// or a function without pointers of its own, launches in sequence: if one takes the output of another, none
// is the operator alone. With alone it joins a kernel that is the only one launched there: its arguments may
// be made from the sizes. ok is false if there are no such kernels, or the lines cannot be read.
func JoinMain(text, code string, file *File, alone bool) (function string, ok bool) {
	if len(code) != len(text) {
		return "", false
	}
	for _, at := range bodyOpens.FindAllStringSubmatchIndex(code, -1) {
		params := code[at[4]:at[5]]
		if headWord.MatchString(code[at[2]:at[3]]) || strings.Contains(params, "*") &&
			code[at[2]:at[3]] != "main" {
			continue
		}
		m := &mainJoin{
			file: file, types: map[string]string{}, into: map[string]bool{}, outof: map[string]bool{},
			resolved: map[string]bool{},
		}
		for _, p := range strings.Split(params, ",") {
			if number := ofNumber.FindStringSubmatch(strings.TrimSpace(p)); number != nil {
				m.params = append(m.params, [2]string{number[1], number[2]})
			}
		}
		m.top, _ = m.statements(code, text, at[1])
		m.readPointers(code)
		wanted := m.worksTogether()
		if alone {
			wanted = m.launchesOne()
		}
		if wanted && !m.asksHost() && m.keep() {
			return m.function(), true
		}
	}
	return "", false
}

// statements reads the statements from a place to the bracket that closes them.
func (m *mainJoin) statements(code, text string, at int) (all []*statement, end int) {
	for at < len(code) {
		at += len(code[at:]) - len(strings.TrimLeft(code[at:], " \t\r\n;"))
		if at >= len(code) || code[at] == '}' {
			return all, at + 1
		}
		var s *statement
		s, at = m.statement(code, text, at)
		all = append(all, m.declarations(s)...)
	}
	return all, at
}

// statement reads the statement at a place.
func (m *mainJoin) statement(code, text string, at int) (s *statement, end int) {
	s = &statement{}
	m.all = append(m.all, s)
	if code[at] == '{' {
		s.under, end = m.statements(code, text, at+1)
		return s, end
	}
	if word := headWord.FindString(code[at:]); word != "" {
		end = at + len(word)
		if word != "else" && word != "do" {
			end = closed(code, end+max(strings.IndexByte(code[end:], '('), 0))
		}
		s.text, s.plain = code[at:end], text[at:end]
		end += len(code[end:]) - len(strings.TrimLeft(code[end:], " \t\r\n"))
		if end >= len(code) || code[end] == ';' {
			return s, end
		}
		var under *statement
		under, end = m.statement(code, text, end)
		s.under = []*statement{under}
		return s, end
	}
	end = at
	for depth := 0; end < len(code) && (depth > 0 || code[end] != ';'); end++ {
		switch code[end] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				depth = 0
			}
		}
	}
	s.text, s.plain = strings.TrimSpace(code[at:end]), strings.TrimSpace(text[at:end])
	if call := apiCall.FindStringIndex(s.text); call != nil && !strings.Contains(s.text, "<<<") {
		last := closed(s.text, call[1]-1) // without what looks at its error
		s.text, s.plain = s.text[call[0]:last], s.plain[call[0]:last]
	}
	return s, min(end+1, len(code))
}

// declarations splits a declaration of several numbers into one for each; another statement stays as it is.
func (m *mainJoin) declarations(s *statement) []*statement {
	head := numberTypes.FindString(s.text)
	if s.under != nil || head == "" || strings.Contains(s.text, "<<<") || len(s.text) != len(s.plain) {
		return []*statement{s}
	}
	all, depth, from := []*statement{}, 0, len(head)
	for i := from; i <= len(s.text); i++ {
		switch {
		case i == len(s.text) || s.text[i] == ',' && depth == 0:
			part := strings.TrimSpace(s.text[from:i])
			all, from = append(all, &statement{
				text:  strings.TrimSpace(head) + " " + part,
				plain: strings.TrimSpace(head) + " " + strings.TrimSpace(s.plain[from:i]),
			}), i+1
		case strings.IndexByte("([{", s.text[i]) >= 0:
			depth++
		case strings.IndexByte(")]}", s.text[i]) >= 0:
			depth--
		}
	}
	at := slices.Index(m.all, s)
	m.all = slices.Replace(m.all, at, at+1, all...)
	return all
}

// closed returns the index behind the parenthesis that closes the one at open.
func closed(code string, open int) int {
	depth := 0
	for i := open; i < len(code); i++ {
		switch code[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(code)
}

// readPointers finds the pointers that main() allocates on the device, and which of them it copies.
func (m *mainJoin) readPointers(code string) {
	for _, s := range m.all {
		if made := allocates.FindStringSubmatch(s.text); made != nil {
			m.types[made[1]] = m.pointedTo(made[1], code)
		}
	}
	for _, s := range m.all {
		if !strings.HasPrefix(s.text, "cudaMemcpy") {
			continue
		}
		parts := strings.Split(strings.TrimSuffix(s.text[strings.IndexByte(s.text, '(')+1:], ")"), ",")
		if len(parts) < 4 {
			continue
		}
		to, from := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		m.into[to] = m.into[to] || m.types[to] != "" && strings.Contains(s.text, "HostToDevice")
		m.outof[from] = m.outof[from] || m.types[from] != "" && strings.Contains(s.text, "DeviceToHost")
	}
}

// pointedTo returns the type that a pointer points to, as declared in main() or before it, or "".
func (m *mainJoin) pointedTo(name, code string) string {
	pointer := regexp.MustCompile(`\*\s*` + name + `\b`)
	for _, s := range m.all {
		if head := pointerHead.FindStringSubmatch(s.text); head != nil && pointer.MatchString(s.text) {
			return head[1]
		}
	}
	declared := regexp.MustCompile(`\b([A-Za-z_]\w*)\s*\*[^;{}()]*\b` + name + `\b`)
	if found := declared.FindStringSubmatch(code); found != nil {
		return found[1]
	}
	return ""
}

// mainLaunch is a launch in main(): the kernel and its arguments.
type mainLaunch struct {
	kernel    *Function
	arguments []string
}

// launches returns the launches of main(), in order.
func (m *mainJoin) launches() (all []mainLaunch) {
	for _, s := range m.all {
		before, after, is := strings.Cut(s.text, "<<<")
		if !is || s.under != nil {
			continue
		}
		name := regexp.MustCompile(`(\w+)\s*(?:<[^<>]*>)?\s*$`).FindStringSubmatch(before)
		at := -1
		if name != nil {
			at = slices.IndexFunc(m.file.Functions, func(fn Function) bool { return fn.Name == name[1] })
		}
		_, handed, ends := strings.Cut(after, ">>>")
		if at < 0 || !ends {
			continue
		}
		open := strings.IndexByte(handed, '(')
		launch := mainLaunch{kernel: &m.file.Functions[at]}
		for _, part := range split(lex(handed[open+1 : max(closed(handed, open)-1, open+1)]).tokens) {
			launch.arguments = append(launch.arguments, lone(withoutCast(part)))
		}
		all = append(all, launch)
	}
	return all
}

// worksTogether reports whether a kernel of main() takes the output of an earlier one, in a buffer that is no
// input, and main() copies results from the device.
func (m *mainJoin) worksTogether() bool {
	made, joined := map[string]string{}, false
	for _, launch := range m.launches() {
		for i, name := range launch.arguments {
			if m.types[name] == "" || i >= len(launch.kernel.Params) {
				continue
			}
			p := launch.kernel.Params[i]
			reads := p.Const || !p.writing.any() || p.reread && !p.plain || p.reread && m.outof[name]
			if from := made[name]; from != "" && from != launch.kernel.Name && reads {
				joined = true
			}
			if p.writing.any() {
				made[name] = launch.kernel.Name
			}
		}
	}
	results := 0
	for _, is := range m.outof {
		if is {
			results++
		}
	}
	return joined && results > 0
}

// launchesOne reports whether main() launches only one kernel, and copies results from the device.
func (m *mainJoin) launchesOne() bool {
	launches := m.launches()
	return len(launches) > 0 && slices.Contains(slices.Collect(maps.Values(m.outof)), true) &&
		!slices.ContainsFunc(launches, func(l mainLaunch) bool {
			return l.kernel.Name != launches[0].kernel.Name
		})
}

// asksHost reports whether something is copied to the device after a launch: then the host takes part in the
// computation.
func (m *mainJoin) asksHost() bool {
	launched := false
	for _, s := range m.all {
		launched = launched || s.under == nil && strings.Contains(s.text, "<<<")
		if launched && strings.HasPrefix(s.text, "cudaMemcpy") && strings.Contains(s.text, "HostToDevice") {
			return true
		}
	}
	return false
}

// keep marks the statements that launch, and those that they need. It returns false if they need the host's
// arrays.
func (m *mainJoin) keep() bool {
	for _, s := range m.all {
		made := allocates.FindStringSubmatch(s.text)
		own := made != nil && m.types[made[1]] != "" && !m.into[made[1]] && !m.outof[made[1]]
		sets := strings.HasPrefix(s.text, "cudaMemset(") || strings.HasPrefix(s.text, "cudaStreamCreate") ||
			strings.HasPrefix(s.text, "cudaMemcpy") && strings.Contains(s.text, "DeviceToDevice")
		s.kept = s.under == nil && (strings.Contains(s.text, "<<<") || own || sets)
	}
	for _, s := range m.all {
		if holdsKept(s.under) {
			s.kept = true
			if strings.HasPrefix(s.text, "else") || strings.HasPrefix(s.text, "do") ||
				strings.HasPrefix(s.text, "switch") {
				return false
			}
		}
	}
	for range 8 {
		if done, ok := m.keepNeeded(); done || !ok {
			return ok
		}
	}
	return false
}

// holdsKept reports whether one of the statements, or one under them, is kept.
func holdsKept(all []*statement) bool {
	return slices.ContainsFunc(all, func(s *statement) bool { return s.kept || holdsKept(s.under) })
}

var identifier = regexp.MustCompile(`\b[A-Za-z_]\w*\b`)

// keepNeeded keeps the statements that give names of kept ones their values; done says that there are no
// others.
func (m *mainJoin) keepNeeded() (done, ok bool) {
	done = true
	for _, s := range m.all {
		if !s.kept {
			continue
		}
		for _, v := range loopVariable.FindAllStringSubmatch(s.text, -1) {
			if s.under != nil {
				m.resolved[v[1]] = true
			}
		}
		if s.under == nil && hostOnly.MatchString(s.text) {
			return false, false
		}
		for _, name := range identifier.FindAllString(s.text, -1) {
			if m.resolved[name] || m.types[name] != "" {
				continue
			}
			m.resolved[name] = true
			if found := m.giving(name); !found {
				return false, false
			}
			done = false
		}
	}
	return done, true
}

// giving keeps the statements of main() that give a name its value, or makes a parameter of it. It returns
// false if a function on device pointers cannot have these statements.
func (m *mainJoin) giving(name string) bool {
	ofHost := regexp.MustCompile(`^[\w:]+(?:\s*<[^;]*>)?[\s*&]+(?:\w+\s*,\s*\**\s*)*` + name +
		`\s*(?:$|[=,({\[])`)
	assigned := regexp.MustCompile(`^` + name + `(?:\s*[-+*/%]?=|\+\+|--|\.\w+\s*=)|^(?:\+\+|--)` + name)
	if i := slices.IndexFunc(m.params, func(p [2]string) bool { return p[1] == name }); i >= 0 {
		m.numbers = append(m.numbers, m.params[i])
		return true
	}
	handed := slices.ContainsFunc(m.launches(), func(l mainLaunch) bool {
		return slices.Contains(l.arguments, name)
	}) || m.isFactor(name)
	for _, s := range m.all {
		if s.under != nil || s.kept || strings.Contains(s.text, "<<<") {
			continue
		}
		head := numberTypes.FindString(s.text)
		declares := head != "" && !strings.HasPrefix(s.text[len(head):], "*") &&
			identifier.FindString(s.text[len(head):]) == name
		switch {
		case assigned.MatchString(s.text):
			s.kept = true
		case declares:
			n := numberHead.FindStringSubmatch(s.text)
			if n != nil && n[2] == name && handed && !launchWords.MatchString(name) &&
				(m.isNumber(n[3]) || sizeOfHost.MatchString(n[3])) {
				m.numbers = append(m.numbers, [2]string{n[1], name})
				continue
			}
			s.kept = true
		case ofHost.MatchString(s.text) && !strings.HasPrefix(s.text, "return"):
			return false // an array of the host, or an object
		}
	}
	return true
}

// isNumber reports whether an expression consists of numbers and of names that the file defines as numbers.
func (m *mainJoin) isNumber(expression string) bool {
	return literalNumber.MatchString(identifier.ReplaceAllStringFunc(expression, func(name string) string {
		return m.file.resolve(name)
	}))
}

// function returns the function made from the kept statements.
func (m *mainJoin) function() string {
	var params, made []string
	pointers := m.pointers()
	for _, name := range pointers {
		switch {
		case m.outof[name]:
			params = append(params, m.types[name]+" *"+name)
		case m.into[name]:
			read := "const "
			if m.takesToWrite(name) {
				read = ""
			}
			params = append(params, read+m.types[name]+" *"+name)
		default:
			made = append(made, m.types[name]+" *"+name+" = nullptr;")
		}
	}
	for _, n := range m.numbers {
		params = append(params, n[0]+" "+n[1])
	}
	var frees []string
	for _, name := range pointers {
		if !m.into[name] && !m.outof[name] {
			frees = append(frees, "cudaFree("+name+");")
		}
	}
	return fmt.Sprintf("void %s(%s)\n{\n%s\n%s%s\n}\n", Joined, strings.Join(params, ", "),
		strings.Join(made, "\n"), written(m.top), strings.Join(frees, "\n"))
}

// takesToWrite reports whether a launched kernel takes a name as a pointer that it may write to.
func (m *mainJoin) takesToWrite(name string) bool {
	return slices.ContainsFunc(m.launches(), func(l mainLaunch) bool {
		at := slices.Index(l.arguments, name)
		return at >= 0 && at < len(l.kernel.Params) && !l.kernel.Params[at].Const
	})
}

// pointers returns the device pointers that are passed to launches, inputs first, results last, in the order
// in which main() passes them.
func (m *mainJoin) pointers() []string {
	var all []string
	for _, launch := range m.launches() {
		for _, name := range launch.arguments {
			if m.types[name] != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b string) int {
		order := func(name string) int {
			if m.outof[name] {
				return 1
			}
			return 0
		}
		return order(a) - order(b)
	})
	return all
}

// written returns the text of the kept statements among all.
func written(all []*statement) string {
	var text strings.Builder
	for _, s := range all {
		switch {
		case !s.kept && !holdsKept(s.under):
		case s.under != nil:
			fmt.Fprintf(&text, "%s {\n%s}\n", s.plain, written(s.under))
		default:
			fmt.Fprintf(&text, "%s;\n", s.plain)
		}
	}
	return text.String()
}
