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

// Format returns the line, with the name of the file in a column of this width.
func (l *Line) Format(width int, color func(Verdict, string) string) string {
	pad := func(text string, width int) string {
		return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
	}
	verdict := color(l.Verdict, pad(string(l.Verdict), verdictWidth)) + " "
	switch l.Verdict {
	case Unjudged:
		verdict = ""
	case GradientWrong, GradientUnsure:
		verdict = color(l.Verdict, string(l.Verdict)) + ": "
	}
	text := pad(l.File, width) + "  " + pad(l.Operator, operatorWidth) + "  " + verdict
	if l.Seconds == 0 {
		return text + l.Text
	}
	return text + pad(l.Text, textWidth) + fmt.Sprintf("  %.1f s", l.Seconds)
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
