package cfacts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// branch is a condition of the preprocessor: the text under it is read if on is true. open says that a branch
// of it was read, so the others are not.
type branch struct{ on, open bool }

// directive follows #if, #else and #endif. What the file and the flags do not decide is read in all branches.
func (s *source) directive(text string) {
	words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(text), "#"))
	if len(words) == 0 {
		return
	}
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	_, defined := s.names[name]
	own := ofTheCompiler(name)
	_, question, _ := strings.Cut(text, words[0])
	top := len(s.branches) - 1
	switch words[0] {
	case "define":
		s.names[strings.SplitN(name, "(", 2)[0]] = true
	case "undef":
		delete(s.names, name)
		delete(s.Defines, name)
	case "ifdef":
		s.branches = append(s.branches, branch{defined || own, defined})
	case "ifndef":
		s.branches = append(s.branches, branch{!defined, !defined && !own})
	case "if":
		on, known := s.holds(question)
		s.branches = append(s.branches, branch{on || !known, on && known})
	case "elif":
		if top >= 0 {
			on, known := s.holds(question)
			s.branches[top].on = !s.branches[top].open && (on || !known)
			s.branches[top].open = s.branches[top].open || on && known
		}
	case "else":
		if top >= 0 {
			s.branches[top].on = !s.branches[top].open
		}
	case "endif":
		s.branches = s.branches[:max(top, 0)]
	}
}

// off reports whether the current line is under a condition that does not hold.
func (s *source) off() bool {
	return slices.ContainsFunc(s.branches, func(b branch) bool { return !b.on })
}

var asksDefined = regexp.MustCompile(`\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))`)

// mostUnknown is the maximum number of names without a value for which a condition is evaluated.
const mostUnknown = 3

// holds reports whether the condition of an #if holds; known is false where only the compiler knows: the
// result depends on a name that neither the file nor a flag defines, or it is no plain expression. Such a
// name gets, in turn, 0, 1, each number of the condition, and one that is larger than all.
func (s *source) holds(text string) (on, known bool) {
	text = cComment.ReplaceAllString(strings.ReplaceAll(text, "\\\n", " "), " ")
	text = asksDefined.ReplaceAllStringFunc(text, func(asked string) string {
		m := asksDefined.FindStringSubmatch(asked)
		name := m[1] + m[2]
		if !s.names[name] && ofTheCompiler(name) {
			return "defined_" + name
		}
		return strconv.FormatInt(truth(s.names[name]), 10)
	})
	text = strings.TrimSpace(wholeSuffix.ReplaceAllString(text, "$1"))
	e, err := op.ParseExpression(text, func(string) bool { return true }, false)
	unknown := slices.DeleteFunc(slices.Clone(e.Names()),
		func(name string) bool { _, has := s.Number(name); return has })
	if err != nil || len(unknown) > mostUnknown {
		return false, false
	}
	tried := []int64{0, 1, 1 << 40}
	for _, word := range Words(text) {
		if n, is := s.Number(word); is && word[0] <= '9' {
			tried = append(tried, n)
		}
	}
	given, results, failed := map[string]int64{}, map[bool]bool{}, false
	var try func(open []string)
	try = func(open []string) {
		if len(open) > 0 {
			for _, n := range tried {
				given[open[0]] = n
				try(open[1:])
			}
			return
		}
		n, err := e.Int(func(name string) (int64, bool) {
			if n, has := s.Number(name); has {
				return n, true
			}
			return given[name], true
		})
		results[n != 0] = true
		failed = failed || err != nil
	}
	try(unknown)
	return results[true], !failed && len(results) == 1
}

// Number returns the value of a word: a number, or the value that #define or a flag gives a name.
func (s *source) Number(word string) (int64, bool) {
	for range 8 {
		if n, err := strconv.ParseInt(strings.TrimRight(word, "uUlL"), 0, 64); err == nil {
			return n, true
		}
		next, ok := s.Defines[word]
		if !ok {
			break
		}
		word = strings.Trim(next, "() \t")
	}
	return 0, false
}

// ofTheCompiler reports whether a name is one that compilers and their headers define.
func ofTheCompiler(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "CUDA")
}

func truth(on bool) int64 {
	if on {
		return 1
	}
	return 0
}
