package record

import (
	"slices"
	"strings"
	"time"

	"triad/internal/op"
)

// Tally counts what one session recorded of one pass of an implementation.
type Tally struct {
	Session  string
	Command  []string  // the arguments as typed
	Added    []string  // the words of --add, files by absolute path, and the flags for them
	Complete bool      // the session ran its plan to the end
	Started  time.Time // of the first run
	Op       string
	Pass     op.Pass
	Impl     string // "mine/softmax.cu"
	Source   string // content hash
	Device   string // of one of the runs

	Good, Neutral, Bad, NotUnderstood int
	// Status and Message are of the first run that counts as bad, else of the first that was not understood,
	// else of the first that is good, else of the first.
	Status  op.Status
	Message string

	Timed *TimedCase // the first case with a usable time; nil if there is none
}

// TimedCase is the median of the times of one case.
type TimedCase struct {
	Case     op.Case
	MedianNS float64
}

// narrowing are the flags with which a user asks for chosen cases of an operator's plan alone.
var narrowing = []string{"--dims", "--attr", "--distribution", "--layout", "--upstream", "--saved", "--shard"}

// Narrowed reports whether the command asked for chosen cases alone. What the file itself leaves out does not
// count.
func (j Tally) Narrowed() bool {
	return slices.ContainsFunc(j.Command, func(word string) bool {
		flag, _, _ := strings.Cut(word, "=")
		return slices.Contains(narrowing, flag)
	})
}
