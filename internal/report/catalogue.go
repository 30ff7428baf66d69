package report

import (
	"fmt"
	"io"
	"strings"
)

// OperatorRoom holds what the page of the catalogue shows of an operator.
type OperatorRoom struct {
	Operator
	Summary, Source string
	Attributes      []Attribute
	Contracts       []ContractDeclared
	Gradients       string      // the formula of the backward, "" where there is none
	Rungs           [][2]string // name and text, in the order of the ladder
	Relations       int         // number of relations that must hold between calls
	Bench           []string    // the points that it is timed at
}

const catalogueHead = `# The catalogue

Every operator, with its formula and the rungs of its ladder in CUDA, in the order in which to read them:
what each adds, and what it costs. It is made by ` + "`triad ops catalogue`" + ` from
` + "`internal/catalog/<op>`" + ` and the
headers of ` + "`cuda/kernels/<op>.cu`" + `, and a test compares the two. ` + "`triad ops show OP`" + ` has
the tensors and limits. What each operator takes on an H200, beside Triton and PyTorch, is in
[performance.md](performance.md), at the points that stand here. ` + "`triad check --explain OP`" + ` counts
what each rung does with memory.

`

// Catalogue writes docs/catalogue.md.
func Catalogue(w io.Writer, rooms []OperatorRoom) error {
	var text strings.Builder
	text.WriteString(catalogueHead)
	text.WriteString("| operator | what it is | passes | rungs |\n|---|---|---|--:|\n")
	for _, r := range rooms {
		fmt.Fprintf(&text, "| [%s](#%s) | %s | %s | %d |\n", r.Name, r.Name, r.Summary,
			strings.Join(r.Passes, ", "), len(r.Rungs))
	}
	for _, r := range rooms {
		text.WriteString(roomText(r))
	}
	return write(w, text.String())
}

// roomText returns the section of one operator.
func roomText(r OperatorRoom) string {
	var text strings.Builder
	fmt.Fprintf(&text, "\n## %s\n\n%s\n\n", r.Name,
		folded(strings.ToUpper(r.Summary[:1])+r.Summary[1:]+".", ""))
	formulas := strings.Split(r.Formula, "; ")
	if r.Gradients != "" {
		formulas = append(formulas, strings.Split("backward: "+r.Gradients, "; ")...)
	}
	for _, formula := range formulas {
		// four columns count as a word for folded, so that the line of code has room for them
		fmt.Fprintf(&text, "%s\n", strings.Replace(folded("___ "+formula, "        "), "___", "   ", 1))
	}
	text.WriteString("\n")
	line := func(what, words string) {
		if words != "" {
			fmt.Fprintf(&text, "%s\n", folded("* "+what+": "+words, "  "))
		}
	}
	var attributes, contracts []string
	for _, a := range r.Attributes {
		attributes = append(attributes, fmt.Sprintf("`%s` (%s; else %s)", a.Name, a.Allowed, a.Default))
	}
	for _, c := range r.Contracts {
		contracts = append(contracts, fmt.Sprintf("%s (%s)", c.Name, c.DTypes))
	}
	line("Dtypes", strings.Join(r.DTypes, ", "))
	line("Attributes", strings.Join(attributes, ", "))
	line("Contracts", strings.Join(contracts, ", "))
	if r.Relations > 0 {
		line("Relations between calls that must hold", fmt.Sprint(r.Relations))
	}
	line("Timed at", strings.Join(r.Bench, "; "))
	line("Source", r.Source)
	text.WriteString("\n")
	for _, rung := range r.Rungs {
		fmt.Fprintf(&text, "%s\n", folded("1. **"+rung[0]+"**: "+rung[1], "   "))
	}
	return text.String()
}
