package advice

import (
	"fmt"
	"strings"

	"triad/internal/op"
)

// Brief is a cause in half a line.
type Brief struct {
	Text  string // "" if nothing is known
	Line  int    // of the source; 0 if none is known
	Exact bool   // it follows from the sizes that were run
}

// BriefOf returns the usual cause of these facts, as short as it can be said.
func BriefOf(f Facts) Brief {
	if exact := f.briefOfSizes(); exact != "" {
		return Brief{Text: exact, Exact: true}
	}
	if b := f.briefOfLines(); b.Text != "" {
		return b
	}
	sum := f.missingSum()
	switch {
	case f.ofAnotherKind():
		return Brief{Text: f.Message}
	case f.outOfBounds() && f.Python:
		what, _, _ := strings.Cut(f.Message, " ")
		if !strings.HasPrefix(what, "tl.") {
			what = "an access"
		}
		return Brief{Text: what + " goes past the end of a tensor: give it mask=offsets < n"}
	case f.outOfBounds() && f.beforeTheStart():
		return Brief{Text: "a thread works in front of a tensor: its index is negative"}
	case f.outOfBounds() && firstThread.MatchString(f.Message):
		return Brief{Text: "the first thread works past the end of a tensor: its index is too large"}
	case f.outOfBounds():
		return Brief{Text: "a thread works past the end of a tensor: if (i < n)"}
	case f.Multiple > 0:
		return Brief{Text: fmt.Sprintf("right where %s is a multiple of %d alone: round the number of "+
			"blocks up, (%[1]s + %[3]d) / %[2]d", f.Tried.Size, f.Multiple, f.Multiple-1)}
	case f.OrdinaryPasses:
		return Brief{Text: f.briefOfNumbers()}
	case strings.Contains(f.Message, "never written"):
		return Brief{Text: "elements stay unwritten: the grid has too few blocks, or a loop ends too early"}
	case f.lowPrecision():
		return Brief{Text: "sums are kept in " + f.DType + ": add up in float, round once"}
	case sum != "":
		return Brief{Text: sum + " is missing: " + f.Formula}
	case f.UpTo:
		return Brief{Text: f.Tried.String()}
	case strings.Contains(f.Message, launchRefused) || strings.Contains(f.Message, tooMuchShared):
		return Brief{}
	case f.Status == op.StatusFail && f.Formula != "":
		return Brief{Text: "compare it with " + f.Formula}
	}
	first, _, _ := strings.Cut(For(f), ". ")
	return Brief{Text: first}
}

// ofAnotherKind reports whether the result is no tensor, or one of another shape or dtype: nothing was
// compared.
func (f Facts) ofAnotherKind() bool {
	return strings.Contains(f.Message, " came back ") || strings.Contains(f.Message, ", want a torch.Tensor")
}

// briefOfSizes returns the conclusion from the sizes that were run; "" if there is none.
func (f Facts) briefOfSizes() string {
	switch {
	case f.Otherwise != "":
		return "right with " + f.Otherwise + ": say --attr " + f.Otherwise
	case f.OnlyAt != "" && f.SpecialNumbers == "":
		return "right but at " + f.OnlyAt + ": " + f.Formula
	case f.Ignored != "":
		return "wrong where some targets are " + f.Ignored + ": such rows count for nothing"
	case f.Transposed[0] != "":
		return fmt.Sprintf("transposed index: element (i, j) of %s lies at i * %s + j", f.Matrix,
			f.Transposed[1])
	case f.Square[0] != "":
		return fmt.Sprintf("right where %s = %s alone: an index takes one for the other", f.Square[0],
			f.Square[1])
	}
	return ""
}

// briefOfLines blames a line of the source.
func (f Facts) briefOfLines() Brief {
	blamed := f.blamedMasks()
	switch {
	case len(f.ofDivisions()) > 0:
		return Brief{Line: f.Divided[0].Line, Text: f.Divided[0].sentence()}
	case len(blamed) > 0 && blamed[0].Other == "":
		return Brief{Line: blamed[0].Line, Text: "masked lanes hold anything: tl.load has no other="}
	case len(blamed) > 0:
		return Brief{Line: blamed[0].Line, Text: fmt.Sprintf("masked lanes take part with other=%s: use "+
			"other=-float(\"inf\") before exp or a maximum, 0 for a sum", blamed[0].Other)}
	}
	return Brief{}
}

// briefOfNumbers names the numbers that are wrong, and the first of the operator's remedies.
func (f Facts) briefOfNumbers() string {
	what := "wrong"
	if strings.Contains(f.Message, " is NaN") {
		what = "NaN"
	}
	what += " on some inputs (" + f.Distribution + ")"
	if f.SpecialNumbers == "" {
		return what
	}
	first, _, _ := strings.Cut(f.SpecialNumbers, ", ")
	first, _, _ = strings.Cut(first, "; ")
	return what + ": " + first
}

// blamedMasks lists the masked loads that may be to blame, as ofMasks names them.
func (f Facts) blamedMasks() []MaskedLoad {
	var all []MaskedLoad
	for _, m := range f.Masks {
		if f.OrdinaryPasses || !f.compared() {
			continue
		}
		if m.Other == "" || f.PowersOfTwo || f.FullBlock > 0 || f.Multiple > 0 {
			all = append(all, m)
		}
	}
	return all
}
