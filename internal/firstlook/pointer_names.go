package firstlook

import (
	"regexp"
	"slices"
	"strings"
)

var (
	cComments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/`)
	// aliases matches the definition of a pointer by another one: float *row = y + r * n;
	aliases = regexp.MustCompile(
		`(?:\*\s*(?:const\s+|__restrict__\s+|__restrict\s+)*|\bauto\s+)(\w+)\s*=([^=;][^;]*);`)
	// defined matches the definition of a function with its parameters.
	defined = regexp.MustCompile(`\b(\w+)\s*\(([^(){};]*)\)\s*\{`)
	// elementOf matches a read of an element, whose value is no pointer.
	elementOf = regexp.MustCompile(`&\s*\w+\s*\[[^\]]*\]|\w+\s*\[[^\]]*\]`)
)

// pointersTo returns the names with which a CUDA text reaches the memory of some pointers: their own,
// pointers that are made of them, and the parameters to which calls and launches pass them. Names count in
// the whole text.
func pointersTo(text string, names []string) []string {
	text = cComments.ReplaceAllString(text, "")
	all := slices.Clone(names)
	holds := func(expression string) bool {
		expression = elementOf.ReplaceAllStringFunc(expression, func(element string) string {
			if strings.HasPrefix(element, "&") {
				return element
			}
			return ""
		})
		return slices.ContainsFunc(anyName.FindAllString(expression, -1), func(word string) bool {
			return slices.Contains(all, word)
		})
	}
	for before := -1; before < len(all); {
		before = len(all)
		add := func(name string) {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
		for _, m := range aliases.FindAllStringSubmatch(text, -1) {
			if holds(m[2]) {
				add(m[1])
			}
		}
		for _, m := range defined.FindAllStringSubmatch(text, -1) {
			parameters := strings.Split(m[2], ",")
			for _, arguments := range callsOf(text, m[1]) {
				for i, argument := range arguments[:min(len(arguments), len(parameters))] {
					words := anyName.FindAllString(parameters[i], -1)
					if len(words) > 0 && strings.ContainsAny(parameters[i], "*[") && holds(argument) {
						add(words[len(words)-1])
					}
				}
			}
		}
	}
	return all
}

// callsOf returns the arguments of the calls and launches of a function.
func callsOf(text, function string) (all [][]string) {
	call := regexp.MustCompile(`\b` + function + `\s*(?:<[^<>;{}]*>\s*)?(?:<<<[^;]*?>>>\s*)?\(`)
	for _, at := range call.FindAllStringIndex(text, -1) {
		var arguments []string
		depth, from := 0, at[1]
		for i := at[1]; i < len(text) && depth >= 0; i++ {
			switch c := text[i]; {
			case c == '(' || c == '[':
				depth++
			case c == ')' || c == ']':
				if depth--; depth < 0 {
					arguments = append(arguments, text[from:i])
				}
			case c == ',' && depth == 0:
				arguments, from = append(arguments, text[from:i]), i+1
			}
		}
		all = append(all, arguments)
	}
	return all
}
