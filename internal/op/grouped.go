package op

import "regexp"

// isMultiple finds a condition that makes one size a multiple of another: heads_q % heads_kv == 0.
var isMultiple = regexp.MustCompile(`^\s*(\w+)\s*%\s*(\w+)\s*==\s*0\s*$`)

// Grouped returns the two sizes of which one must be a multiple of the other, as the number of query heads is
// of that of key heads. Many functions are written for equal ones. It returns nil where the operator has
// none.
func (s *Spec) Grouped() []string {
	for _, text := range s.Require {
		if m := isMultiple.FindStringSubmatch(text); m != nil && s.isDim(m[1]) && s.isDim(m[2]) {
			return m[1:]
		}
	}
	return nil
}
