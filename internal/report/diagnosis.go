package report

import (
	"fmt"
	"io"
	"strings"

	"triad/internal/record"
)

// Diagnosis prints the emulator's findings in the smallest wrong case, their usual cause, and the command
// that repeats it.
func Diagnosis(w io.Writer, style Style, d record.Diagnosis) error {
	const indent = "        "
	var text strings.Builder
	for _, f := range d.Findings {
		text.WriteString(cleanLines(f.Text, indent))
	}
	for _, note := range d.Notes {
		text.WriteString(indent + clean(note) + "\n")
	}
	if d.Advice != "" {
		text.WriteString(indent + sentence(d.Advice) + "\n")
	}
	if d.Repeat != "" {
		text.WriteString(indent + clean(d.Repeat) + style.InDatabase + "\n")
	}
	return write(style.Wrap(w), text.String())
}

// sentence capitalises a text and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(capitalised(text), ".") + "."
}

func capitalised(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// smallestCase prints the diagnosis of a run, if there is one.
func smallestCase(w io.Writer, style Style, d *record.Diagnosis) error {
	if d == nil {
		return nil
	}
	if err := write(w, "\n  The smallest case found that is wrong too: "+smallestWords(*d)); err != nil {
		return err
	}
	return Diagnosis(w, style, *d)
}

// smallestWords describes the smallest case of a diagnosis, with its result.
func smallestWords(d record.Diagnosis) string {
	return fmt.Sprintf("%s, %v\n        %s\n", smallestCaseOf(d), d.Status, clean(d.Message))
}

// smallestCaseOf returns the sizes and the data of the smallest case of a diagnosis.
func smallestCaseOf(d record.Diagnosis) string {
	var words []string
	for _, m := range d.Dims {
		words = append(words, fmt.Sprintf("%s=%d", m.Name, m.Value))
	}
	return strings.Join(append(words, d.Distribution), " ")
}
