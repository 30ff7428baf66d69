package ownfile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/declared"
)

// ownCase holds the first fields of a case in the table of testdata/own.
var ownCase = regexp.MustCompile(`(?m)^file = ['"]([^'"/]+)['"].*\noperator = ['"]([^'"]+)['"]`)

// Nearly every interpretation of a file can be written as a line, and with this line in the file the function
// is read the same, with nothing assumed and no other interpretation tried.
func TestLinesReadTheSame(t *testing.T) {
	const folder = "../../cmd/triad/testdata/own"
	table, err := os.ReadFile(folder + "/cases.toml")
	if err != nil {
		t.Fatal(err)
	}
	all, said := 0, 0
	seen := map[string]bool{}
	for i, m := range ownCase.FindAllStringSubmatch(string(table), -1) {
		content, err := os.ReadFile(filepath.Join(folder, m[1]))
		if err != nil {
			t.Fatal(err)
		}
		if seen[m[0]] || i%4 > 0 || strings.Contains(string(content), "triad: ") { // which has its line
			continue
		}
		seen[m[0]] = true
		r, s := binding.Request{Path: m[1], Parse: parsed}, spec(t, m[2])
		bound, err := Bind(Read(r, string(content), nil), r, s, s.Passes(), binding.Options{})
		if err != nil {
			continue
		}
		for _, b := range bound {
			all++
			line, ok := Declaration(b)
			if !ok {
				t.Logf("%s: no line: %s", m[1], line.Text(b.Sign()))
				continue
			}
			said++
			readsTheSame(t, m[1], string(content), b, line.Text(b.Sign()))
		}
	}
	if all < 150 || said*20 < all*19 {
		t.Errorf("%d of %d interpretations can be said, want 19 of 20, and 150 interpretations", said, all)
	}
}

// readsTheSame puts a line above a function of a text, and reads that.
func readsTheSame(t *testing.T, file, text string, b *binding.Binding, line string) {
	t.Helper()
	lines := slices.Insert(strings.Split(text, "\n"), b.Function.Line-1, line)
	r := binding.Request{Path: file, Parse: parsed}
	again, err := Bind(Read(r, strings.Join(lines, "\n"), nil), r, b.Spec, b.Spec.Passes(), binding.Options{})
	if err != nil {
		t.Errorf("%s: with %s: %v", file, line, err)
		return
	}
	at := slices.IndexFunc(again, func(o *binding.Binding) bool { return o.Pass == b.Pass })
	if at < 0 {
		t.Errorf("%s: with %s it has no %v", file, line, b.Pass)
		return
	}
	other := again[at]
	like := declared.Shim(b) == declared.Shim(other)
	if pins := declared.WithPins(b); !like && pins != nil {
		like = declared.Shim(pins) == declared.Shim(other)
	}
	like = like && slices.Equal(b.DTypes(), other.DTypes())
	if !like && !declared.SharesLine(b) {
		t.Errorf("%s: with %s it is read otherwise:\n%s\nbefore\n%s", file, line, Describe(other),
			Describe(b))
	}
	if declared.LineSays(other) != b.Function.Line && !declared.SharesLine(b) {
		t.Errorf("%s: line %d is said to be its line, want %d", file, declared.LineSays(other),
			b.Function.Line)
	}
	settled := Settle(other, &trial{first: Tally{Wrong: 3}})
	if settled.Doubt+settled.Unshown+settled.OtherSizes != "" || settled.Taken != nil ||
		len(Alternatives(other)) > 0 || leavesOpen(other) {
		t.Errorf("%s: with %s a wrong answer is no verdict: %+v", file, line, settled)
	}
}

// The line decides, whatever the names say; what it leaves open is open, and flags go before it.
func TestLineDecides(t *testing.T) {
	const kernel = "__global__ void softmax(const float* x, float* y, int rows, int cols, int n) {}\n"
	for _, c := range []struct{ line, flags, want, launch string }{
		{
			"softmax(y=y, x=x, rows=cols, cols=rows, 7=n, grid=\"4, 2\", block=32, shared=64)", "",
			"x is x, y is y, rows is cols, cols is rows, n is 7",
			"grid (4, 2) and block (32), 64 bytes of dynamic shared memory",
		},
		{
			"softmax(x=x, y=y, rows=cols, cols=rows, 7=n, block=32)",
			"--map n=3,rows=rows,cols=cols --block 64",
			"x is x, y is y, rows is rows, cols is cols, n is 3", "block (64)",
		},
	} {
		file := Read(binding.Request{Path: "a.cu"}, "// triad: "+c.line+"\n"+kernel, nil)
		bound, err := Bind(file, binding.Request{}, rowsAndCols(t), []op.Pass{op.Forward},
			apply(t, binding.Options{}, c.flags))
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		got, l := bound[0].Matched(), bound[0].Launch.String()
		if got != c.want || !strings.Contains(l, c.launch) {
			t.Errorf("%s: %s, %s; want %s, %s", c.line, got, l, c.want, c.launch)
		}
	}
}

// A line that says what there is not is refused at its place, with what there is.
func TestLinesThatAreRefused(t *testing.T) {
	const kernel = "\n__global__ void softmax(const float* x, float* y, int rows, int cols) {}\n"
	for line, want := range map[string]string{
		"softmax(x=x":                    "2:22: found the end of the line, want , or )",
		"softmacks(x=x)":                 `2:11: "softmacks" is no operator: want one of relu, softmax`,
		"softmax(z=x)":                   `2:19: softmax has no "z": want one of x, y, rows, cols, grid, `,
		"softmax(x=z)":                   `2:21: softmax has no parameter "z": it has x, y, rows, cols`,
		"softmax(rows=z)":                "2:24: found rows=z, want a number or a parameter of softmax: ",
		"softmax(x=x, y=x, rows=x)":      "2:34: x is y and rows: want one of both",
		"softmax(x=?)":                   "2:19: x=? is open: write what is meant in the place of ?",
		"softmax(?=x)":                   "2:19: ?=x is open: write what is meant in the place of ?",
		"softmax(dtype=fp7)":             "2:25: found dtype=fp7, want one of fp32, ",
		"softmax(pass=sideward)":         "2:11: found pass=sideward, want forward or backward",
		"softmax(block=32, block=64)":    "2:29: block is said twice",
		"relu()\n// triad: softmax(x=z)": `3:21: softmax has no parameter "z"`,
		"relu()\n// triad: relu()":       "3:11: line 2 says already that softmax is relu: leave one of both",
	} {
		r := binding.Request{Path: "a.cu"}
		_, err := Bind(Read(r, "\n// triad: "+line+kernel, nil), r, rowsAndCols(t), []op.Pass{op.Forward},
			binding.Options{Operators: strings.Fields("relu " + rowsAndCols(t).Name)})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	f := Read(binding.Request{Path: "a.py", Parse: parsed}, "def f(x):\n    return x\n# triad: softmax()\n",
		nil)
	if f.BadLine == nil {
		t.Error("a line above nothing is not refused")
	}
}

// Of several functions with lines each is judged; one whose line names another operator is not taken, and
// one without a line is left where others have one.
func TestLinesOfSeveralFunctions(t *testing.T) {
	const body = "(const float* x, float* y, int rows, int cols) {}\n"
	const line = "// triad: OPERATOR(x=x, y=y, rows=rows, cols=cols, grid=rows, block=32)\n__global__ void "
	name := rowsAndCols(t).Name
	for _, c := range []struct{ text, function, several, note, fails string }{
		{text: line + "a" + body + line + "b" + body + "__global__ void c" + body, several: "a b"},
		{text: line + "a" + body + "__global__ void c" + body, note: "not taken: c, which has no line"},
		{
			text: line + "a" + body + strings.ReplaceAll(line, "OPERATOR(", "relu(") + "b" + body,
			note: "not taken: b, of which line 3 says that it is relu",
		},
		{
			text: strings.ReplaceAll(line, "OPERATOR(", "relu(") + "b" + body, function: "b",
			fails: "it has no function to judge as OPERATOR; not taken: b, of which line 1 says that " +
				"it is relu",
		},
	} {
		c.text = strings.ReplaceAll(c.text, "OPERATOR", name)
		r := binding.Request{Path: "a.cu", Function: c.function}
		bound, err := Bind(Read(r, c.text, nil), r, rowsAndCols(t), []op.Pass{op.Forward}, binding.Options{})
		several, isSeveral := err.(*SeveralError)
		switch {
		case c.fails != "":
			if err == nil || err.Error() != strings.ReplaceAll(c.fails, "OPERATOR", name) {
				t.Errorf("%s: %v, want %s", c.text, err, c.fails)
			}
		case isSeveral || c.several != "":
			if !isSeveral || strings.Join(several.Names, " ") != c.several {
				t.Errorf("%s: %v, want several functions, %s", c.text, err, c.several)
			}
		case err != nil:
			t.Errorf("%s: %v", c.text, err)
		case bound[0].Function.Name != "a" || strings.Join(bound[0].Notes, " ") != c.note:
			t.Errorf("%s: %s with %q", c.text, bound[0].Function.Name, bound[0].Notes)
		}
	}
}
