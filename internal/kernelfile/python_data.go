package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// What custom_kernel(data) does with its tuple: unpacks all of it, or takes elements by their places; the
// output is often the last.
var (
	packed     = regexp.MustCompile(`(?m)^[ \t]+([\w, \t*()]+?)[ \t]*=[ \t]*data[ \t]*$`)
	packedRest = regexp.MustCompile(`(?m)^[ \t]+([\w, \t()]+?)[ \t]*=[ \t]*data\[:-1\][ \t]*$`)
	packedBoth = regexp.MustCompile(
		`(?m)^[ \t]+([\w, \t()]+?),[ \t]*(\w+)[ \t]*=[ \t]*data\[:-1\],[ \t]*data\[-1\][ \t]*$`)
	packedAt   = regexp.MustCompile(`(?m)^[ \t]+(\w+)[ \t]*=[ \t]*data\[(\d+|-1)\][ \t]*$`)
	packedSome = regexp.MustCompile(`\bdata\[(\d+|-1)\]`)
	// several assignments in one line: "a, b = data[0], data[1]"
	packedList = regexp.MustCompile(
		`(?m)^([ \t]+)(\w+(?:[ \t]*,[ \t]*\w+)+)[ \t]*=[ \t]*` +
			`(data\[-?\d+\](?:[ \t]*,[ \t]*data\[-?\d+\])+)[ \t]*$`)
	// an element that is written or returned
	writesLast = regexp.MustCompile(`\breturn data\[-1\]|\bdata\[-1\](?:\[[^\]\n]*\][ \t]*[-+*/]?=[^=]|` +
		`\.(?:copy_|fill_|zero_)\()|\bout=data\[-1\]`)
	// names of an element that holds others
	holdsOthers = regexp.MustCompile(`^(?:inputs?|args|arguments|tensors|ins|operands|params)_?$`)
)

// unpacked gives custom_kernel(data) a parameter for each thing that data holds.
func unpacked(fn *Function) {
	if fn.Name != "custom_kernel" || len(fn.Params) == 0 {
		return
	}
	data := fn.Params[0].Name
	body := pythonComment.ReplaceAllString(fn.text, "")
	body = regexp.MustCompile(`\b`+regexp.QuoteMeta(data)+`\b`).ReplaceAllString(body, "data")
	body = packedList.ReplaceAllStringFunc(body, inLinesOfTheirOwn)
	var names []string
	if m := packed.FindStringSubmatch(body); m != nil {
		names, fn.nested = elementsOf(m[1], body)
		fn.packs = true
	} else if names = namesByPlace(body); len(names) > 0 {
		fn.packs = true
	} else {
		names = []string{data}
	}
	fn.form, fn.Params = packedForm, nil
	for _, name := range names {
		fn.Params = append(fn.Params, Param{Name: name, Text: name, Untyped: true})
	}
	fn.Text = fmt.Sprintf("def custom_kernel(%s), which holds %s", data, strings.Join(names, ", "))
}

// inLinesOfTheirOwn writes "a, b = data[0], data[1]" as two assignments.
func inLinesOfTheirOwn(line string) string {
	m := packedList.FindStringSubmatch(line)
	names, places := strings.Split(m[2], ","), strings.Split(m[3], ",")
	if len(names) != len(places) {
		return line
	}
	var lines []string
	for i, name := range names {
		lines = append(lines, m[1]+strings.TrimSpace(name)+" = "+strings.TrimSpace(places[i]))
	}
	return strings.Join(lines, "\n")
}

// elementsOf are the names of what a tuple holds that is unpacked as a list says, "*inputs, out" or "(a, b),
// out", and how many each element holds that is a tuple itself. What a name stands for is looked for in the
// lines behind.
func elementsOf(list, body string) (names []string, nested []int) {
	list = strings.TrimSpace(list)
	if inner, ok := strings.CutPrefix(list, "("); ok && strings.HasSuffix(inner, ")") &&
		!strings.ContainsAny(inner[:len(inner)-1], "()") { // brackets around all of it
		list = inner[:len(inner)-1]
	}
	for _, part := range argumentList(list + ")") {
		part = strings.TrimSpace(part)
		star := strings.HasPrefix(part, "*")
		name := strings.Trim(part, "*() \t,")
		held := []string{name}
		switch {
		case part == "":
			continue
		case strings.HasPrefix(part, "("):
			held = namesIn(name)
		case star || holdsOthers.MatchString(name):
			held = heldBy(name, body)
		}
		if star || len(held) == 1 && held[0] == name && !strings.HasPrefix(part, "(") {
			for range held {
				nested = append(nested, 0)
			}
		} else {
			nested = append(nested, len(held))
		}
		names = append(names, held...)
	}
	return names, nested
}

func namesIn(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(", \t()*", r) })
}

// heldBy are the names of what a list holds: what it is unpacked into, or its elements by their places. It is
// the list's own name where the lines say neither.
func heldBy(list, body string) []string {
	quoted := regexp.QuoteMeta(list)
	all := regexp.MustCompile(`(?m)^[ \t]+\(?(\w+(?:[ \t]*,[ \t]*\w+)*)[ \t]*,?\)?[ \t]*=[ \t]*` +
		quoted + `[ \t]*$`)
	if m := all.FindStringSubmatch(body); m != nil {
		return namesIn(m[1])
	}
	named := regexp.MustCompile(`(?m)^[ \t]+(\w+)[ \t]*=[ \t]*` + quoted + `\[(\d)\][ \t]*$`)
	used := regexp.MustCompile(`\b` + quoted + `\[(\d)\]`)
	var names []string
	for _, m := range used.FindAllStringSubmatch(body, -1) {
		at, _ := strconv.Atoi(m[1])
		for len(names) <= at {
			names = append(names, list+strconv.Itoa(len(names)))
		}
	}
	for _, m := range named.FindAllStringSubmatch(body, -1) {
		at, _ := strconv.Atoi(m[2])
		names[at] = m[1]
	}
	if len(names) == 0 {
		return []string{list}
	}
	return names
}

// namesByPlace are the names of what data holds, of which elements are taken by their places; nothing where
// the places do not say how many there are.
func namesByPlace(body string) (names []string) {
	last := ""
	if m := packedBoth.FindStringSubmatch(body); m != nil {
		names, last = namesIn(m[1]), m[2]
	} else if m := packedRest.FindStringSubmatch(body); m != nil {
		names = namesIn(m[1])
	}
	for _, m := range packedSome.FindAllStringSubmatch(body, -1) {
		at, _ := strconv.Atoi(m[1])
		for len(names) <= at {
			names = append(names, "data"+strconv.Itoa(len(names)))
		}
		if at < 0 && last == "" {
			last = "data_last"
		}
	}
	for _, m := range packedAt.FindAllStringSubmatch(body, -1) {
		if at, _ := strconv.Atoi(m[2]); at >= 0 {
			names[at] = m[1]
		} else {
			last = m[1]
		}
	}
	if last == "data_last" && writesLast.MatchString(body) {
		last = "output"
	}
	if last != "" && len(names) > 0 && !slices.Contains(names, last) {
		names = append(names, last)
	}
	return names
}

// nest puts values of a tuple's elements that are tuples themselves between brackets.
func (fn Function) nest(values []string) (all []string) {
	for _, n := range fn.nested {
		switch {
		case len(values) == 0:
		case n == 0:
			all, values = append(all, values[0]), values[1:]
		default:
			n = min(n, len(values))
			all, values = append(all, "("+strings.Join(values[:n], ", ")+",)"), values[n:]
		}
	}
	return append(all, values...)
}
