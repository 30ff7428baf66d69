package kernelfile

import (
	"slices"
	"strings"
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
		delete(s.defines, name)
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
