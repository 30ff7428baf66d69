package report

import (
	"fmt"
	"io"
	"strings"

	"triad/internal/record"
)

// explainedElements is how many of the worst elements are shown.
const explainedElements = 5

// Explain writes, for every record that was run with --explain, what each output promises, how it was judged and where its errors lie.
func Explain(w io.Writer, style Style, records []record.Record) error {
	for _, r := range records {
		for _, e := range r.Explained {
			var text strings.Builder
			fmt.Fprintf(&text, "%s  %s\n", style.status(r.Status), style.paint(bold, clean(r.Case.Op+"/"+r.Impl+" "+e.Output)))
			fmt.Fprintf(&text, "  case       %s %s, %s\n", r.Case.Pass, r.Case.DType, caseWords(r.Case))
			fmt.Fprintf(&text, "  promise    %s: %s\n", e.Contract, e.Promise)
			if e.Sentence != "" {
				fmt.Fprintf(&text, "  verdict    %s%s\n", clean(e.Sentence), inBrackets(e.Gate))
			}
			if e.Pattern != "" {
				fmt.Fprintf(&text, "  pattern    %s\n", clean(e.Pattern))
			}
			fmt.Fprintf(&text, "  errors     %s\n", distribution(e.ULPs))
			for _, r := range e.Relations {
				fmt.Fprintf(&text, "  relation   %s\n", relationWords(r))
			}
			if err := write(w, text.String()); err != nil {
				return err
			}
			if err := worstElements(w, style, e); err != nil {
				return err
			}
		}
	}
	return nil
}

func inBrackets(gate string) string {
	if gate == "" {
		return ""
	}
	return " (" + gate + ")"
}

// relationWords says what became of a relation between elements, or between two calls.
func relationWords(r record.Relation) string {
	words := fmt.Sprintf("%s: holds in %s", r.Name, counted(int(r.NCompared), "comparison"))
	if !r.Holds {
		words = fmt.Sprintf("%s: does not hold in %d of %s", r.Name, r.NWrong, counted(int(r.NCompared), "comparison"))
	}
	if r.Worst != nil {
		words += fmt.Sprintf("; worst at %s: %v, accepted %v to %v", element("", r.Worst.Index), r.Worst.Got, r.Worst.Low, r.Worst.High)
	}
	return clean(words)
}

// distribution says how many elements are off by how much: "98% up to half an ulp, 2% up to 1 ulp".
func distribution(ulps []int64) string {
	total := int64(0)
	for _, n := range ulps {
		total += n
	}
	if total == 0 {
		return "no element has a finite truth"
	}
	var parts []string
	for i, n := range ulps {
		if n == 0 {
			continue
		}
		limit := "up to half an ulp"
		switch {
		case i == len(ulps)-1:
			limit = fmt.Sprintf("more than %d ulp", int64(1)<<(i-2))
		case i > 0:
			limit = fmt.Sprintf("up to %d ulp", int64(1)<<(i-1))
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, limit))
	}
	return fmt.Sprintf("of %d elements %s", total, strings.Join(parts, ", "))
}

func worstElements(w io.Writer, style Style, e record.Explanation) error {
	if len(e.Worst) == 0 {
		return write(w, "\n")
	}
	rows := make([][]string, 0, explainedElements)
	for _, x := range e.Worst[:min(explainedElements, len(e.Worst))] {
		rows = append(rows, []string{element(e.Output, x.Index), x.Got.String(), x.Want.String(), x.Low.String(), x.High.String()})
	}
	if err := style.Table(w, "  ", columns("worst", "got", "want", "lowest accepted", "highest accepted"), rows); err != nil {
		return err
	}
	return write(w, "\n")
}
