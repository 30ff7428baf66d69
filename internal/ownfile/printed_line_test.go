package ownfile

import (
	"errors"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
)

// printedCases holds the functions of testdata/printed.toml, and what reading them gives: an error and the
// line in it, or the only function that is judged.
type printedCases struct {
	Cases []struct {
		Name, Operator, File, Function, Text string
		Refused, Printed, Several            string
		Judged, Matched, Launch, Said        string
	}
}

// addsByTriton stands for KERNEL in the table.
const addsByTriton = `@triton.jit
def k(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(z_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i), mask=i < n)
`

// A line that is printed marks every name that may mean something else, and no line is printed if no word can
// say what is missing. Facts of the file and lines decide what a function is read as.
func TestPrintedLines(t *testing.T) {
	for _, c := range readTable[printedCases](t, "printed.toml").Cases {
		r := binding.Request{Path: "a.cu", Function: c.Function, Parse: parsed}
		if c.File != "" {
			r.Path = c.File
		}
		text := strings.Replace(c.Text, "KERNEL", addsByTriton, 1)
		all, err := Bind(Read(r, text, nil), r, spec(t, c.Operator), []op.Pass{op.Forward}, binding.Options{})
		refused, printed := "", ""
		if err != nil {
			refused, printed, _ = strings.Cut(err.Error(), "Write this line above ")
		}
		if several := (*SeveralError)(nil); errors.As(err, &several) {
			refused = ""
			if got := strings.Join(several.Names, " "); got != c.Several {
				t.Errorf("%s: %s, want %s", c.Name, got, c.Several)
			}
		}
		if !strings.Contains(refused, c.Refused) || !strings.HasSuffix(printed, c.Printed) ||
			(printed == "") != (c.Printed == "") || (err == nil) != (c.Refused+c.Printed+c.Several == "") {
			t.Errorf("%s: %v, want %q and %q", c.Name, err, c.Refused, c.Printed)
		}
		if err != nil {
			continue
		}
		b := all[0]
		launch := ""
		if b.Launch != nil {
			launch = b.Launch.String()
		}
		said, _ := Declaration(b)
		if c.Judged != "" && b.Function.Name != c.Judged || !strings.Contains(b.Matched(), c.Matched) ||
			!strings.Contains(launch, c.Launch) || !strings.Contains(said.Text("//"), c.Said) ||
			saysOther(b) != "" {
			t.Errorf("%s: %s: %s; %s; %s", c.Name, b.Function.Name, b.Matched(), launch, said.Text("//"))
		}
	}
}
