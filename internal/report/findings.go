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

// findingsHead is the head of the page, a paragraph each.
var findingsHead = []string{
	"# Findings",
	"What triad found in kernels of libraries. `triad ops findings` makes this page from " +
		"`internal/catalog/<op>/findings.toml`; a test compares the two.",
	"Library rows are judged like all others. A failure that a finding covers is KNOWN: neutral for the " +
		"exit code, bad with `--strict`. A finding covers the implementation, versions, device and cases " +
		"that it names, and only if every wrong element is of the kind, at the places and within the " +
		"bound that `findings.toml` states: another fault of the same row is FAIL. A user's file is " +
		"covered only if the wrong call reaches an operation under \"calls\". If no covered case fails " +
		"any more, triad says so below its table.",
}

// Findings writes docs/findings.md.
func Findings(w io.Writer, operators []OperatorFindings) error {
	var text strings.Builder
	for i, paragraph := range findingsHead {
		fmt.Fprintf(&text, "%s%s\n", []string{"", "\n"}[min(i, 1)], folded(paragraph, ""))
	}
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
	fmt.Fprintf(&text, "\n### %s\n\n%s\n", f.ID, folded(asSentence(f.Happens), ""))
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
		line("calls", code(f.Calls))
	}
	if f.Raises == "" {
		line("wrong", fmt.Sprintf("%s; gate %s", code(f.Outputs), strings.Join(f.Gates, ", ")))
	} else {
		line("raises", "`"+f.Raises+"`")
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

// findingCases describes the cases that a finding covers.
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

// asSentence ends a clause with a full stop, and begins it with a capital unless its first word is a name
// such as cuDNN or torch.conv1d.
func asSentence(clause string) string {
	first, _, _ := strings.Cut(clause, " ")
	if strings.ContainsAny(first, "._") || first != strings.ToLower(first) {
		return clause + "."
	}
	return strings.ToUpper(clause[:1]) + clause[1:] + "."
}
