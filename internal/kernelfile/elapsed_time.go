package kernelfile

import (
	"regexp"
	"slices"
)

// timeName matches names of a pointer to an elapsed time.
var timeName = regexp.MustCompile(`(?:^|_)(?:elapsed|ms|msecs?|millis|milliseconds|time|seconds)(?:_|$)`)

// takeElapsed takes the pointers beyond those of tensors into which a host function writes how long it took.
// Each gets a place in host memory, which is not read.
func (b *Binding) takeElapsed() {
	if b.Function.Kind != Host || b.Function.showsSizes() {
		return
	}
	for i := range b.Args {
		a := &b.Args[i]
		if b.missingPointers() >= 0 {
			return
		}
		if a.Pointer && !a.Const && !a.tensor && a.Role == Nothing &&
			slices.Contains([]string{"float", "double"}, a.Base) && (timeName.MatchString(snake(a.Name)) ||
			hasTexts(b.Function.body, "cudaEventElapsedTime", "(", a.Name)) { // the time between two events
			a.Role, a.Target, a.unread = Constant, "the time that it takes", true
		}
	}
}
