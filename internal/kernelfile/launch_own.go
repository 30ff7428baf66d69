package kernelfile

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// foundLaunch is the file's own launch of a kernel, in the operator's sizes; a part that they cannot express
// is empty.
type foundLaunch struct {
	grid, block [3]string
	shared      string   // bytes
	oneBlock    bool     // of whatever sizes
	blocks      [3]int64 // of the grid, where they are numbers
	// the numbers that the kernel's parameters are handed there, by their names
	handed map[string]int64
	bytes  map[string]int64 // of what pointers point to there, where the file allocates numbers of them
}

// ownLaunch looks for kernel<<<grid, block>>>(arguments) in the file, such as in its main, and then in those
// near it that launch the kernel; nil where there is none.
func (k body) ownLaunch() (found *foundLaunch) {
	for _, call := range k.file.callsOf(k.b.Function.Name) {
		if call.file.tokens[call.at].text != "<<<" {
			continue
		}
		one := k.readLaunch(call)
		if call.file == k.file {
			return one
		}
		if found != nil && (one.grid != found.grid || one.block != found.block ||
			one.shared != found.shared) {
			return nil
		}
		found = one
	}
	return found
}

// readLaunch reads a launch of the kernel.
func (k body) readLaunch(call callOf) *foundLaunch {
	c, arguments := call.site(k.b), call.arguments()
	for at, argument := range arguments {
		argument = withoutCast(argument)
		if at < len(k.b.Args) && len(argument) == 1 && argument[0].isName() {
			c.stands[argument[0].text] = k.b.Args[at].Name
		}
	}
	c.takeFactors(arguments)
	found := &foundLaunch{handed: c.numbers(arguments), bytes: c.allocated(arguments)}
	if parts := split(call.file.tokens[call.at+1 : call.open-1]); len(parts) >= 2 {
		found.configure(c, parts)
	}
	return found
}

// configure reads what stands between <<< and >>>.
func (found *foundLaunch) configure(c callSite, parts [][]token) {
	found.grid, found.block = c.sizes(parts[0]), c.sizes(parts[1])
	for axis, text := range found.grid {
		found.blocks[axis], _ = numberOf(text)
	}
	n, number := c.k.number(strings.Trim(product(found.grid), "()"))
	if _, numbers := numberOf(product(found.grid)); number || numbers && !c.k.ofNumbers() {
		found.grid = [3]string{} // of the caller's own sizes
		found.oneBlock = number && n == 1
	}
	found.shared = "0"
	if len(parts) >= 3 && join(parts[2]) != "0" {
		found.shared = c.sizes(parts[2])[0]
	}
}

// configurationEnd returns the index of the >>> of a <<<; the number of tokens without one.
func configurationEnd(tokens []token, at int) int {
	for at < len(tokens) && tokens[at].text != ">>>" {
		at++
	}
	return at
}

// launched returns the name before <<<, without template arguments.
func launched(tokens []token, at int) string {
	i := at - 1
	if i >= 0 && tokens[i].text == ">" {
		for depth := 0; i >= 0; i-- {
			switch tokens[i].text {
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
	return tokens[i].text
}

// launchedArguments returns the template arguments of a kernel in the file's own launch of it; none if that
// has none, or one that is neither a type nor a number.
func (f *File) launchedArguments(fn Function) []string {
	name := lastName(fn.Name)
	for i := range f.tokens {
		if f.tokens[i].text != "<<<" || i < 2 || f.tokens[i-1].text != ">" || launched(f.tokens, i) != name {
			continue
		}
		open := i - 1
		for open > 0 && f.tokens[open-1].text != name {
			open--
		}
		return f.argumentsBetween(open, i-1)
	}
	return nil
}

// calledArguments returns the template arguments of a host function where the file calls or instantiates it,
// name<256>(...), those with the largest numbers first; none if only a type is missing, which is that of the
// elements, or if the file gives none.
func (f *File) calledArguments(fn Function) (lists [][]string) {
	open := func(t TemplateParam) bool { return !t.Type && t.Default == "" }
	if !slices.ContainsFunc(fn.Template, open) {
		return nil
	}
	name := lastName(fn.Name)
	for i := 0; i+1 < len(f.tokens); i++ {
		if f.tokens[i].text != name || f.tokens[i+1].text != "<" {
			continue
		}
		close := closingAngle(f.tokens, i+1)
		if textAt(f.tokens, close+1) != "(" {
			continue
		}
		all := f.argumentsBetween(i+1, close)
		same := func(other []string) bool { return slices.Equal(other, all) }
		if all != nil && !slices.ContainsFunc(lists, same) {
			lists = append(lists, all)
		}
	}
	largest := func(list []string) (n int64) {
		for _, text := range list {
			number, _ := strconv.ParseInt(text, 10, 64)
			n += number
		}
		return n
	}
	slices.SortStableFunc(lists, func(a, b []string) int { return cmp.Compare(largest(b), largest(a)) })
	return lists
}

// argumentsBetween returns the arguments between the < and the > of a template; none if one is neither a type
// nor a number.
func (f *File) argumentsBetween(open, close int) []string {
	c := callSite{k: body{b: &Binding{}, file: f}, before: f.tokens[:open], stands: map[string]string{}}
	return f.templateWords(f.tokens[open+1:close], c.value)
}

// templateWords returns the arguments of a template, numbers by value; none if that does not know one.
func (f *File) templateWords(tokens []token, value func([]token) (int64, bool)) (all []string) {
	for _, part := range split(tokens) {
		text := join(part)
		if _, isType := elementTypes[f.resolve(text)]; !isType {
			n, known := value(part)
			if !known {
				return nil
			}
			text = fmt.Sprint(n)
		}
		all = append(all, text)
	}
	return all
}

// callSite is a place where a file launches a kernel: the tokens before it, and the kernel's parameters to
// which the caller's variables are passed.
type callSite struct {
	k      body
	before []token
	stands map[string]string
	// sizesOf maps variables of the caller to sizes of the operator that it does not pass alone
	sizesOf map[string]string
}

// sizes reads a grid or a block: an expression, dim3(...), or a variable that was given either. The first
// word is empty if the operator's sizes cannot express it.
func (c callSite) sizes(words []token) [3]string {
	if len(words) == 1 && words[0].isName() && c.stands[words[0].text]+c.sizesOf[words[0].text] == "" {
		if made := c.defined(words[0].text); made != nil {
			words = made
		}
	}
	if len(words) > 2 && words[0].text == "dim3" {
		words = words[2 : len(words)-1]
	}
	all := [3]string{"1", "1", "1"}
	parts := split(words)
	if len(parts) > 3 {
		return [3]string{}
	}
	for i, part := range parts {
		text, ok := c.expression(part, 0)
		if _, err := op.ParseExpression(text, c.k.b.isDim, false); !ok || err != nil {
			return [3]string{}
		}
		all[i] = text
	}
	if n, ok := c.k.number(product(all)); ok && n < 1 {
		return [3]string{}
	}
	return all
}

// roundingUp lists names of functions and macros, in lower case, that divide and round up.
var roundingUp = strings.Fields("cdiv ceildiv divup divceil ceildivision updiv idivup roundupdiv")

// ceil reads "ceil(n / 16.0)" at a token as a division that rounds up; end is its last token, or before i if
// it is none. Integers are divided before they are rounded, so nothing is rounded up.
func (c callSite) ceil(words []token, i, depth int) (text string, end int) {
	if t := words[i].text; t != "ceil" && t != "ceilf" {
		return "", -1
	}
	if i+1 >= len(words) {
		return "", -1
	}
	end = closing(words, i+1)
	inside := inside(words, i+1)
	real := slices.ContainsFunc(inside, func(t token) bool {
		return t.text == "float" || t.text == "double" ||
			t.beginsWithDigit() && strings.ContainsAny(t.text, ".f")
	})
	parts := cutAt(inside, "/")
	if len(parts) != 2 {
		return "", -1
	}
	var sides []string
	for _, part := range parts {
		part = slices.Clone(part)
		for k := 0; k+2 < len(part); k++ { // (float)n
			if part[k].text == "(" && part[k+2].text == ")" &&
				(part[k+1].text == "float" || part[k+1].text == "double") {
				part = slices.Delete(part, k, k+3)
			}
		}
		if len(part) == 1 {
			n, err := strconv.ParseFloat(strings.TrimSuffix(part[0].text, "f"), 64)
			if err == nil && n == math.Trunc(n) { // 16.0f
				part[0].text = fmt.Sprint(int64(n))
			}
		}
		side, ok := c.expression(part, depth+1)
		if !ok {
			return "", -1
		}
		sides = append(sides, side)
	}
	if real {
		return "ceildiv(" + sides[0] + ", " + sides[1] + ")", end
	}
	return "(" + sides[0] + ") / (" + sides[1] + ")", end
}

// defined returns the last value of a variable: of "int n = 256;" or "dim3 n(16, 16);", the latter as dim3
// (16, 16).
func (c callSite) defined(name string) []token {
	for i := len(c.before) - 2; i > 0; i-- {
		if c.before[i].text != name || c.before[i-1].text == "." {
			continue
		}
		end := i + 1
		for end < len(c.before) && c.before[end].text != ";" && c.before[end].text != "," ||
			end < len(c.before) && depthOf(c.before[i:end]) > 0 {
			end++
		}
		switch {
		case hasTexts(c.before[i:min(end, len(c.before))], "argv"): // the user's own number
		case c.before[i+1].text == "=" && end > i+2:
			return c.before[i+2 : end]
		case c.before[i+1].text == "(" && (c.before[i-1].text == "dim3" || c.before[i-1].text == ","):
			return append([]token{{"dim3", 0}}, c.before[i+1:end]...)
		}
	}
	return nil
}

// side returns the value of "block.x" where block is a dim3 of the caller: its first, second or third size;
// nil if the words do not begin so.
func (c callSite) side(words []token) []token {
	if len(words) < 3 || words[1].text != "." || !words[0].isName() {
		return nil
	}
	axis := strings.Index("xyz", words[2].text)
	made := c.defined(words[0].text)
	if len(words[2].text) != 1 || axis < 0 || len(made) < 3 || made[0].text != "dim3" {
		return nil
	}
	if parts := split(made[2 : len(made)-1]); axis < len(parts) {
		return parts[axis]
	}
	return []token{{"1", words[0].line}}
}

// depthOf returns the number of parentheses and braces that are open at the end of the tokens.
func depthOf(words []token) int {
	depth := 0
	for _, t := range words {
		switch t.text {
		case "(", "{":
			depth++
		case ")", "}":
			depth--
		}
	}
	return depth
}

// expression writes a size of the caller in the operator's sizes.
func (c callSite) expression(words []token, depth int) (text string, ok bool) {
	var all []token
	for i := 0; i < len(words); i++ {
		t := words[i]
		if i+1 < len(words) && words[i+1].text == "(" {
			plain := strings.ReplaceAll(strings.ToLower(t.text), "_", "")
			if slices.Contains(roundingUp, plain) || plain == "ceil" && len(split(inside(words, i+1))) == 2 {
				all = append(all, token{"ceildiv", t.line})
				continue
			}
			if text, end := c.ceil(words, i, depth); end > i {
				all = append(all, token{text, t.line})
				i = end
				continue
			}
		}
		if t.text == "sizeof" && i+3 < len(words) {
			if d, known := elementTypes[c.k.file.resolve(words[i+2].text)]; known {
				all = append(all, token{fmt.Sprint(d.Size()), t.line})
				i += 3
				continue
			}
		}
		if side := c.side(words[i:]); side != nil { // block.x
			inner, known := c.expression(side, depth+1)
			if !known || depth >= 4 {
				return "", false
			}
			all, i = append(all, token{"(" + inner + ")", t.line}), i+2
			continue
		}
		target, handed := c.stands[t.text]
		number, constant := c.k.number(t.text)
		made := c.defined(t.text)
		switch {
		case !t.isName():
			all = append(all, t)
		case handed:
			own, known := c.k.b.translate([]token{{target, t.line}})
			if !known {
				return "", false
			}
			all = append(all, token{own, t.line})
		case c.sizesOf[t.text] != "":
			all = append(all, token{c.sizesOf[t.text], t.line})
		case constant:
			all = append(all, token{fmt.Sprint(number), t.line})
		case slices.Contains([]string{"unsigned", "int", "long", "size_t"}, t.text):
		case made != nil && depth < 4:
			inner, known := c.expression(made, depth+1)
			if n, number := numberOf(inner); !known || number && n == 0 { // it is given another value later
				return "", false
			}
			all = append(all, token{"(" + inner + ")", t.line})
		default:
			return "", false
		}
	}
	return join(all), len(all) > 0
}
