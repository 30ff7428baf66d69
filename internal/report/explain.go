package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// explainedElements is the number of worst elements that are shown.
const explainedElements = 5

// gateWords describes each gate, for a reader who does not know its name.
var gateWords = map[string]string{
	"G0": "what came back must be whole: every output and element written, inputs and the memory beside " +
		"buffers left alone, the same bits from every launch",
	"G1": "NaN and infinity must stand where the truth has them, and nowhere else",
	"G2": "each element must lie between the truth less and the truth plus what the promised arithmetic " +
		"may do to it, both rounded to the output's dtype",
	"G3": "on inputs whose every sum is exact, each element must be the truth, bit for bit",
	"G4": "the errors taken together must be no larger than those of the promised arithmetic, whole and " +
		"tile by tile",
	"G5": "the errors must not all lean to one side",
	"G6": "relations that hold for the true outputs must hold for these",
	"G7": "what the kernel chose must be a choice that the operator permits: the other outputs are judged " +
		"under it",
}

// Explain writes, for every record of a run with --explain, what each output promises, how it was judged and
// where its errors lie. Bad records come last, next to the table that follows.
func Explain(w io.Writer, style Style, records []record.Record) error {
	w = style.Wrap(w)
	records = slices.Clone(records)
	slices.SortStableFunc(records, func(a, b record.Record) int {
		return cmp.Compare(btoi(a.Status.Weight() == op.Bad), btoi(b.Status.Weight() == op.Bad))
	})
	for _, r := range records {
		for _, e := range r.Explained {
			var text strings.Builder
			fmt.Fprintf(&text, "%s  %s\n", style.status(r.Status),
				style.paint(bold, clean(r.Case.Op+"/"+r.Impl+" "+e.Output)))
			fmt.Fprintf(&text, "  case       %s %s, %s\n", r.Case.Pass, r.Case.DType, caseWords(r.Case))
			fmt.Fprintf(&text, "  promise    %s: %s\n", e.Contract, e.Promise)
			if words := comparedWords(r, e.Output); words != "" {
				fmt.Fprintf(&text, "  compared   %s\n", words)
			}
			if e.Sentence != "" {
				fmt.Fprintf(&text, "  verdict    %s%s\n", clean(e.Sentence), inBrackets(e.Gate))
			}
			if words := gateWords[e.Gate]; words != "" && e.Sentence != "" && r.Status != op.StatusNoPower {
				fmt.Fprintf(&text, "  %s asks    %s\n", e.Gate, words)
			}
			if e.Pattern != "" {
				fmt.Fprintf(&text, "  pattern    %s\n", clean(e.Pattern))
			}
			if len(e.ULPs) > 0 {
				fmt.Fprintf(&text, "  errors     %s\n", distribution(e.ULPs, dtypeOf(r, e.Output)))
			}
			for _, r := range e.Relations {
				fmt.Fprintf(&text, "  relation   %s\n", relationWords(r))
			}
			if err := write(w, text.String()); err != nil {
				return err
			}
			if err := worstElements(w, style, r, e); err != nil {
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

// comparedWords returns the share of an output that was compared element by element, and describes how the
// rest was compared.
func comparedWords(r record.Record, output string) string {
	for _, v := range r.Outputs {
		switch {
		case v.Name != output || v.N == 0:
			continue
		case v.NCompared == v.N:
			return "every one of " + counted(int(v.N), "element")
		}
		words := fmt.Sprintf("%d of %s one by one (%s)", v.NCompared, counted(int(v.N), "element"),
			percent(v.NCompared, v.N))
		if v.NCovered > 0 {
			words += fmt.Sprintf(", %d more by the sums of their rows under random signs", v.NCovered)
		}
		return words
	}
	return ""
}

// percent formats a share in percent with two digits, rounded down above 10: only a share of 1 is 100 %.
func percent(part, all int64) string {
	share := 100 * float64(part) / float64(all)
	if share >= 10 {
		return fmt.Sprintf("%.0f %%", math.Floor(share))
	}
	return fmt.Sprintf("%.2g %%", share)
}

// comparedShare returns the share of all outputs' elements that was compared one by one, and notes whether
// the rest was covered.
func comparedShare(r record.Record) string {
	all, compared, covered := int64(0), int64(0), int64(0)
	for _, v := range r.Outputs {
		if v.Status != op.StatusMissing {
			all, compared, covered = all+v.N, compared+v.NCompared, covered+v.NCovered
		}
	}
	switch {
	case all == 0:
		return ""
	case compared == all:
		return "all"
	case compared > 0 && compared+covered == all:
		return percent(compared, all) + ", sums"
	}
	return percent(compared, all)
}

// relationWords describes the result of a relation between elements, or between two calls.
func relationWords(r record.Relation) string {
	words := fmt.Sprintf("%s: holds in %s", r.Name, counted(int(r.NCompared), "comparison"))
	if !r.Holds {
		words = fmt.Sprintf("%s: does not hold in %d of %s", r.Name, r.NWrong,
			counted(int(r.NCompared), "comparison"))
	}
	if r.Worst != nil {
		words += fmt.Sprintf("; worst at %s: %v, accepted %v to %v", element("", r.Worst.Index), r.Worst.Got,
			r.Worst.Low, r.Worst.High)
	}
	return clean(words)
}

// distribution summarises the sizes of errors: "98 up to half an ulp, 2 up to 1 ulp", for integers "98 right,
// 2 off by up to 1".
func distribution(ulps []int64, d op.DType) string {
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
		first, up, unit := "up to half an ulp", "up to", " ulp"
		if isInteger(d) {
			first, up, unit = "right", "off by up to", ""
		}
		limit := first
		switch {
		case i == len(ulps)-1:
			limit = strings.TrimSuffix(up, "up to") + fmt.Sprintf("more than %d%s", int64(1)<<(i-2), unit)
		case i > 0:
			limit = fmt.Sprintf("%s %d%s", up, int64(1)<<(i-1), unit)
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, limit))
	}
	return fmt.Sprintf("of %d elements %s", total, strings.Join(parts, ", "))
}

// dtypeOf returns the dtype of an output.
func dtypeOf(r record.Record, output string) op.DType {
	for _, m := range r.DTypes {
		if m.Name == output {
			return m.Value
		}
	}
	return op.DTypeUnknown
}

// isInteger reports whether a dtype is known and is one of integers.
func isInteger(d op.DType) bool { return d != op.DTypeUnknown && !d.IsFloat() }

// digits formats a value with enough digits to distinguish any two fp32 numbers, an integer with all.
func digits(d op.DType, f record.Float) string {
	if f.Class() != "finite" {
		return f.String()
	}
	if isInteger(d) {
		return strconv.FormatFloat(float64(f), 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(f), 'g', 9, 64)
}

// judgedAt returns what a verdict keeps of an element before it is rounded; nil if it keeps nothing.
func judgedAt(r record.Record, output string, index []int64) *record.Judged {
	for _, v := range r.Outputs {
		if v.Name != output || v.Statistics == nil {
			continue
		}
		for i := range v.Statistics.Worst {
			if slices.Equal(v.Statistics.Worst[i].Index, index) {
				return &v.Statistics.Worst[i]
			}
		}
	}
	return nil
}

// shareOfBound divides an element's error by what it may be off, which is the inverse of its error margin:
// the error bound and half an ulp.
func shareOfBound(x record.Element, j *record.Judged, d op.DType) string {
	half := 0.0
	if f, is := tensor.FormatOf(d); is {
		half = f.ULP(float64(x.Got)) / 2
	}
	if j == nil {
		return ""
	}
	share := math.Abs(float64(x.Got)-float64(j.R)) / (float64(j.T) + half)
	if math.IsNaN(share) || math.IsInf(share, 1) {
		return ""
	}
	return strconv.FormatFloat(share, 'g', 3, 64)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// worstElements prints the worst elements with their truth, which is not rounded.
func worstElements(w io.Writer, style Style, r record.Record, e record.Explanation) error {
	d := dtypeOf(r, e.Output)
	if len(e.Worst) == 0 {
		return write(w, "\n")
	}
	rows := make([][]string, 0, explainedElements)
	for _, x := range e.Worst[:min(explainedElements, len(e.Worst))] {
		judged, truth := judgedAt(r, e.Output, x.Index), digits(d, x.Want)
		if judged != nil {
			truth = digits(d, judged.R)
		}
		rows = append(rows, []string{
			element(e.Output, x.Index), digits(d, x.Got), truth, digits(d, x.Low), digits(d, x.High),
			shareOfBound(x, judged, d),
		})
	}
	if err := style.Table(w, "  ", columns("worst", "got", "truth", "lowest accepted", "highest accepted",
		"share of bound"), rows); err != nil {
		return err
	}
	return write(w, "\n")
}
