package main

import "io"

// lineEnded passes on the output of a program, so that a report after it can begin on a new line.
type lineEnded struct {
	to   io.Writer
	open bool
}

func (l *lineEnded) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.open = p[len(p)-1] != '\n'
	}
	return l.to.Write(p)
}

// end ends the last line, if the program did not.
func (l *lineEnded) end() error {
	if !l.open {
		return nil
	}
	_, err := l.Write([]byte("\n"))
	return err
}
