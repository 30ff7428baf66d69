package console

import (
	"os"

	"golang.org/x/sys/unix"

	"triad/internal/report"
)

// Style returns the look of the output: coloured and as wide as the window on a terminal, plain in a pipe.
func (c *Console) Style() report.Style {
	if !IsTerminal(c.Out) {
		return report.Style{InDatabase: c.InDatabase}
	}
	s := report.Style{
		InDatabase: c.InDatabase, Color: c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb",
	}
	if size, err := unix.IoctlGetWinsize(int(Raw(c.Out).(*os.File).Fd()), unix.TIOCGWINSZ); err == nil {
		s.Width = int(size.Col)
	}
	return s
}
