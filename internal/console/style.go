package console

import (
	"cmp"
	"os"
	"regexp"

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
		ASCII: !c.showsUTF8(),
	}
	if size, err := unix.IoctlGetWinsize(int(Raw(c.Out).(*os.File).Fd()), unix.TIOCGWINSZ); err == nil {
		s.Width = int(size.Col)
	}
	return s
}

var utf8Locale = regexp.MustCompile(`(?i)\.utf-?8\b`)

// showsUTF8 reports whether the locale's characters are UTF-8.
func (c *Console) showsUTF8() bool {
	return utf8Locale.MatchString(cmp.Or(c.Getenv("LC_ALL"), c.Getenv("LC_CTYPE"), c.Getenv("LANG")))
}
