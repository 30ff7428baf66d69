package advice

import (
	"fmt"
	"regexp"
	"strings"
)

// launch matches a kernel's launch with its number of blocks, and roundsDown a division of a size by a number
// of threads that is not rounded up, alone in its place.
var (
	launch     = regexp.MustCompile(`<<<([^;]*?)>>>`)
	roundsDown = regexp.MustCompile(`^\s*(\w+)\s*/\s*(\w+)\s*$`)
)

// LaunchDivision returns the line of the first launch in a CUDA file whose number of blocks is a size divided
// by a number of threads, rounded down, and what to write; 0 if there is none. It proves nothing: the size
// may be a multiple, or the kernel may loop.
func LaunchDivision(text string) (line int, words string) {
	text = comment.ReplaceAllString(text, "")
	for _, at := range launch.FindAllStringSubmatchIndex(text, -1) {
		blocks, _, _ := strings.Cut(text[at[2]:at[3]], ",")
		if m := roundsDown.FindStringSubmatch(blocks); m != nil {
			return 1 + strings.Count(text[:at[0]], "\n"), fmt.Sprintf("%s / %s blocks may leave out "+
				"elements unless %[2]s divides %[1]s: (%[1]s + %[2]s - 1) / %[2]s", m[1], m[2])
		}
	}
	return 0, ""
}
