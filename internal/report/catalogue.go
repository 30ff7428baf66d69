package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"
)

// OperatorRoom holds what the page of the catalogue shows of an operator.
type OperatorRoom struct {
	Operator
	Summary   string
	Gradients string      // the formula of the backward, "" where there is none
	Variants  [][2]string // name and text, in the order of the ladder
}

// usualDTypes are the dtypes that the page does not name.
const usualDTypes = "fp32, fp16, bf16"

// catalogueHead is the head of the page, a paragraph each.
var catalogueHead = []string{
	"# The catalogue",
	"Every operator with its formula, and its CUDA kernels as a ladder: what each variant adds, and what " +
		"it costs. The simplest variant, mostly `naive`, is the readable one, and the one to trust first. " +
		"Dtypes are " + usualDTypes + " unless an operator names others. `triad ops show OP` adds source, " +
		"tensors, attributes, contracts, relations and implementations; `triad check --explain OP` counts " +
		"what each variant does with memory. [performance.md](performance.md) compares the times with " +
		"Triton and PyTorch on an H200.",
	"`triad ops catalogue` makes this page from `internal/catalog/<op>` and the headers of " +
		"`cuda/kernels/<op>.cu`; a test compares the two.",
}

// Catalogue writes docs/catalogue.md.
func Catalogue(w io.Writer, rooms []OperatorRoom) error {
	var text strings.Builder
	for _, paragraph := range catalogueHead {
		fmt.Fprintf(&text, "%s\n\n", folded(paragraph, ""))
	}
	links := make([]string, len(rooms))
	for i, r := range rooms {
		links[i] = fmt.Sprintf("[%s](#%s)", r.Name, r.Name)
	}
	fmt.Fprintf(&text, "%s\n", folded(strings.Join(links, ", "), ""))
	for _, r := range rooms {
		text.WriteString(roomText(r))
	}
	return write(w, text.String())
}

// trustFirst matches what the headers of kernels say of an operator's first variant, and the page says once.
var trustFirst = regexp.MustCompile(`[;.] [Tt]he readable ones?, and the ones? to trust first`)

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
	if dtypes := strings.Join(r.DTypes, ", "); dtypes != usualDTypes {
		fmt.Fprintf(&text, "%s\n\n", folded("Dtypes: "+dtypes, ""))
	}
	for _, variant := range r.Variants {
		fmt.Fprintf(&text, "%s\n", folded("1. **"+variant[0]+"**: "+trustFirst.ReplaceAllString(variant[1],
			""),
			"   "))
	}
	return text.String()
}
