package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"triad/internal/op"
)

// OperatorFindings holds the known faults of one operator's library rows.
type OperatorFindings struct {
	Op       string
	Findings []op.Finding
}

const findingsHead = `# Findings

What triad found in kernels of libraries. It is made by ` + "`triad ops findings`" + ` from
` + "`internal/catalog/<op>/findings.toml`" + `, and a test compares the two.

Rows of libraries are judged like all others. A failure that a finding covers is shown as KNOWN, with its
sentence. KNOWN is neutral for the exit code; ` + "`--strict`" + ` counts it as bad. A finding covers the
implementation, versions, device and cases that stand here, and only where every wrong element looks as it
says: another fault of the same row is FAIL. Where none of the cases that a finding covers fails any more,
triad says so below its table.
`

// Findings writes docs/findings.md.
func Findings(w io.Writer, operators []OperatorFindings) error {
	var text strings.Builder
	text.WriteString(findingsHead)
	for _, o := range operators {
		fmt.Fprintf(&text, "\n## %s\n", o.Op)
		for _, f := range o.Findings {
			text.WriteString(findingText(f))
		}
	}
	return write(w, text.String())
}

// findingText returns the section of one finding.
func findingText(f op.Finding) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n### %s\n\n%s\n", f.ID, folded(strings.ToUpper(f.Happens[:1])+f.Happens[1:]+".", ""))
	for paragraph := range strings.SplitSeq(strings.TrimSpace(f.Why), "\n\n") {
		fmt.Fprintf(&text, "\n%s\n", folded(paragraph, ""))
	}
	text.WriteString("\n")
	line := func(what, words string) {
		if words != "" {
			fmt.Fprintf(&text, "%s\n", folded("* "+what+": "+words, "  "))
		}
	}
	line("implementations", code(f.Implementations))
	line("covers", findingCases(f))
	if len(f.Calls) > 0 {
		line("in a user's file", "where the wrong call reaches "+code(f.Calls))
	} else {
		line("in a user's file", "never")
	}
	if f.Raises == "" {
		line("looks", fmt.Sprintf("%s; gate %s; every wrong element: %s", code(f.Outputs),
			strings.Join(f.Gates, ", "), wrongText(f)))
	} else {
		line("looks", "the call raises `"+f.Raises+"`")
	}
	line("seen with", f.Seen)
	line("shows if", f.Sometimes)
	line("public", f.Link)
	fmt.Fprintf(&text, "\n```\n%s\n```\n", f.Command)
	return text.String()
}

// folded breaks a paragraph into lines of at most 120 columns, indented after the first.
func folded(paragraph, indent string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(paragraph) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line+" "+word) > 120:
			lines, line = append(lines, line), indent+word
		default:
			line += " " + word
		}
	}
	return strings.Join(append(lines, line), "\n")
}

// findingCases says which cases a finding covers.
func findingCases(f op.Finding) string {
	var parts []string
	for name, versions := range f.Versions {
		parts = append(parts, name+" "+versions)
	}
	slices.Sort(parts)
	if f.Device != "" {
		parts = append(parts, "device "+f.Device)
	}
	if f.CPU != "" {
		parts = append(parts, "torch's kernels with "+f.CPU)
	}
	parts = append(parts, f.Pass)
	for _, list := range []struct {
		what string
		have []string
	}{
		{"", f.DTypes},
		{"distribution ", f.Distributions},
		{"upstream ", f.Upstreams},
		{"layout ", f.Layouts},
	} {
		if len(list.have) > 0 {
			parts = append(parts, list.what+strings.Join(list.have, ", "))
		}
	}
	var attributes []string
	for name, value := range f.Attributes {
		attributes = append(attributes, fmt.Sprintf("%s = %v", name, value))
	}
	slices.Sort(attributes)
	parts = append(parts, attributes...)
	if len(f.Require) > 0 {
		parts = append(parts, code(f.Require))
	}
	return strings.Join(parts, "; ")
}

// code formats words as Markdown code.
func code(words []string) string { return "`" + strings.Join(words, "`, `") + "`" }

// wrongText describes the wrong elements of a finding.
func wrongText(f op.Finding) string {
	var all []string
	for _, w := range f.Wrong {
		all = append(all, w.Text())
	}
	return strings.Join(all, "; or ")
}
