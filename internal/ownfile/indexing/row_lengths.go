// Package indexing finds the lengths of rows and vectors from the indexes in CUDA text.
package indexing

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// OnlyRead reports whether a body only reads elements of a pointer wherever it names it.
func OnlyRead(body []cfacts.Token, name string) bool {
	for i := range body {
		if body[i].Text != name {
			continue
		}
		end := i + 1
		for end < len(body) && body[end].Text == "[" {
			end = cfacts.Closing(body, end) + 1
		}
		if end == i+1 || i > 0 && body[i-1].Text == "&" {
			return false
		}
		for end < len(body) && body[end].Text == ")" { // FLOAT4(y[i]) = v
			end++
		}
		assigns := func(at int) bool {
			return at < len(body) && strings.HasSuffix(body[at].Text, "=") &&
				!slices.Contains([]string{"==", "!=", "<=", ">="}, body[at].Text)
		}
		if assigns(end) || end < len(body) && strings.Contains("+-*/%&|^", body[end].Text) && assigns(end+1) {
			return false
		}
	}
	return true
}

// Squares returns the sizes whose square occurs in the lines of a function, or of what it calls: "i < N * N".
func Squares(f *cfacts.File, fn *cfacts.Function) map[string]bool {
	all := map[string]bool{}
	f.Walk(fn, func(fn *cfacts.Function, name func(string) string) {
		for _, p := range fn.Params {
			if p.IsInteger() && name(p.Name) != "" && cfacts.HasTexts(fn.Body, p.Name, "*", p.Name) {
				all[name(p.Name)] = true
			}
		}
	})
	return all
}

// RowLengths maps the pointers of a function to the size parameter that is the length of their rows, by how
// its lines, and those of the kernels it launches, index them: N of "A[row * N + k]". A pointer that is
// indexed with several lengths is left out.
//
// places holds the indexes of each pointer as written, with the function that contains them.
func RowLengths(f *cfacts.File, fn *cfacts.Function) (lengths map[string]string, places map[string][]string) {
	found := map[string][]string{}
	places = map[string][]string{}
	f.Walk(fn, func(fn *cfacts.Function, name func(string) string) {
		collectRows(f, fn, name, found, places)
	})
	lengths = map[string]string{}
	for pointer, names := range found {
		if len(names) == 1 {
			lengths[pointer] = names[0]
		}
	}
	return lengths, places
}

// collectRows adds the row lengths and the indexes that the lines of a function show.
func collectRows(f *cfacts.File, fn *cfacts.Function, name func(string) string, found,
	places map[string][]string,
) {
	for _, p := range fn.Params {
		if !p.Pointer || name(p.Name) == "" {
			continue
		}
		pointer := name(p.Name)
		lengths, indexes := rowsOf(f, fn.Body, p.Name, fn.HasSize)
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

// rowsOf lists the sizes by which a body moves from one row of a pointer to the next, and the pointer's
// indexes.
func rowsOf(f *cfacts.File, body []cfacts.Token, pointer string, size func(string) bool) (all,
	indexes []string,
) {
	for i := 0; i+1 < len(body); i++ {
		if body[i].Text != pointer || i > 0 && (body[i-1].Text == "." || body[i-1].Text == "->") {
			continue
		}
		var index []cfacts.Token
		switch body[i+1].Text {
		case "[":
			index = cfacts.Inside(body, i+1)
			indexes = append(indexes, cfacts.Join(index))
		case "+", "+=": // X = A + row * N;
			end := i + 2
			for depth := 0; end < len(body) && depth >= 0; end++ {
				switch {
				case strings.Contains("([{", body[end].Text):
					depth++
				case strings.Contains(")]}", body[end].Text):
					depth--
				case depth == 0 && (body[end].Text == ";" || body[end].Text == ","):
					depth = -1
				}
			}
			index = body[i+2 : max(end-1, i+2)]
		}
		if word := rowOf(f, body, index, size, 0); word != "" && !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all, indexes
}

// rowOf returns the row length in an index: N of "row * N + k", C of "(b * T + t) * C + c", or "" if there is
// none. A variable stands for its value.
func rowOf(f *cfacts.File, body, index []cfacts.Token, size func(string) bool, depth int) string {
	if name := cfacts.OnlyName(index); name != "" && depth < 2 {
		return rowOf(f, body, cfacts.Assigned(body, name), size, depth+1)
	}
	if len(index) > 3 && index[0].IsName() && index[1].Text == "(" &&
		cfacts.Closing(index, 1) == len(index)-1 {
		parts := cfacts.SplitAtCommas(index[2 : len(index)-1])
		if last := cfacts.OnlyName(parts[len(parts)-1]); len(parts) == 3 && size(last) {
			return last // OFFSET(row, col, N)
		}
		return ""
	}
	found, least := "", 1<<30
	for _, term := range cfacts.CutAt(index, "+-") {
		if len(term) > 2 && term[0].Text == "(" && cfacts.Closing(term, 0) == len(term)-1 {
			if inner := rowOf(f, body, term[1:len(term)-1], size, depth); inner != "" && least > 2 {
				found, least = inner, 2
			}
			continue
		}
		if name := cfacts.OnlyName(term); name != "" && !size(name) && depth < 2 && least > 2 { // base + k
			if inner := rowOf(f, body, cfacts.Assigned(body, name), size, depth+1); inner != "" {
				found, least = inner, 2
			}
			continue
		}
		factors := cfacts.CutAt(term, "*")
		if len(factors) < 2 || len(factors) >= least {
			continue
		}
		if slices.ContainsFunc(factors, func(factor []cfacts.Token) bool {
			return ofWidth(f, cfacts.OnlyName(factor))
		}) {
			found, least = "", len(factors) // rows are as long as the constant
			continue
		}
		for _, factor := range factors {
			if word := cfacts.OnlyName(factor); word != "" && size(word) {
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
func ofWidth(f *cfacts.File, name string) bool {
	_, constant := f.Defines[name]
	ofTemplate := func(t cfacts.TemplateParam) bool { return t.Name == name && !t.Type }
	return widthName.MatchString(name) && (constant || slices.ContainsFunc(f.Functions,
		func(fn cfacts.Function) bool { return slices.ContainsFunc(fn.Template, ofTemplate) }))
}

// VectorLengths maps the pointers of a function to the size parameter that bounds the single variable that
// they are indexed with, in its lines and those of the kernels it launches: M of "if (row < M) y[row] = sum".
// A pointer whose variable is compared with several sizes is left out, and so is one whose bound the function
// computes: N of "N = B * T" is no parameter.
func VectorLengths(f *cfacts.File, fn *cfacts.Function) map[string]string {
	found := map[string][]string{}
	f.Walk(fn, func(fn *cfacts.Function, name func(string) string) { collectVectors(fn, name, found) })
	lengths := map[string]string{}
	for pointer, names := range found {
		if len(names) == 1 && fn.HasSize(names[0]) {
			lengths[pointer] = names[0]
		}
	}
	return lengths
}

// collectVectors adds the sizes that the lines of a function show; name is as in walk.
func collectVectors(fn *cfacts.Function, name func(string) string, found map[string][]string) {
	for _, p := range fn.Params {
		pointer := name(p.Name)
		if !p.Pointer || pointer == "" {
			continue
		}
		for i := 0; i+1 < len(fn.Body); i++ {
			if fn.Body[i].Text != p.Name || fn.Body[i+1].Text != "[" {
				continue
			}
			for _, size := range boundsOf(fn.Body, cfacts.OnlyName(cfacts.Inside(fn.Body, i+1)), fn.HasSize) {
				if size = name(size); size != "" && !slices.Contains(found[pointer], size) {
					found[pointer] = append(found[pointer], size)
				}
			}
		}
	}
}

// boundsOf lists the sizes that a variable is compared with and stays below: M of "row < M" and "row >= M".
func boundsOf(body []cfacts.Token, variable string, size func(string) bool) (all []string) {
	if variable == "" {
		return nil
	}
	ends := []string{")", ";", "&&", "||", "?", ",", "&", "|"}
	for i := 1; i+3 < len(body); i++ {
		sign, bound := body[i+1].Text, body[i+2].Text
		compared := body[i].Text == variable && (sign == "<" || sign == ">=") && size(bound)
		if compared && slices.Contains(ends, body[i+3].Text) && !slices.Contains(all, bound) {
			all = append(all, bound)
		}
	}
	return all
}
