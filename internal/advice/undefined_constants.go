package advice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/harmless"
)

// undefinedConstant matches compiler messages about an undefined name in capitals.
var undefinedConstant = regexp.MustCompile(
	`[‘']([A-Z][A-Z0-9_]{2,})[’'] was not declared in this scope|` +
		`use of undeclared identifier '([A-Z][A-Z0-9_]{2,})'|` +
		`identifier "([A-Z][A-Z0-9_]{2,})" is undefined`)

// usualNumbers maps words in the names of kernel constants to usual values; any other name gets 4.
var usualNumbers = []struct {
	words  []string
	number int
}{
	{[]string{"TILE", "WARP"}, 32},
	{[]string{"BLOCK", "THREADS", "BLK"}, 256},
	{[]string{"DIM", "SIZE", "WIDTH"}, 64},
}

// undefinedConstants returns advice for a failed build whose first message is about an undefined constant, to
// pass it to the compiler, or "" if the message is about something else. Its numbers are examples.
func undefinedConstants(message, log string) string {
	if !undefinedConstant.MatchString(message) {
		return ""
	}
	var names, flags []string
	for _, m := range undefinedConstant.FindAllStringSubmatch(message+"\n"+log, -1) {
		name := m[1] + m[2] + m[3]
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		flags = append(flags, fmt.Sprintf("-D%s=%d", name, usualNumber(name)))
	}
	are, it := "is", "its number"
	if len(names) > 1 {
		are, it = "are", "their numbers"
	}
	return fmt.Sprintf("%s %s defined nowhere: who compiles it gives %s. Say them, as in "+
		"--nvcc-flags \"%s\" (%s)", strings.Join(names, ", "), are, it, strings.Join(flags, " "),
		harmless.FirstLine(message))
}

// usualNumber returns an example value of a constant, by its name.
func usualNumber(name string) int {
	for _, usual := range usualNumbers {
		if slices.ContainsFunc(usual.words, func(w string) bool { return strings.Contains(name, w) }) {
			return usual.number
		}
	}
	return 4
}
