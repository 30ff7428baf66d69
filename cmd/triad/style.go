package main

import (
	"os"

	"golang.org/x/sys/unix"

	"triad/internal/report"
)

// style returns the look of the output: coloured and as wide as the window on a terminal, plain in a pipe.
func (a *app) style() report.Style {
	if !isTerminal(a.out) {
		return report.Style{InDatabase: a.inDatabase}
	}
	s := report.Style{
		InDatabase: a.inDatabase, Color: a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb",
	}
	if size, err := unix.IoctlGetWinsize(int(raw(a.out).(*os.File).Fd()), unix.TIOCGWINSZ); err == nil {
		s.Width = int(size.Col)
	}
	return s
}
