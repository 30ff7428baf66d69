package subprocess

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
)

var errOutput = errors.New("the output is too long")

// output keeps what a program prints, up to a limit.
type output struct {
	kept bytes.Buffer
	most int           // bytes; 0: no limit
	over chan struct{} // closed when the program has printed more than that
	once sync.Once
}

// Write keeps what fits. Its error ends the reading of the program's output.
func (o *output) Write(text []byte) (int, error) {
	if o.most > 0 && len(text) > o.most-o.kept.Len() {
		o.once.Do(func() { close(o.over) })
		return 0, errOutput
	}
	return o.kept.Write(text)
}

// exceeded returns a clause about a program that printed too much; "" if it did not.
func (o *output) exceeded() string {
	select {
	case <-o.over:
		return fmt.Sprintf("it printed more than %d bytes", o.most)
	default:
		return ""
	}
}
