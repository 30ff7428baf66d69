package check

import "io"

// LineEnded passes on the output of a program, so that a report after it can begin on a new line.
type LineEnded struct {
	To   io.Writer
	open bool
}

func (l *LineEnded) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.To.Write(p)
}

// End ends the last line, if the program did not.
func (l *LineEnded) End() error {
	if !l.open {
		return nil
	}
	_, err := l.Write([]byte("\n"))
	return err
}
