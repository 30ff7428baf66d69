package firstlook

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// widths of the columns: files are named before anything is known of the others.
const (
	operatorWidth = 12
	verdictWidth  = 6
	textWidth     = 86
)

// Format returns the line, with the name of the file in a column of this width. A line that is wider than a
// terminal of so many columns, if it is not 0, is wrapped at spaces.
func (l *Line) Format(width, columns int, color func(Verdict, string) string) string {
	pad := func(text string, width int) string {
		return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	}
	word, after := pad(string(l.Verdict), verdictWidth), " "
	switch l.Verdict {
	case Unjudged:
		word, after = "", ""
	case GradientWrong, GradientUnsure:
		word, after = string(l.Verdict), ": "
	}
	columnsOf := pad(l.File, width) + "  " + pad(l.Operator, operatorWidth) + "  "
	head := columnsOf + color(l.Verdict, word) + after
	rest, seconds := l.Text, ""
	if l.Seconds > 0 {
		seconds = fmt.Sprintf("  %.1f s", l.Seconds)
		rest = pad(l.Text, textWidth)
	}
	at := utf8.RuneCountInString(columnsOf + word + after)
	if columns == 0 || at+utf8.RuneCountInString(rest+seconds) <= columns {
		return head + rest + seconds
	}
	words := strings.Split(l.Text, " ")
	if seconds != "" {
		words = append(words, seconds[1:])
	}
	return head + wrapped(words, at, columns)
}

// nextLine begins the further lines of a text that is wrapped.
const nextLine = "\n    "

// wrapped joins words in lines of a terminal, the first of which begins in a column.
func wrapped(words []string, at, columns int) string {
	var out strings.Builder
	for i, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case i > 0 && at+1+n > columns, i == 0 && at+n > columns:
			out.WriteString(nextLine)
			at = len(nextLine) - 1
		case i > 0:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}

// Compared returns the last line: files of CUDA and of Python that are both right as one operator; "" if
// there are none.
func Compared(all []Line) string {
	var words []string
	for _, cuda := range all {
		for _, python := range all {
			if cuda.Python || !python.Python || cuda.Operator != python.Operator ||
				cuda.Verdict != Right || python.Verdict != Right {
				continue
			}
			words = append(words, fmt.Sprintf("%s: %s and %s are both right; mean error "+
				"%.2g ulp in %s and %.2g ulp in %s.", cuda.Operator, cuda.File, python.File, cuda.Error,
				cuda.DType, python.Error, python.DType))
		}
	}
	return strings.Join(words, "\n")
}
