package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// rowLengths maps the pointers of a function to the size parameter that is the length of their rows, by how
// its lines, and those of the kernels it launches, index them: N of "A[row * N + k]". A pointer that is
// indexed with several lengths is left out. places holds the indexes of each pointer as written, with the
// function that contains them.
func (f *File) rowLengths(fn *Function) (lengths map[string]string, places map[string][]string) {
	found := map[string][]string{}
	places = map[string][]string{}
	f.walk(fn, func(fn *Function, name func(string) string) { f.collectRows(fn, name, found, places) })
	lengths = map[string]string{}
	for pointer, names := range found {
		if len(names) == 1 {
			lengths[pointer] = names[0]
		}
	}
	return lengths, places
}

// walk visits a function and those that it calls or launches, three deep. name maps the parameters of each to
// their names in the first one, or to "".
func (f *File) walk(fn *Function, visit func(fn *Function, name func(string) string)) {
	var descend func(fn *Function, name func(string) string, depth int)
	descend = func(fn *Function, name func(string) string, depth int) {
		visit(fn, name)
		for i := 0; i < len(fn.body) && depth < 3; i++ {
			if callee, handed := f.handed(fn, i, name); callee != nil {
				descend(callee, func(word string) string { return handed[word] }, depth+1)
			}
		}
	}
	descend(fn, func(name string) string { return name }, 0)
}

// anywhere reports whether something holds at a token of a function, or of those that it calls or launches.
func (f *File) anywhere(fn *Function, is func(fn *Function, at int) bool) bool {
	found := false
	f.walk(fn, func(fn *Function, _ func(string) string) {
		for i := range fn.body {
			found = found || is(fn, i)
		}
	})
	return found
}

// hasSize reports whether a function has an integer parameter of a name.
func (fn *Function) hasSize(name string) bool {
	return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.isInteger() && p.Name == name })
}

// collectRows adds the row lengths and the indexes that the lines of a function show.
func (f *File) collectRows(fn *Function, name func(string) string, found, places map[string][]string) {
	for _, p := range fn.Params {
		if !p.Pointer || name(p.Name) == "" {
			continue
		}
		pointer := name(p.Name)
		lengths, indexes := f.rowsOf(fn.body, p.Name, fn.hasSize)
		for _, index := range indexes {
			places[pointer] = append(places[pointer], fn.Name+": "+index)
		}
		for _, length := range lengths {
			length := name(length)
			if length != "" && !slices.Contains(found[pointer], length) {
				found[pointer] = append(found[pointer], length)
			}
		}
	}
}

// handed returns the function of the file that is launched or called at a token, and the names of its
// parameters in the function of interest, or nil if there is none.
func (f *File) handed(fn *Function, i int, name func(string) string) (*Function, map[string]string) {
	callee, open := f.anyCalled(fn, i)
	if callee == nil {
		return nil, nil
	}
	copies := deviceCopies(fn.body)
	names := map[string]string{}
	for at, argument := range split(inside(fn.body, open)) {
		if word := lone(argument); word != "" && at < len(callee.Params) {
			if host, is := copies[word]; is {
				word = host
			}
			names[callee.Params[at].Name] = name(word)
		}
	}
	return callee, names
}

// called returns the kernel or host function of the file that is launched or called at a token, and the index
// of the parenthesis before its arguments, or nil if there is none.
func (f *File) called(fn *Function, i int) (callee *Function, open int) {
	return calledOf(f.Functions, fn, i)
}

// anyCalled returns the function of the file, perhaps a __device__ one, that is called or launched at a
// token.
func (f *File) anyCalled(fn *Function, i int) (callee *Function, open int) {
	if callee, open = calledOf(f.Functions, fn, i); callee == nil {
		callee, open = calledOf(f.helpers, fn, i)
	}
	return callee, open
}

func calledOf(list []Function, fn *Function, i int) (callee *Function, open int) {
	name := fn.body[i].text
	if name == "<<<" {
		name, open = launched(fn.body, i), configurationEnd(fn.body, i)+1
	} else if open = callOpens(fn.body, i); open < 0 {
		return nil, 0
	}
	at := slices.IndexFunc(list, func(o Function) bool { return o.Name == name && o.Name != fn.Name })
	if at < 0 || textAt(fn.body, open) != "(" {
		return nil, 0
	}
	return &list[at], open
}

// callOpens returns the index of the opening parenthesis of a call whose name is at a token, after any
// template arguments: warp_sum<32>(x). It returns -1 if nothing is called there.
func callOpens(body []token, i int) int {
	at := i + 1
	if at < len(body) && body[i].isName() && body[at].text == "<" {
		argument := func(t token) bool { return t.isName() || t.beginsWithDigit() || t.text == "," }
		for at++; at < len(body) && argument(body[at]); {
			at++
		}
		if at >= len(body) || body[at].text != ">" {
			return -1
		}
		at++
	}
	if at >= len(body) || body[at].text != "(" {
		return -1
	}
	return at
}

// lone returns the only name in an argument, ignoring a cast and an &, or "" if there is more.
func lone(argument []token) string {
	if n := len(argument); n > 1 && argument[0].text == "(" {
		argument = argument[closing(argument, 0)+1:]
	}
	if len(argument) == 1 && argument[0].isName() {
		return argument[0].text
	}
	return ""
}

// deviceCopies maps the buffers that a function copies its parameters to or from: d_A of cudaMemcpy(d_A, A,
// ...) stands for A.
func deviceCopies(body []token) map[string]string {
	copies := map[string]string{}
	for i := 0; i+1 < len(body); i++ {
		if !strings.HasPrefix(body[i].text, "cudaMemcpy") || body[i+1].text != "(" {
			continue
		}
		parts := split(inside(body, i+1))
		if len(parts) < 4 {
			continue
		}
		to, from := lone(parts[0]), lone(parts[1])
		switch kind := lone(parts[3]); {
		case to == "" || from == "":
		case kind == "cudaMemcpyHostToDevice":
			copies[to] = from
		case kind == "cudaMemcpyDeviceToHost":
			copies[from] = to
		}
	}
	return copies
}

// rowsOf lists the sizes by which a body moves from one row of a pointer to the next, and the pointer's
// indexes.
func (f *File) rowsOf(body []token, pointer string, size func(string) bool) (all, indexes []string) {
	for i := 0; i+1 < len(body); i++ {
		if body[i].text != pointer || i > 0 && (body[i-1].text == "." || body[i-1].text == "->") {
			continue
		}
		var index []token
		switch body[i+1].text {
		case "[":
			index = inside(body, i+1)
			indexes = append(indexes, join(index))
		case "+", "+=": // X = A + row * N;
			end := i + 2
			for depth := 0; end < len(body) && depth >= 0; end++ {
				switch {
				case strings.Contains("([{", body[end].text):
					depth++
				case strings.Contains(")]}", body[end].text):
					depth--
				case depth == 0 && (body[end].text == ";" || body[end].text == ","):
					depth = -1
				}
			}
			index = body[i+2 : max(end-1, i+2)]
		}
		if word := f.rowOf(body, index, size, 0); word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all, indexes
}

// rowOf returns the row length in an index: N of "row * N + k", C of "(b * T + t) * C + c", or "" if there is
// none. A variable stands for its value.
func (f *File) rowOf(body, index []token, size func(string) bool, depth int) string {
	if name := lone(index); name != "" && depth < 2 {
		return f.rowOf(body, assigned(body, name), size, depth+1)
	}
	if len(index) > 3 && index[0].isName() && index[1].text == "(" && closing(index, 1) == len(index)-1 {
		parts := split(index[2 : len(index)-1])
		if last := lone(parts[len(parts)-1]); len(parts) == 3 && size(last) {
			return last // OFFSET(row, col, N)
		}
		return ""
	}
	found, least := "", 1<<30
	for _, term := range cutAt(index, "+-") {
		if len(term) > 2 && term[0].text == "(" && closing(term, 0) == len(term)-1 {
			if inner := f.rowOf(body, term[1:len(term)-1], size, depth); inner != "" && least > 2 {
				found, least = inner, 2
			}
			continue
		}
		if name := lone(term); name != "" && !size(name) && depth < 2 && least > 2 { // base + k
			if inner := f.rowOf(body, assigned(body, name), size, depth+1); inner != "" {
				found, least = inner, 2
			}
			continue
		}
		factors := cutAt(term, "*")
		if len(factors) < 2 || len(factors) >= least {
			continue
		}
		if slices.ContainsFunc(factors, func(factor []token) bool { return f.ofWidth(lone(factor)) }) {
			found, least = "", len(factors) // rows are as long as the constant
			continue
		}
		for _, factor := range factors {
			if word := lone(factor); word != "" && size(word) {
				found, least = word, len(factors)
			}
		}
	}
	return found
}

// widthName matches common names of a constant that is the length of rows, such as those of a head.
var widthName = regexp.MustCompile(`(?i)^(k?_?head_?dim|d|dim|hd|d_?head|d_?k|d_?model|` +
	`hidden(_?size|_?dim)?|embed(ding)?_?dim)$`)

// ofWidth reports whether a name is that of a constant of the file, or of an integer template parameter, that
// is the length of rows.
func (f *File) ofWidth(name string) bool {
	_, constant := f.defines[name]
	ofTemplate := func(t TemplateParam) bool { return t.Name == name && !t.Type }
	return widthName.MatchString(name) && (constant || slices.ContainsFunc(f.Functions,
		func(fn Function) bool { return slices.ContainsFunc(fn.Template, ofTemplate) }))
}

// cutAt splits tokens at signs of depth 0.
func cutAt(tokens []token, signs string) [][]token {
	var parts [][]token
	depth, start := 0, 0
	for i, t := range tokens {
		switch {
		case strings.Contains("([{", t.text):
			depth++
		case strings.Contains(")]}", t.text):
			depth--
		case depth == 0 && strings.Contains(signs, t.text):
			parts = append(parts, tokens[start:i])
			start = i + 1
		}
	}
	return append(parts, tokens[start:])
}

// assigned returns the first value of a variable: "i = row * N + k;".
func assigned(body []token, name string) []token {
	for i := 1; i+2 < len(body); i++ {
		if body[i].text != name || body[i+1].text != "=" {
			continue
		}
		return body[i+2 : valueEnd(body, i+2)]
	}
	return nil
}

// valueEnd returns the index of the ; or , that ends a value which begins at an index.
func valueEnd(tokens []token, at int) int {
	for depth := 0; at < len(tokens); at++ {
		switch text := tokens[at].text; {
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
