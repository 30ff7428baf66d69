package build

import (
	"fmt"
	"strings"
)

// Error is a kernel file that could not be built into a library. File and Line are those of the first
// error, in the author's file if the compiler names it; Line is 0 if no place is known.
type Error struct {
	File    string
	Line    int
	Message string
	Log     string // the end of the compiler's output
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// tail returns the end of a log, at most n bytes, beginning with a whole line.
func tail(log string, n int) string {
	if len(log) <= n {
		return log
	}
	log = log[len(log)-n:]
	if i := strings.IndexByte(log, '\n'); i >= 0 {
		log = log[i+1:]
	}
	return log
}
