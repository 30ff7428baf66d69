package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// rowsOf and columnsOf end what is spread along them, and between matches what may stand beside it in a
// comparison.
const (
	rowsOf    = `\[\s*:\s*,\s*None\s*\]`
	columnsOf = `\[\s*None\s*,\s*:\s*\]`
	between   = `(?:[^\n<>&|,\[]|\[\d\])*`
)

// aLength matches what people call a number of queries or keys.
const aLength = `\b(?:[a-z_]\w*\.(?:shape\[[^\]\n]*\]|size\([^)\n]*\))|(?:(?:seq|len|n?_?ctx|tgt|src)\w*|` +
	`[a-z]{0,2}_?(?:kv|q|k)_?(?:len|seq|size)\w*|[lstnm]_?(?:kv|q|k)|[lstnmqk])\b)`

var (
	// twoRanges matches a comparison of rows with columns: "q[:, None] >= k[None, :]". Of a range and a size
	// it is none.
	twoRanges = regexp.MustCompile(rowsOf + between + `[<>]=?` + between + columnsOf + `|` +
		columnsOf + between + `[<>]=?` + between + rowsOf)
	// triangle matches what torch makes such a mask of.
	triangle = regexp.MustCompile(`\.(?:tril|triu)(?:_indices)?\(|\bis_causal\s*=`)
	// given matches a mask of torch's of which something else than this line says whether it is there.
	given = regexp.MustCompile(`^is_causal\s*=\s*(?:[^T\s]|T[^r])`)
	// shifted matches a difference of two sizes: where the last query sees the last key, whatever their
	// numbers are, the mask is moved by it.
	shifted = regexp.MustCompile(`(?i)` + aLength + `\s*-\s*\(?\s*` + aLength)
	// moved matches a diagonal that is moved by more than one.
	moved = regexp.MustCompile(`\bdiagonal\s*=\s*[^1\s]`)
)

// masksTriangle says whether the lines of a function of Python, and of the kernels that it launches, always
// leave the keys out that lie behind a query, whatever it is called with: a comparison of rows with columns,
// or a triangle of torch's. What stands below an if, or beside a choice, is no such line.
func (b *Binding) masksTriangle(name string) bool {
	if _, is := b.Spec.Own.Triangle[name]; !is || b.Function.Kind != Python {
		return false
	}
	called := regexp.MustCompile(
		`(?mi)^[ \t]*\w*` + regexp.QuoteMeta(name) + `\w*[ \t]*=[^=\n]*[^<>=\n][<>]=?[^<>]`)
	for _, text := range b.maskingTexts() {
		for _, at := range definition.FindAllStringIndex(text, -1) {
			for _, p := range argumentList(text[at[1]:]) {
				if saysSwitch(p, name) {
					return false
				}
			}
		}
		for _, found := range [][][]int{
			twoRanges.FindAllStringIndex(text, -1), triangle.FindAllStringIndex(text, -1),
			called.FindAllStringIndex(text, -1),
		} {
			always := func(at []int) bool {
				return !isChosen(text, at[0]) && !given.MatchString(text[at[0]:])
			}
			if slices.ContainsFunc(found, always) {
				return true
			}
		}
	}
	return false
}

// countsFromTheFirst says whether the lines hold such a mask, chosen or not, in which queries and keys are
// counted from the first one on: of different numbers of them the operator counts from the last, and the
// file says nothing of these.
func (b *Binding) countsFromTheFirst() bool {
	if b.Function.Kind != Python {
		return false
	}
	masks := false
	for _, text := range b.maskingTexts() {
		if shifted.MatchString(text) || moved.MatchString(text) {
			return false
		}
		masks = masks || twoRanges.MatchString(text) || triangle.MatchString(text)
	}
	return masks
}

// squareMasks are the sizes of the masks that a function always makes and counts from the first.
func (b *Binding) squareMasks() [][]string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		_, said := b.Options.Attrs[name]
		if !said && !b.has(Attribute, name) && b.masksTriangle(name) && b.countsFromTheFirst() {
			all = append(all, dimsOf(b.Spec.Own.Triangle[name]))
		}
	}
	return all
}

// whereRowsSee are the conditions under which a mask of a function of Python is the operator's: its sizes
// are equal where it counts from the first, and no query is left without a key, of which people give 0, NaN
// or a mean. The user may say that the switch is on.
func (b *Binding) whereRowsSee() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		if _, said := b.Options.Attrs[name]; said || b.Function.Kind != Python {
			continue
		}
		dims := dimsOf(b.Spec.Own.Triangle[name])
		test, why := "<=", fmt.Sprintf("%s > %s some rows see nothing", dims[0], dims[1])
		if b.countsFromTheFirst() {
			test = "=="
			why = fmt.Sprintf("%s other than %s its mask counts from the first of both", dims[0], dims[1])
		}
		all = append(all, condition{
			fmt.Sprintf("not attributes[%q] or %s %s %s",
				name, pythonName(dims[0]), test, pythonName(dims[1])),
			fmt.Sprintf("with %s and %s, and its lines say nothing of that: say --attr %[1]s=true",
				name, why),
		})
	}
	return all
}

// maskingTexts are the lines of a function, without words, and of the kernels that it launches.
func (b *Binding) maskingTexts() []string {
	own := b.Function.text
	return []string{own, b.Function.kernels}
}

// saysSwitch says whether a parameter is one for a switch, or for a mask.
func saysSwitch(parameter, name string) bool {
	parameter = strings.ToLower(parameter)
	return strings.Contains(parameter, name) || strings.Contains(parameter, "mask") ||
		strings.Contains(parameter, "stage")
}

// isChosen says whether a place in the lines of Python is reached by a choice alone: it stands in a block
// below an if, or in a line with one.
func isChosen(text string, at int) bool {
	start := strings.LastIndex(text[:at], "\n") + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	if regexp.MustCompile(`\bif\b`).MatchString(line) {
		return true
	}
	deep := indented(line)
	lines := strings.Split(text[:start], "\n")
	for i := len(lines) - 1; i >= 0 && deep > 0; i-- {
		above := strings.TrimSpace(lines[i])
		if above == "" || indented(lines[i]) >= deep {
			continue
		}
		deep = indented(lines[i])
		switch {
		case strings.HasPrefix(above, "def "):
			return false
		case chooses.MatchString(above):
			return true
		}
	}
	return false
}

// chooses matches a line that the block below it depends on.
var chooses = regexp.MustCompile(`^(?:if|elif|else)\b`)

// indented is how many blanks a line begins with.
func indented(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
