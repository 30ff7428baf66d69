package advice

import (
	"fmt"
	"regexp"
	"strings"
)

// launch matches a kernel's launch with its number of blocks, roundsDown a division of a size by a number of
// threads that is not rounded up, alone in its place, and signature that of a function of the device.
var (
	launch     = regexp.MustCompile(`<<<([^;]*?)>>>`)
	roundsDown = regexp.MustCompile(`^\s*(\w+)\s*/\s*(\w+)\s*$`)
	signature  = regexp.MustCompile(`__(?:global|device)__[^{;]*`)
)

// LaunchDivision returns the line of the first launch in a CUDA file whose number of blocks is a size divided
// by a number of threads, rounded down, and what to write; 0 if there is none. Where the size is no multiple,
// the last elements have no thread. A launch whose numbers are constants that divide evenly does not count.
// value returns the value of an integer expression such as 1 << 20.
func LaunchDivision(text string, value func(expression string) (int64, bool)) (line int, words string) {
	text = comment.ReplaceAllString(text, "")
	for _, at := range launch.FindAllStringSubmatchIndex(text, -1) {
		blocks, _, _ := strings.Cut(text[at[2]:at[3]], ",")
		if m := roundsDown.FindStringSubmatch(blocks); m != nil && !dividesEvenly(text, m[1], m[2], value) {
			return 1 + strings.Count(text[:at[0]], "\n"), fmt.Sprintf("%s / %s blocks leave out elements "+
				"unless %[2]s divides %[1]s: (%[1]s + %[2]s - 1) / %[2]s", m[1], m[2])
		}
	}
	return 0, ""
}

// dividesEvenly reports whether a size is a multiple of a number of threads, both of them constants.
func dividesEvenly(text, size, threads string, value func(string) (int64, bool)) bool {
	text = signature.ReplaceAllString(text, "") // a kernel's parameter is another variable than its caller's
	n, known := constantIn(text, size, value)
	by, also := constantIn(text, threads, value)
	return known && also && by > 0 && n%by == 0
}

// constantIn returns the value of a word of a CUDA file: of a number, or of a name with one definition that
// nothing changes and that is no parameter.
func constantIn(text, word string, value func(string) (int64, bool)) (n int64, known bool) {
	if n, known = value(word); known {
		return n, true
	}
	defined := regexp.MustCompile(`#[ \t]*define[ \t]+` + word + `[ \t]+([^\n]+)|` +
		`\b` + word + `[ \t]*=[ \t]*([^=;,\n]+)[;,]`)
	changed := regexp.MustCompile(`[\w&][ \t]+` + word + `[ \t]*[,)]|` +
		`\b` + word + `[ \t]*(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)=)|(?:\+\+|--|&)[ \t]*` + word + `\b`)
	all := defined.FindAllStringSubmatch(text, -1)
	if len(all) != 1 || changed.MatchString(text) {
		return 0, false
	}
	return value(strings.TrimSpace(all[0][1] + all[0][2]))
}
